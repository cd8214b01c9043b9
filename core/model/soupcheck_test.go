package model

import (
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// check judges the state after any step.
func (s *soup) check(before *Job, was []store.UnfinishedRun) {
	is := s.job.Unfinished(s.now)
	newest, _ := s.job.Newest()
	for _, r := range was {
		g := s.byToken(r.Token)
		over := g != nil && (g.recorded != 0 && g.recorded != store.OutcomeReleased)
		if find1(is, r.Slot) == nil && !over && r.Left > 0 {
			s.fail("a live run is not unfinished any more")
		}
		if find1(is, r.Slot) == nil && !over && s.job.Equal(before) {
			s.fail("an unfinished run disappeared")
		}
	}
	for i, r := range is {
		if r.Left > maxLease {
			s.fail("%v are left of a lease", r.Left)
		}
		if r.Newest != newest || r.Counted != s.counted(s.ofSlot(r.Slot)) {
			s.fail("recall is not true: %+v", r)
		}
		for _, other := range is[:i] {
			if r.Left > 0 && other.Left > 0 && (s.saidSkip(&r) || s.saidSkip(&other)) {
				s.fail("two live leases, and one of them said skip")
			}
		}
	}
	s.checkHistory(before, is)
	if s.job.Equal(before) != (s.job.Key() == before.Key()) {
		s.fail("Equal and Key do not agree")
	}
}

func (s *soup) checkHistory(before *Job, is []store.UnfinishedRun) {
	all := s.read(s.job, store.MaxHistory)
	if !slices.Equal(all, s.read(s.job, 2)) {
		s.fail("history in pages differs from history at once")
	}
	oldest := int64(0)
	if len(all) > 0 {
		oldest = all[len(all)-1].Slot
	}
	slots := map[int64]bool{}
	for _, a := range all {
		slots[a.Slot] = true
	}
	for _, a := range s.read(before, store.MaxHistory) {
		kept := slices.ContainsFunc(all, func(b store.Attempt) bool { return a.Token == b.Token })
		switch {
		case kept:
		case slots[a.Slot]:
			s.fail("history lost an attempt of a run that it still has")
		case a.Slot > oldest && find1(is, oldest) == nil:
			s.fail("history lost slot %d, and still has %d", a.Slot, oldest)
		case len(slots) < s.history:
			s.fail("history lost slot %d, and has %d runs of %d", a.Slot, len(slots), s.history)
		}
	}
	ended := map[int64]bool{}
	for i, a := range all {
		if i > 0 {
			if p := all[i-1]; p.Slot < a.Slot || p.Slot == a.Slot && p.Attempt <= a.Attempt {
				s.fail("history is not newest first")
			}
		}
		u := find1(is, a.Slot)
		if u == nil {
			ended[a.Slot] = true
		}
		if running := u != nil && u.Open && u.Attempt == a.Attempt; running != (a.Status == store.StatusRunning) {
			s.fail("history says %v of %d attempt %d", a.Status, a.Slot, a.Attempt)
		}
		if g := s.byToken(a.Token); g == nil || g.attempt != a.Attempt || g.req.Instance != a.Instance || g.at != a.StartedAt ||
			g.recorded != 0 && g.recorded.Status() != a.Status || a.HandedOver != (g.recorded == store.OutcomeReleased) {
			s.fail("history is not true: %+v", a)
		}
	}
	if len(ended) > s.history {
		s.fail("history holds %d ended runs, not %d", len(ended), s.history)
	}
	for _, u := range is {
		if !slices.ContainsFunc(all, func(a store.Attempt) bool { return a.Slot == u.Slot && a.Attempt == u.Attempt }) {
			s.fail("history lacks an unfinished run")
		}
	}
}

// read returns all of history, in pages of limit.
func (s *soup) read(j *Job, limit int) (all []store.Attempt) {
	req := store.HistoryRequest{Job: "j", Limit: limit}
	for len(all) < 1000 {
		page, err := j.History(s.now, req)
		if err != nil {
			s.fail("history: %v", err)
		}
		all = append(all, page.Attempts...)
		if req.Page = page.Next; req.Page == "" {
			return all
		}
	}
	s.fail("history does not end")
	return nil
}

func (s *soup) ofSlot(slot int64) (mine []grant) {
	for _, g := range s.grants {
		if g.req.Slot == slot {
			mine = append(mine, g)
		}
	}
	return mine
}

func (s *soup) counted(grants []grant) int {
	n := 0
	for _, g := range grants {
		if g.recorded != store.OutcomeReleased {
			n++
		}
	}
	return n
}

func (s *soup) byToken(t store.Token) *grant {
	for i := range s.grants {
		if s.grants[i].token == t {
			return &s.grants[i]
		}
	}
	return nil
}

func (s *soup) saidSkip(r *store.UnfinishedRun) bool {
	g := s.byToken(r.Token)
	return g != nil && g.req.Overlap == store.OverlapSkip
}

func (s *soup) remembered(g *grant) bool {
	return slices.ContainsFunc(s.read(s.job, store.MaxHistory), func(a store.Attempt) bool { return a.Token == g.token })
}

func find1(runs []store.UnfinishedRun, slot int64) *store.UnfinishedRun {
	i := slices.IndexFunc(runs, func(r store.UnfinishedRun) bool { return r.Slot == slot })
	if i < 0 {
		return nil
	}
	return &runs[i]
}

func isOpen(runs []store.UnfinishedRun, g *grant) bool {
	r := find1(runs, g.req.Slot)
	return r != nil && r.Open && r.Token == g.token && r.Attempt == g.attempt
}
