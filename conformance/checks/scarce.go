package checks

import (
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
)

// scarce: the store runs out of something. No other check runs meanwhile.
func scarce() []kit.Check {
	return []kit.Check{{
		ID:       "server/full",
		Promises: []string{"R-ERROR-5", "R-ERROR-3", "R-MEMORY-1"},
		Says:     "the store is full: claims that it can't write fail, in time, and are not called invalid; runs that were granted stay granted, ended ones stay ended, and no heartbeat or finish of a holder is called lost; when there is room again the same processes work on, nothing is lost, and every claim asked again is won, once",
		Causes:   "an error of the store that is taken for a refusal; a grant that is answered before it is written; room that is made by dropping the oldest records",
		Needs:    kit.NeedSpace,
		Limit:    3 * time.Minute,
		Alone:    true,
		Do:       fullStore,
	}, {
		ID:       "server/no-connections",
		Promises: []string{"R-ERROR-5", "R-ERROR-4", "R-CLAIM-2"},
		Says:     "a process has lost its connections, and the store refuses new ones since it has as many as it can take: the calls fail, in time, and none is called invalid, refused or lost; when there are connections again the same process works on, and every claim asked again is won, once",
		Causes:   "a refused connection that is taken for an answer; a plugin that gives up after the first refusal; a call that waits for a connection without a deadline",
		Needs:    kit.NeedLink | kit.NeedConnections,
		Limit:    3 * time.Minute,
		Alone:    true,
		Do:       noConnections,
	}}
}

func fullStore(r *kit.Run) {
	p := r.OpenSmall(2)
	s := newStock(r, p[0], "while the store was full")
	giveBack := r.Exhaust(kit.NeedSpace)
	s.meanwhile(r, p, func() {})
	giveBack()
	began := time.Now()
	for _, c := range p {
		mended(r, c)
	}
	r.Figure("working again after", "%v", kit.Wait(time.Since(began)))
	s.after(r, p[1])
}

func noConnections(r *kit.Run) {
	c, way := r.OpenLinked()
	s := newStock(r, c, "while the store had no connection left")
	giveBack := r.Exhaust(kit.NeedConnections)
	tries := 0
	again := func() {
		// Those that wait for room reach a busy server a little later than it is given
		// up: each time they get longer.
		tries++
		way.Cut()
		r.Sleep(time.Duration(tries) * settle)
		way.Mend()
	}
	again()
	s.meanwhile(r, []*kit.Client{c}, func() {
		if tries <= 20 {
			again()
		}
	})
	if s.inARow == 0 {
		r.Inconclusive("%s a process was connected again and again", s.when)
	}
	opening, cancel := r.Within(5 * time.Second)
	began := time.Now()
	err := r.TryOpen(opening)
	cancel()
	took := time.Since(began)
	if took > 15*time.Second {
		r.Fatalf("a process that could not connect came back after %v; its caller's patience was 5 s", kit.Wait(took))
	}
	if err != nil {
		r.Figure("what a new process said meanwhile", "%v, after %v", err, kit.Wait(took))
	}
	giveBack()
	began = time.Now()
	mended(r, c)
	r.Figure("working again after", "%v", kit.Wait(time.Since(began)))
	s.after(r, c)
}
