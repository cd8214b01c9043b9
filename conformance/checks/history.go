package checks

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// history: the attempts of a job, newest first.
func history() []kit.Check {
	return []kit.Check{{
		ID:       "history/order",
		Promises: []string{"R-HISTORY-1"},
		Says:     "history lists every attempt of every run, newest first by slot and then by attempt, with holder, reason, status, token and times, whatever order the runs ended in",
		Causes:   "sorted by start or by end; one line per run; text order of numbers",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       historyOrder,
	}, {
		ID:       "history/pages",
		Promises: []string{"R-HISTORY-1"},
		Says:     "pages of 1, 2, 3, 7 and 10 000 attempts, put together, give the same list, and the last of them says that there is no more",
		Causes:   "an offset that is off by one; a page that ends inside a run loses the rest; next is set on the last page for ever",
		Needs:    kit.NeedHistory,
		Do:       historyPages,
	}, {
		ID:       "history/trimmed",
		Promises: []string{"R-HISTORY-2"},
		Says:     "ended runs are kept to the size that the last claim asked for, the oldest slots go first, all attempts of a run together, and a size of 1 keeps the newest",
		Causes:   "the first claim's size; oldest by end instead of slot; attempts counted instead of runs; nothing trimmed",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       historyTrimmed,
	}, {
		ID:       "history/read-at-once",
		Promises: []string{"R-HISTORY-3"},
		Says:     "what one process wrote, a claim or a finish, every other process reads in its very next call, twenty times in a row",
		Causes:   "history is read from a replica or a cache; the write is acknowledged before it is done",
		Needs:    kit.NeedHistory,
		Do:       readAtOnce,
	}, {
		ID:       "history/unknown-job",
		Promises: []string{"R-HISTORY-1"},
		Says:     "the history of a job that never ran is empty, without an error",
		Causes:   "not found is an error",
		Needs:    kit.NeedHistory,
		Do:       unknownJob,
	}, {
		ID:       "history/strange-page",
		Promises: []string{"R-ERROR-1", "R-HISTORY-1"},
		Says:     "a page that no answer can have named is invalid, one that it might have is that or answered; neither breaks anything: the next read works",
		Causes:   "the page is put into a query as it is; parsing it panics",
		Needs:    kit.NeedHistory,
		Do:       strangePage,
	}}
}

func historyOrder(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := func(slot int, reason store.Reason) store.ClaimRequest {
		req := r.Ask(job, slot, fmt.Sprintf("i%d", slot))
		req.Overlap, req.Reason = store.OverlapAllow, reason
		return req
	}
	reasons := []store.Reason{store.ReasonScheduled, store.ReasonCatchUp, store.ReasonTakeover}
	// Two attempts each; held until all are there, or a newer grant closes them.
	var firsts, lasts []kit.Grant
	for slot := range 12 { // enough for text and number order to differ
		g := p[slot%2].Win(ask(slot, reasons[slot%3]))
		p[0].Record(g, store.OutcomeReleased, "stopping")
		firsts = append(firsts, g)
		next := g.Next(fmt.Sprintf("backup%d", slot))
		next.Overlap = store.OverlapAllow
		lasts = append(lasts, p[1].Win(next))
	}
	outcomes := []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted}
	ended := map[int]store.Outcome{}
	for _, i := range []int{7, 2, 11, 0, 5, 9} {
		ended[i] = outcomes[i%3]
		p[i%2].Record(lasts[i], ended[i], "")
	}

	got := p[1].History(job)
	if len(got) != 24 {
		r.Fatalf("12 runs had 2 attempts each; the history has %d attempts", len(got))
	}
	for i := range 12 {
		last, first := got[2*(11-i)], got[2*(11-i)+1]
		want := store.StatusRunning
		if o, over := ended[i]; over {
			want = o.Status()
		}
		for _, x := range []struct {
			got    store.Attempt
			grant  kit.Grant
			status store.Status
			handed bool
		}{{first, firsts[i], store.StatusInterrupted, true}, {last, lasts[i], want, false}} {
			g := x.grant
			if x.got.Slot != g.Req.Slot || x.got.Attempt != g.Attempt || x.got.Token != g.Token || x.got.Instance != g.Req.Instance ||
				x.got.Reason != g.Req.Reason || x.got.Status != x.status || x.got.HandedOver != x.handed || !near(x.got.StartedAt, g.Now) {
				r.Fatalf("attempt %d of slot %d (token %d, %s, %v, started %d) must read %v, handed over %v, at its place; there is %+v",
					g.Attempt, g.Req.Slot, g.Token, g.Req.Instance, g.Req.Reason, g.Now, x.status, x.handed, x.got)
			}
			if (x.got.EndedAt == 0) != (x.status == store.StatusRunning) || x.got.EndedAt != 0 && x.got.EndedAt < x.got.StartedAt {
				r.Fatalf("attempt %d of slot %d started at %d and reads %v, ended at %d", g.Attempt, g.Req.Slot, x.got.StartedAt, x.got.Status, x.got.EndedAt)
			}
		}
	}
}

