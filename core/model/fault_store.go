package model

import (
	"errors"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// The faults of what a store does around the rules of its jobs: names, slots,
// refusals, and steps that are not atomic.

var nameFaults = map[Fault]fault{
	FaultNamesFolded: {
		name: "names-folded", breaks: "R-NAME-1", kinds: both,
		doc:   "upper and lower case are the same",
		store: names(strings.ToLower),
	},
	FaultNamesCut: {
		name: "names-cut", breaks: "R-NAME-1", kinds: both,
		doc:   "only the first 64 bytes of a name count",
		store: names(func(s string) string { return s[:min(len(s), 64)] }),
	},
	FaultNamesTrimmed: {
		name: "names-trimmed", breaks: "R-NAME-1", kinds: both,
		doc:   "spaces around a name do not count",
		store: names(strings.TrimSpace),
	},
	FaultNamesCString: {
		name: "names-c-string", breaks: "R-NAME-1", kinds: both,
		doc: "a name ends at its first NUL",
		store: names(func(s string) string {
			s, _, _ = strings.Cut(s, "\x00")
			return s
		}),
	},
	FaultNamesJoined: {
		name: "names-joined", breaks: "R-NAME-2", kinds: both,
		doc: "namespace and job are joined by a colon: a:b with c is a with b:c",
		store: func(do *storeSteps) {
			do.key = func(namespace, job string) jobKey { return jobKey{"", namespace + ":" + job} }
		},
	},
	FaultNamespaceIgnored: {
		name: "namespace-ignored", breaks: "R-NAME-2", kinds: both,
		doc:   "all namespaces are one",
		store: func(do *storeSteps) { do.key = func(_, job string) jobKey { return jobKey{"", job} } },
	},
	FaultSlotSeconds: {
		name: "slot-seconds", breaks: "R-NAME-3", kinds: both,
		doc:   "slots are cut to the second",
		store: func(do *storeSteps) { do.slot = func(slot int64) int64 { return slot / 1000 * 1000 } },
	},
	FaultSlot32Bits: {
		name: "slot-32-bits", breaks: "R-NAME-3", kinds: both,
		doc: "the second of a slot is kept in 32 bits, which end in the year 2038",
		store: func(do *storeSteps) {
			do.slot = func(slot int64) int64 { return int64(int32(slot/1000))*1000 + slot%1000 }
		},
	},
	FaultInvalidAccepted: {
		name: "invalid-accepted", breaks: "R-ERROR-1", kinds: both,
		doc:   "requests that break the protocol's bounds are not refused",
		store: func(do *storeSteps) { do.refuse = onlyUnsupported },
	},
	FaultNowMissing: {
		name: "now-missing", breaks: "R-DESCRIBE-2", kinds: both,
		doc:   "answers do not carry the store's clock",
		store: func(do *storeSteps) { do.shown = func(int64) int64 { return 0 } },
	},
}

func names(bend func(string) string) func(*storeSteps) {
	return func(do *storeSteps) {
		do.key = func(namespace, job string) jobKey { return jobKey{namespace, bend(job)} }
	}
}

// onlyUnsupported lets pass what is out of the protocol's bounds, but for sizes:
// no code could serve those.
func onlyUnsupported(err error) error {
	var invalid *store.InvalidError
	if errors.As(err, &invalid) && invalid.Field != "limit" && invalid.Field != "history size" {
		return nil
	}
	return err
}

// pause lets others in between two steps that should have been one.
func (s *Store) pause() {
	s.mu.Unlock()
	time.Sleep(time.Millisecond)
	s.mu.Lock()
}

// readThenWrite decides on a copy that may be stale when it is written.
func readThenWrite(s *Store, key jobKey, now int64, req store.ClaimRequest) (store.ClaimAnswer, error) {
	if err := s.do.checkID(s, key, req.ID); err != nil {
		return store.ClaimAnswer{}, err
	}
	j := s.job(key).clone()
	s.pause()
	a, err := j.Claim(now, req)
	if err == nil {
		s.keep(key, j, req.ID, a.Verdict)
	}
	return a, err
}

// overlapFirst asks for rule 6 in a step of its own.
func overlapFirst(s *Store, key jobKey, now int64, req store.ClaimRequest) (store.ClaimAnswer, error) {
	before, known := s.job(key).clone().(*Job)
	if !known {
		return s.claim(key, now, req)
	}
	if a, err := before.Claim(now, req); err != nil || a.Verdict != store.VerdictWon {
		return s.claim(key, now, req)
	}
	s.pause()
	j := s.job(key).(*Job)
	fault := j.fault
	j.fault = FaultOverlapNever
	defer func() { j.fault = fault }()
	a, err := j.Claim(now, req)
	if err == nil {
		s.keep(key, j, req.ID, a.Verdict)
	}
	return a, err
}

// overlapAnyJob looks for runs in the way in all jobs of the namespace.
func overlapAnyJob(s *Store, key jobKey, now int64, req store.ClaimRequest) (store.ClaimAnswer, error) {
	before := s.job(key).clone()
	if a, err := before.Claim(now, req); err == nil && a.Verdict == store.VerdictWon && !remembers(s.job(key), req.ID) {
		for other, state := range s.jobs {
			j, ok := state.(*Job)
			if !ok || other == key || other.namespace != key.namespace {
				continue
			}
			for _, r := range j.unfinished {
				if truth.inTheWay(j, r, nil, now, 0, req.Overlap == store.OverlapSkip) {
					return store.ClaimAnswer{Verdict: store.VerdictOverlap, Slot: r.slot, Holder: r.last.Instance, Left: span(r.left(now)), Now: now}, nil
				}
			}
		}
	}
	return s.claim(key, now, req)
}

// trimAll keeps as many ended runs of all jobs as the job just written asked
// for, the ones that ended last, and forgets jobs of which nothing is left.
func trimAll(s *Store, key jobKey) {
	written, ok := s.jobs[key].(*Job)
	if !ok {
		return
	}
	for {
		var first *Job
		var firstKey jobKey
		n := 0
		for key, state := range s.jobs {
			j := state.(*Job)
			n += len(j.ended)
			if len(j.ended) > 0 && (first == nil || j.ended[0].last.EndedAt < first.ended[0].last.EndedAt) {
				first, firstKey = j, key
			}
		}
		if n <= written.historySize {
			return
		}
		first.ended = first.ended[1:]
		if len(first.ended) == 0 && len(first.unfinished) == 0 {
			delete(s.jobs, firstKey)
		}
	}
}
