package checks

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// overlap: at most one live lease in a job whose runs skip each other.
func overlap() []kit.Check {
	return []kit.Check{{
		ID:       "overlap/slots-at-once",
		Promises: []string{"R-OVERLAP-1", "R-CLAIM-6"},
		Says:     "six processes claim six different slots of a job that skips at the same moment; exactly one is granted, newer slots are answered overlap and older ones superseded",
		Causes:   "the guard reads before the claim writes, so that two claims of different slots do not see each other (write skew)",
		Applies:  promise.Lease,
		Do:       slotsAtOnce,
	}, {
		ID:       "overlap/older-still-runs",
		Promises: []string{"R-OVERLAP-1"},
		Says:     "an older slot still runs, a newer one is done already: a third slot that says skip is answered overlap, naming the older one, its holder and its lease left",
		Causes:   "the guard looks at the newest slot only",
		Applies:  promise.Lease,
		Do:       olderStillRuns,
	}, {
		ID:       "overlap/either-says-skip",
		Promises: []string{"R-OVERLAP-1"},
		Says:     "a live lease is in the way if the claimer says skip, and also if only its holder did",
		Causes:   "the holder's overlap is not kept with the grant; only the claimer's counts",
		Applies:  promise.Lease,
		Do:       eitherSaysSkip,
	}, {
		ID:       "overlap/no-live-lease",
		Promises: []string{"R-OVERLAP-2", "R-LEASE-2"},
		Says:     "a run whose lease ran out, one that was handed over and one that is done do not stand in the way of another slot",
		Causes:   "the guard asks if a run is unfinished instead of if its lease is live",
		Applies:  promise.Lease,
		Do:       noLiveLease,
	}, {
		ID:       "overlap/other-job",
		Promises: []string{"R-OVERLAP-2"},
		Says:     "a live lease of another job, also one whose name begins alike, does not stand in the way",
		Causes:   "the guard matches job names by prefix or pattern, or not at all",
		Applies:  promise.Lease,
		Do:       otherJob,
	}, {
		ID:       "overlap/allow",
		Promises: []string{"R-OVERLAP-3"},
		Says:     "where all say allow, five slots of a job run side by side, and each is renewed and finished by itself",
		Causes:   "one lease is kept per job instead of per run",
		Applies:  promise.Lease,
		Do:       allow,
	}, {
		ID:       "overlap/takeover",
		Promises: []string{"R-OVERLAP-1"},
		Says:     "the guard holds for later attempts too: a run that was handed over is not granted again while an older slot is held and the claimer says skip",
		Causes:   "the guard is asked for first attempts only",
		Applies:  promise.Lease,
		Do:       overlapTakeover,
	}}
}

func slotsAtOnce(r *kit.Run) {
	procs := r.Open(processes)
	for n := range 15 {
		job := r.Job(fmt.Sprintf("j%d", n))
		order := make([]int, processes) // which process asks for which slot
		for i := range order {
			order[i] = i
		}
		for i := range order {
			k := i + r.IntN(processes-i)
			order[i], order[k] = order[k], order[i]
		}
		grants := contend(r, procs, func(i int) store.ClaimRequest {
			return r.Ask(job, order[i], fmt.Sprintf("i%d", i))
		}, store.VerdictOverlap, store.VerdictSuperseded)
		if len(grants) != 1 {
			r.Fatalf("%d of %d slots of a job that skips were granted at once; want exactly one", len(grants), processes)
		}
	}
}

func olderStillRuns(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := func(slot int, o store.Overlap) store.ClaimRequest {
		req := r.Ask(job, slot, fmt.Sprintf("i%d", slot))
		req.Overlap = o
		return req
	}
	older := p[0].Win(ask(0, store.OverlapAllow))
	newer := p[1].Win(ask(1, store.OverlapAllow))
	p[1].Record(newer, store.OutcomeSuccess, "")
	for _, c := range p {
		a := c.Refused(ask(2, store.OverlapSkip), store.VerdictOverlap)
		if a.Slot != older.Req.Slot || a.Holder != "i0" {
			r.Fatalf("overlap names slot %d of %q; slot %d of i0 is in the way", a.Slot, a.Holder, older.Req.Slot)
		}
		leftWithin(r, older, a.Left, a.Span)
	}
	p[0].Record(older, store.OutcomeSuccess, "")
	p[0].Win(ask(2, store.OverlapSkip))
}