func historyPages(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	// Runs with one attempt and, on lease backends, with up to four.
	for slot := range 15 {
		g := p[0].Win(r.Ask(job, slot, "a"))
		if r.Leases() {
			for range slot % 4 {
				p[0].Record(g, store.OutcomeReleased, "")
				g = p[0].Win(g.Next("b"))
			}
		}
		p[0].Record(g, store.OutcomeSuccess, "")
	}
	whole := p[0].History(job)
	if len(whole) < 15 {
		r.Fatalf("15 runs were granted; the history has %d attempts", len(whole))
	}
	for i, limit := range []int{1, 2, 3, 7, len(whole), len(whole) - 1, store.MaxHistory} {
		var got []store.Attempt
		req := store.HistoryRequest{Job: job, Limit: limit}
		for pages := 1; ; pages++ {
			a := p[(pages+i)%2].HistoryPage(req) // another process knows the page too
			got = append(got, a.Attempts...)
			if a.Next == "" {
				break
			}
			if len(a.Attempts) == 0 || pages > len(whole) {
				r.Fatalf("in pages of %d, page %d has %d attempts and names a next one", limit, pages, len(a.Attempts))
			}
			req.Page = a.Next
		}
		if !slices.Equal(got, whole) {
			r.Fatalf("in pages of %d the history has %d attempts, read at once %d, and they must be the same\n  pages   %+v\n  at once %+v", limit, len(got), len(whole), got, whole)
		}
	}
}

func historyTrimmed(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := func(slot, size int) store.ClaimRequest {
		req := r.Ask(job, slot, "a")
		req.HistorySize, req.Overlap = size, store.OverlapAllow
		return req
	}
	kept := func(when string, want ...int64) {
		var got []int64
		attempts := map[int64]int{}
		for _, a := range p[1].History(job) {
			got = append(got, a.Slot)
			attempts[a.Slot]++
		}
		if got = slices.Compact(got); !slices.Equal(got, want) {
			r.Fatalf("%s the history must have the slots %d; it has %d", when, want, got)
		}
		for slot, n := range attempts {
			if n != 2 {
				r.Fatalf("%s the history has %d attempts of slot %d, which had 2", when, n, slot)
			}
		}
	}
	run := func(slot, size int) (end func()) {
		g := p[0].Win(ask(slot, size))
		p[0].Record(g, store.OutcomeReleased, "")
		next := g.Next("b")
		next.HistorySize, next.Overlap = size, store.OverlapAllow
		g = p[0].Win(next)
		return func() { p[1].Record(g, store.OutcomeSuccess, "") }
	}
	s := r.Slot
	for slot := range 6 {
		run(slot, 5)()
	}
	kept("with a size of 5, after 6 runs,", s(5), s(4), s(3), s(2), s(1))
	// The older slot ends last, and is the oldest all the same.
	older, newer := run(6, 3), run(7, 3)
	newer()
	r.Sleep(kit.Slack) // the moments of their ends must differ
	older()
	kept("with a size of 3, after 8 runs of which an older ended last,", s(7), s(6), s(5))
	run(8, 2)()
	kept("after one more run with a size of 2,", s(8), s(7))
	run(9, 4)()
	kept("after one more run with a size of 4,", s(9), s(8), s(7))
	run(10, 1)()
	kept("with a size of 1,", s(10))
}

func readAtOnce(r *kit.Run) {
	p := r.Open(4)
	job := r.Job("j")
	for slot := range 20 {
		w, reader := p[slot%4], p[(slot+1)%4]
		g := w.Win(r.Ask(job, slot, "a"))
		newest := func(when string, status store.Status) {
			h := reader.HistoryPage(store.HistoryRequest{Job: job, Limit: 1}).Attempts
			if len(h) != 1 || h[0].Slot != g.Req.Slot || h[0].Status != status {
				r.Fatalf("%s slot %d through %s, %s must read it as %v; it reads %+v", when, g.Req.Slot, w.Name(), reader.Name(), status, h)
			}
		}
		newest("after a claim of", store.StatusRunning)
		if r.Leases() {
			wantSlots(r, reader, job, "after a claim through "+w.Name(), g)
		}
		w.Record(g, store.OutcomeSuccess, "")
		newest("after a finish of", store.StatusSuccess)
		if r.Leases() {
			wantSlots(r, reader, job, "after a finish through "+w.Name())
		}
	}
}

func unknownJob(r *kit.Run) {
	c := r.Open(1)[0]
	a := c.HistoryPage(store.HistoryRequest{Job: r.Job("never"), Limit: 10})
	if len(a.Attempts) != 0 || a.Next != "" {
		r.Fatalf("the history of a job that never ran has %d attempts, next page %q", len(a.Attempts), a.Next)
	}
}

func strangePage(r *kit.Run) {
	c := r.Open(1)[0]
	job := r.Job("j")
	for slot := range 3 {
		c.Record(c.Win(r.Ask(job, slot, "a")), store.OutcomeSuccess, "")
	}
	before := c.History(job)
	for _, page := range []string{" ", "next page", "' OR 1=1 --", "\x00", "{}", "%00", "😀", "\xff"} {
		_, err := c.TryHistory(store.HistoryRequest{Job: job, Limit: 2, Page: page})
		wantInvalid(r, fmt.Sprintf("page %q", page), "page", err)
	}
	for _, page := range []string{"0", "-1", "99999999999999999999", "1/2", "1:2"} {
		if a, err := c.TryHistory(store.HistoryRequest{Job: job, Limit: 2, Page: page}); err != nil && !errors.Is(err, store.ErrInvalid) {
			r.Fatalf("page %q: want an answer or the error invalid; got %d attempts, error %v", page, len(a.Attempts), err)
		}
	}
	wantUntouched(r, c, job, before, "reading a strange page")
}
