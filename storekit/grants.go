package storekit

import (
	"fmt"
	"sync"

	"github.com/anarchon-go/anarchon/core/store"
)

// grants remembers the greatest token that was granted of each job, and finds
// grants that contradict it. Answers come in any order, so it relies on no order
// of theirs: within a job a later attempt of a run, and a run of a later slot, is
// granted later (rules 4 and 8 of a claim), with a greater token.
//
// It knows what this host was told only; what others were granted, the conformance
// suite judges.
type grants struct {
	mu   sync.Mutex
	last map[string]grant // by job
}

type grant struct {
	slot    int64
	attempt int
	token   store.Token
}

// maxGrants bounds the jobs that are remembered; the grants of further ones are
// not judged.
const maxGrants = 100_000

// check returns what a grant breaks, or nil.
func (g *grants) check(req store.ClaimRequest, a store.ClaimAnswer) error {
	if a.Verdict != store.VerdictWon || a.Token == 0 { // 0: the backend can't fence
		return nil
	}
	// A token is at least the store's clock at its grant. So this one was granted
	// just now, and a lease is 1 ms at least. An old grant that is told again may well
	// have none left.
	if a.Left == 0 && a.Now > 0 && int64(a.Token) == a.Now {
		return fmt.Errorf("it granted attempt %d of slot %d just now, with lease left 0 of the %v asked for", a.Attempt, req.Slot, req.Lease)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	last, known := g.last[req.Job]
	now := grant{req.Slot, a.Attempt, a.Token}
	switch later := now.slot > last.slot || now.slot == last.slot && now.attempt > last.attempt; {
	case !known:
		if len(g.last) >= maxGrants {
			return nil
		}
		if g.last == nil {
			g.last = map[string]grant{}
		}
	case later && now.token <= last.token, now.slot == last.slot && now.attempt == last.attempt && now.token < last.token:
		return fmt.Errorf("its tokens go back: %d for attempt %d of slot %d, after %d for attempt %d of slot %d", now.token, now.attempt, now.slot, last.token, last.attempt, last.slot)
	case now.token < last.token:
		return nil // an older grant, told again
	}
	g.last[req.Job] = now
	return nil
}