func eitherSaysSkip(r *kit.Run) {
	p := r.Open(2)
	for _, o := range [][2]store.Overlap{
		{store.OverlapSkip, store.OverlapSkip},
		{store.OverlapSkip, store.OverlapAllow},
		{store.OverlapAllow, store.OverlapSkip},
	} {
		req := r.Ask(r.Job(fmt.Sprintf("%v-%v", o[0], o[1])), 0, "holder")
		req.Overlap = o[0]
		g := p[0].Win(req)
		req = r.Ask(req.Job, 1, "asker")
		req.Overlap = o[1]
		a := p[1].Refused(req, store.VerdictOverlap)
		if a.Slot != g.Req.Slot || a.Holder != "holder" {
			r.Fatalf("overlap names slot %d of %q; slot %d of holder is in the way", a.Slot, a.Holder, g.Req.Slot)
		}
		leftWithin(r, g, a.Left, a.Span)
		p[0].Record(g, store.OutcomeSuccess, "")
		p[1].Win(req)
	}
}

func noLiveLease(r *kit.Run) {
	p := r.Open(2)
	ends := map[string]func(kit.Grant){
		"ran-out":     func(g kit.Grant) { r.SleepUntil(g.OverBy()) },
		"handed-over": func(g kit.Grant) { p[0].Record(g, store.OutcomeReleased, "") },
		"success":     func(g kit.Grant) { p[0].Record(g, store.OutcomeSuccess, "") },
		"failed":      func(g kit.Grant) { p[0].Record(g, store.OutcomeFailed, "") },
	}
	for _, how := range slices.Sorted(maps.Keys(ends)) {
		req := r.Ask(r.Job(how), 0, "holder")
		req.Lease = r.Lease()
		g := p[0].Win(req)
		ends[how](g)
		p[1].Win(r.Ask(req.Job, 1, "asker"))
	}
}

func otherJob(r *kit.Run) {
	p := r.Open(2)
	name := r.Job("j")
	p[0].Win(r.Ask(name, 0, "holder"))
	for _, other := range []string{name + "2", name + ":", name + "*", name[:len(name)-1], "%" + name[1:]} {
		p[1].Win(r.Ask(other, 1, "asker"))
	}
}

func allow(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	var grants []kit.Grant
	for slot := range 5 {
		req := r.Ask(job, slot, fmt.Sprintf("i%d", slot))
		req.Overlap = store.OverlapAllow
		grants = append(grants, p[slot%2].Win(req))
	}
	wantSlots(r, p[0], job, "with overlap allow", grants...)
	for i, g := range grants {
		grants[i] = p[i%2].Renew(g, kit.Long)
	}
	for _, i := range []int{4, 0, 2, 1, 3} {
		p[i%2].Record(grants[i], store.OutcomeSuccess, "")
	}
	wantSlots(r, p[1], job, "after all finished")
}

func overlapTakeover(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	ask := func(slot int) store.ClaimRequest {
		req := r.Ask(job, slot, fmt.Sprintf("i%d", slot))
		req.Overlap = store.OverlapAllow
		return req
	}
	older := p[0].Win(ask(0))
	newer := p[1].Win(ask(1))
	p[1].Record(newer, store.OutcomeReleased, "")
	next := newer.Next("backup")
	next.Overlap = store.OverlapSkip
	a := p[0].Refused(next, store.VerdictOverlap)
	if a.Slot != older.Req.Slot {
		r.Fatalf("overlap names slot %d; slot %d is in the way", a.Slot, older.Req.Slot)
	}
	p[0].Record(older, store.OutcomeSuccess, "")
	p[0].Win(next)
}
