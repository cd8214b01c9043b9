package core

import (
	"context"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// simStore is the model behind a clock and a door that can be shut.
type simStore struct {
	w         *simWorld
	model     *model.Store
	offset    int64 // its clock − true time
	disturbed int64 // true time of the last thing that was not as it should be

	outage simOutage
	until  int64    // true time when the outage ends
	held   []func() // requests that wait for a stalled store
}

// simOutage is a way for a store not to be there.
type simOutage uint8

const (
	outageRefuses simOutage = iota + 1 // callers hear at once that nothing was done
	outageSilent                       // requests vanish
	outageMute                         // requests are applied, answers vanish
	outageStalled                      // requests are applied when it is over
	outageLocked                       // it answers reads, and refuses writes
)

func (o simOutage) String() string {
	return [...]string{"", "refuses connections", "swallows requests", "applies requests, answers nothing", "stalls", "is locked against writes"}[o]
}

func newSimStore(w *simWorld) *simStore {
	s := &simStore{w: w, offset: int64(w.plan.storeSkew)}
	opt := model.Options{Fault: w.plan.fault, Now: func() time.Time { return time.Unix(0, simEpoch+w.now+s.offset) }}
	if w.plan.kind == store.KindClaimOnly {
		c := w.plan.claimOnly
		opt.ClaimOnly = &c
	}
	s.model = model.New(opt)
	return s
}

// now is the store's clock in Unix milliseconds.
func (s *simStore) now() int64 { return (simEpoch + s.w.now + s.offset) / int64(time.Millisecond) }

func (s *simStore) down() bool { return s.outage != 0 }

func (s *simStore) fail(how simOutage, d time.Duration) {
	s.w.note(simEntry{who: "store", what: "is not there for {d}: it {text}", d: d, text: how.String()})
	s.outage, s.until = how, s.w.now+int64(d)
	s.disturbed = s.w.now
	s.w.after(d, func() {
		if s.outage != 0 && s.w.now >= s.until {
			s.restore()
		}
	})
}

func (s *simStore) restore() {
	s.outage, s.disturbed = 0, s.w.now
	s.w.note(simEntry{who: "store", what: "is back"})
	held := s.held
	s.held = nil
	for _, apply := range held {
		apply()
	}
}

// jump moves the store's clock. A jump forward ends leases early: what a runner
// believes of its lease is then no promise any more, until it renews.
func (s *simStore) jump(by time.Duration) {
	s.w.note(simEntry{who: "store", what: "has its clock moved by {d}", d: by})
	s.offset += int64(by)
	s.disturbed = s.w.now
	s.w.seen.StoreJumps++
	if by > 0 {
		for _, l := range s.w.ledger {
			l.shake()
		}
	}
}

func (s *simStore) heal() {
	if s.outage != 0 {
		s.restore()
	}
	if d := time.Duration(-s.offset); d.Abs() > time.Second {
		s.jump(d)
	}
}

// receive takes a request that arrived.
func (s *simStore) receive(c *simCall, f simFate) {
	switch s.outage {
	case outageRefuses:
		c.refused = true
		s.w.after(f.back, func() { c.resolve(c.fail(errSimRefused)) })
		return
	case outageSilent:
		c.awaitDeadline()
		return
	case outageMute:
		f.mute, f.heard = true, nil
	case outageStalled:
		s.held = append(s.held, func() { c.answerWith(f) })
		c.awaitDeadline()
		return
	case outageLocked:
		if c.verb != "recall" && c.verb != "history" {
			c.refused = true
			s.w.after(f.back, func() { c.resolve(c.fail(errSimLocked)) })
			return
		}
	}
	c.answerWith(f)
}

var simContext = context.Background()

func (s *simStore) claim(p *simProcess, c *simCall, req store.ClaimRequest) (store.ClaimAnswer, error) {
	ans, err := s.model.Claim(simContext, req)
	s.ledgerOf(req.Job).claimed(p, c, &req, &ans, err)
	return ans, err
}

func (s *simStore) heartbeat(c *simCall, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	ans, err := s.model.Heartbeat(simContext, req)
	s.ledgerOf(req.Job).beaten(c, &req, &ans, err)
	return ans, err
}

func (s *simStore) finish(c *simCall, req store.FinishRequest) (store.FinishAnswer, error) {
	ans, err := s.model.Finish(simContext, req)
	s.ledgerOf(req.Job).finished(c, &req, &ans, err)
	return ans, err
}

func (s *simStore) unfinished(names []string) (store.UnfinishedAnswer, error) {
	ans, err := s.model.Unfinished(simContext, store.UnfinishedRequest{Jobs: names})
	if err != nil {
		s.w.fail(ruleValid, s.w.now, "", 0, "recall: %v", err)
	}
	for _, l := range s.w.ledger {
		if names == nil || slices.Contains(names, l.job) {
			l.recalled(ans.Runs)
		}
	}
	return ans, err
}

func (s *simStore) history(job string) (store.HistoryAnswer, error) {
	ans, err := s.model.History(simContext, store.HistoryRequest{Job: job, Limit: catchUpHistory})
	if err != nil {
		s.w.fail(ruleValid, s.w.now, job, 0, "history: %v", err)
	}
	s.ledgerOf(job).remembered(ans.Attempts, catchUpHistory)
	return ans, err
}

func (s *simStore) ledgerOf(job string) *simLedger { return s.w.ledger[s.w.jobNo[job]] }
