package mutants

import (
	"context"
	"fmt"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// bend makes one process's view of a store wrong. good is the right one; the
// view embeds it and overrides what it bends.
type bend func(good store.Store) store.Store

// bent makes a mutant of a bend. build is called once per store, so that the
// processes of one share what build declares.
func bent(name, says string, kind store.Kind, breaks, check string, build func() bend) Mutant {
	return Mutant{
		Name: name, Says: says, Kind: kind, Breaks: breaks, Check: check,
		Open: func(s Setting) kit.Subject {
			all, bend := model.New(options(kind, model.NoFault, s)), build()
			return &subject.Memory{
				Name:    "model, bent",
				Lag:     s.Lag,
				Process: func(namespace string) store.Store { return bend(all.Namespace(namespace)) },
			}
		},
	}
}

// simple is a bend whose processes share nothing.
func simple(b bend) func() bend { return func() bend { return b } }

func bends() []Mutant {
	const lease, claimOnly = store.KindLease, store.KindClaimOnly
	return append(historyBends(),
		bent("memory-undeclared", "the store does not declare how long it remembers", lease, "R-DESCRIBE-1", "describe/complete",
			simple(func(good store.Store) store.Store {
				return declares{good, func(d *store.Description) { d.Memory = store.Memory{} }}
			})),
		bent("heartbeat-unsupported", "the store declares leases, and cannot renew them", lease, "R-DESCRIBE-1", "describe/verbs",
			simple(func(good store.Store) store.Store { return noHeartbeat{good} })),
		bent("history-undeclared", "the store keeps a history, and declares that it has none", claimOnly, "R-DESCRIBE-1", "describe/verbs",
			simple(func(good store.Store) store.Store {
				return declares{good, func(d *store.Description) { d.History = false }}
			})),
		bent("tokens-undeclared", "the store grants tokens, and declares that it does not fence", claimOnly, "R-DESCRIBE-1", "describe/tokens",
			simple(func(good store.Store) store.Store {
				return declares{good, func(d *store.Description) { d.Fenced = false }}
			})),
		bent("clock-undeclared", "the store says its now, and declares that it has no clock", claimOnly, "R-DESCRIBE-2", "describe/now",
			simple(func(good store.Store) store.Store {
				return declares{good, func(d *store.Description) { d.Clock = store.ClockNone }}
			})),
		bent("lease-verbs-of-claim-only", "a claim-only store answers heartbeats and recalls as if it had any", claimOnly, "R-ERROR-2", "taken/unsupported",
			simple(func(good store.Store) store.Store { return politeVerbs{good} })),
		bent("forgets-after-lease", "a claim-only store remembers a slot for as long as the claim's lease", claimOnly, "R-MEMORY-1", "taken/stays", forgetsAfterLease),

		bent("takeover-not-atomic", "second attempts are granted in two steps", lease, "R-CLAIM-1", "claim/one-winner-takeover", takeoverNotAtomic),
		bent("won-from-cache", "a plugin answers a claim that it has won before from its memory", lease, "R-CLAIM-2", "retry/after-takeover",
			simple(func(good store.Store) store.Store { return &wonFromCache{Store: good} })),
		bent("copy-wins-again", "a claim is granted again whenever the run is free, for it says that it follows the attempt that it itself was", lease, "R-CLAIM-7", "claim/copy-arrives-late",
			simple(func(good store.Store) store.Store { return copyWinsAgain{good} })),
		bent("renews-in-background", "a plugin renews what its host holds", lease, "R-LEASE-6", "lease/idle-host",
			simple(func(good store.Store) store.Store { return newRenewer(good, true) })),
		bent("any-call-renews", "any call of a process renews all that it holds", lease, "R-LEASE-6", "lease/nothing-else-renews",
			simple(func(good store.Store) store.Store { return newRenewer(good, false) })),
		bent("early-claim-recorded", "a claim that is too early is refused, and recorded all the same", lease, "R-LATE-2", "late/no-record",
			simple(func(good store.Store) store.Store { return earlyRecorded{good} })),

		bent("batch-shifted", "of claims that go together, each gets the answer to another", lease, "R-BATCH-1", "batch/many-at-once",
			simple(func(good store.Store) store.Store { return newShifted(good) })),
		bent("batch-all-or-nothing", "of claims that go together, one that is invalid fails all", lease, "R-BATCH-1", "batch/bad-neighbour",
			simple(func(good store.Store) store.Store { return newAllOrNothing(good) })),
		bent("batch-one-outcome", "of finishes that go together, all get the outcome of the first", lease, "R-BATCH-1", "batch/finishes",
			simple(func(good store.Store) store.Store { return newOneOutcome(good) })),

		bent("history-from-replica", "history is what it was 20 ms ago", lease, "R-HISTORY-3", "history/read-at-once",
			simple(func(good store.Store) store.Store { return &replica{Store: good} })),
		bent("unknown-job-fails", "the history of a job that never ran is an error", lease, "R-HISTORY-1", "history/unknown-job",
			simple(func(good store.Store) store.Store { return unknownFails{good} })),
		bent("unknown-run-fails", "a heartbeat of a run that is not there is an error", lease, "R-TOKEN-3", "errors/unknown-run",
			simple(func(good store.Store) store.Store { return unknownRunFails{good} })),
		bent("recall-ignores-names", "recall of some jobs lists all", lease, "R-RECALL-1", "recall/by-name",
			simple(func(good store.Store) store.Store { return recallsAll{good} })),
		bent("holder-cut", "a holder's name is cut to 64 bytes", lease, "R-NAME-1", "names/instances",
			simple(func(good store.Store) store.Store { return cutHolder{good} })),
		bent("bad-outcome-accepted", "an outcome out of bounds is taken for interrupted", lease, "R-ERROR-1", "errors/finish-bounds",
			simple(func(good store.Store) store.Store { return badOutcome{good} })),
		bent("bad-lease-accepted", "a heartbeat with a lease out of bounds is taken for one with the least", lease, "R-ERROR-1", "errors/heartbeat-bounds",
			simple(func(good store.Store) store.Store { return badLease{good} })),
		bent("bad-limit-accepted", "a history of no attempts is empty", lease, "R-ERROR-1", "errors/recall-bounds",
			simple(func(good store.Store) store.Store { return badLimit{good} })),

		bent("cut-off-not-applied", "a claim that was cut off is called not applied, and was", lease, "R-ERROR-3", "errors/cut-off",
			simple(func(good store.Store) store.Store { return cutOffNotApplied{good} })),
		bent("cancelled-invalid", "a claim whose caller has gone is called invalid", lease, "R-ERROR-3", "errors/cancelled",
			simple(func(good store.Store) store.Store { return cancelledInvalid{good} })),
		bent("lease-of-session", "the leases of a process end with it", lease, "R-ERROR-4", "kill/holder",
			simple(func(good store.Store) store.Store { return newSession(good) })),
		bent("claim-in-two-steps", "the claim id is written in a second step, which a killed process does not come to", lease, "R-ERROR-4", "kill/mid-claim", claimInTwoSteps),
	)
}

// declares changes what a store says of itself.
type declares struct {
	store.Store
	change func(*store.Description)
}

func (s declares) Describe(ctx context.Context) (store.Description, error) {
	d, err := s.Store.Describe(ctx)
	s.change(&d)
	return d, err
}

type noHeartbeat struct{ store.Store }

func (noHeartbeat) Heartbeat(context.Context, store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return store.HeartbeatAnswer{}, fmt.Errorf("heartbeat: %w", store.ErrUnsupported)
}

type politeVerbs struct{ store.Store }

func (politeVerbs) Heartbeat(context.Context, store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return store.HeartbeatAnswer{Renewed: true}, nil
}

func (politeVerbs) Unfinished(context.Context, store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return store.UnfinishedAnswer{}, nil
}
