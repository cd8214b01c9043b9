package mutants

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/subject"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// Bends that only show when something breaks: the way to the store, a process, a
// host, the store itself, its format, its clock.

// twisted makes a mutant of the model with a fault, changed by twist.
func twisted(name, says string, kind store.Kind, f model.Fault, breaks, check string, twist func(*subject.Memory)) Mutant {
	return Mutant{
		Name: name, Says: says, Kind: kind, Breaks: breaks, Check: check,
		Open: func(s Setting) kit.Subject {
			m := Model(kind, f, s).(*subject.Memory)
			if twist != nil {
				twist(m)
			}
			return m
		},
	}
}

// front makes the plugin's own code wrong.
func front(f func(behind store.Store) store.Store) func(*subject.Memory) {
	return func(m *subject.Memory) { m.Front = f }
}

// bendFiles makes the way in which stores are opened and written wrong.
func bendFiles(b fileBend) func(*subject.Memory) {
	return func(m *subject.Memory) { m.Fresh.(*files).bend = b }
}

func faultBends() []Mutant {
	const lease, claimOnly = store.KindLease, store.KindClaimOnly
	const none = model.NoFault
	notApplied := front(func(behind store.Store) store.Store { return unknownAs{behind, store.ErrNotApplied} })
	invalid := front(func(behind store.Store) store.Store { return unknownAs{behind, store.ErrInvalid} })
	return []Mutant{
		twisted("lost-answer-not-applied", "a claim without an answer is called not applied", lease, none, "R-ERROR-3", "link/lost-answers", notApplied),
		twisted("lost-answer-not-applied", "a claim without an answer is called not applied", claimOnly, none, "R-ERROR-3", "link/lost-answers", notApplied),
		twisted("lost-answer-refused", "a finish without an answer is called lost", lease, none, "R-ERROR-3", "link/lost-finish",
			front(func(behind store.Store) store.Store { return unknownLost{behind} })),
		twisted("late-copy-wins", "what attempt a claim follows is not looked at, and a copy that comes late starts another", lease, model.FaultAfterIgnored, "R-CLAIM-7", "link/late-claim", nil),
		bent("late-copy-overwrites", "a copy of a claim that comes late writes its name into the record", claimOnly, "R-CLAIM-1", "link/late-claim", lateCopyOverwrites),
		twisted("late-heartbeat-renews", "a heartbeat renews whoever holds the run", lease, model.FaultHeartbeatAnyToken, "R-TOKEN-3", "link/late-messages", nil),
		twisted("never-connects-again", "a plugin whose connection was lost makes no other", lease, none, "R-ERROR-4", "link/cut",
			front(func(behind store.Store) store.Store { return &connectsOnce{Store: behind} })),
		twisted("cut-is-invalid", "a call whose connection was lost is called invalid", claimOnly, none, "R-ERROR-3", "link/cut", invalid),
		bentSent("lease-from-sending", "a lease counts from when the plugin sent the claim", "R-LEASE-1", "link/slow"),
		bent("connection-per-call", "each call makes a connection and leaves it", lease, "R-ERROR-4", "link/connections", connectionPerCall),

		twisted("renewed-from-memory", "a plugin that has renewed once answers heartbeats from its memory", lease, none, "R-TOKEN-3", "freeze/holder",
			front(func(behind store.Store) store.Store { return &renewedFromMemory{Store: behind} })),
		bent("stopped-keeps-lock", "a process that is stopped while it claims keeps a lock, and nobody else can claim", lease, "R-ERROR-4", "freeze/mid-claim", stoppedKeepsLock),
		twisted("orphan", "a plugin outlives its host", lease, none, "R-ERROR-4", "kill/host", func(m *subject.Memory) { m.Orphans = true }),
		twisted("orphan", "a plugin outlives its host", claimOnly, none, "R-ERROR-4", "kill/host-taken", func(m *subject.Memory) { m.Orphans = true }),

		twisted("judged-here", "lateness is judged on this machine's clock, and the store's is said", lease, none, "R-LEASE-7", "clock/lateness", judgedHere),
		twisted("left-by-two-clocks", "what is left of a lease is the store's end less this machine's now", lease, none, "R-LEASE-7", "clock/lease", leftByTwoClocks),

		twisted("set-up-twice", "who sets a store up while another does makes a second one", lease, none, "R-FORMAT-3", "format/set-up-at-once", bendFiles(setUpInTwoSteps)),
		twisted("newer-opened", "a newer format is not looked at", lease, none, "R-FORMAT-1", "format/newer", bendFiles(openNewer)),
		twisted("newer-touched", "a newer format is refused after the set-up has written", claimOnly, none, "R-FORMAT-1", "format/newer", bendFiles(touchNewer)),
		twisted("unknown-dropped", "a finish writes the record whole, without what it does not know", lease, none, "R-FORMAT-2", "format/unknown-kept", bendFiles(dropUnknown)),
		twisted("damage-is-none", "a record that can't be read is taken for one that is not there", lease, none, "R-FORMAT-4", "format/damaged", bendFiles(damageIsNone)),
		twisted("damage-is-none", "a record that can't be read is taken for one that is not there", claimOnly, none, "R-FORMAT-4", "format/damaged", bendFiles(damageIsNone)),
		twisted("damage-is-unclaimed", "a claim takes a record that can't be read for one that is not there", lease, none, "R-FORMAT-4", "format/damaged", bendFiles(damageUnclaimed)),
		twisted("damage-is-unclaimed", "a claim takes a record that can't be read for one that is not there", claimOnly, none, "R-FORMAT-4", "format/damaged", bendFiles(damageUnclaimed)),

		twisted("paused-not-applied", "a claim that a frozen store has not answered is called not applied", lease, none, "R-ERROR-3", "server/paused", notApplied),
		twisted("paused-lease-gone", "a holder that could not renew for a while gives its run up", lease, none, "R-LEASE-1", "server/paused-lease",
			front(func(behind store.Store) store.Store { return givesUp{behind} })),
		forgetful("forgets-when-killed", "a store acknowledges what it keeps in memory only", lease, "R-MEMORY-1", "server/crashed", crashes),
		forgetful("forgets-when-killed", "a store acknowledges what it keeps in memory only", claimOnly, "R-MEMORY-1", "server/crashed", crashes),
		forgetful("leases-end-when-killed", "leases are kept in memory only", lease, "R-LEASE-1", "server/crashed-lease", crashes),
	}
}

// unknownAs gives calls that may have taken effect another class of error.
type unknownAs struct {
	store.Store
	class error
}

func (s unknownAs) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if err != nil && (store.IsUnknown(err) || s.class == store.ErrInvalid) {
		err = fmt.Errorf("%w: no answer", s.class)
	}
	return a, err
}

type unknownLost struct{ store.Store }

func (s unknownLost) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	a, err := s.Store.Finish(ctx, req)
	if store.IsUnknown(err) {
		return store.FinishAnswer{}, nil
	}
	return a, err
}

// lateCopyOverwrites lets the history name whoever claimed last.
func lateCopyOverwrites() bend {
	type run struct {
		job  string
		slot int64
	}
	var mu sync.Mutex
	last := map[run]string{}
	return func(good store.Store) store.Store {
		return histories{
			claims{good, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
				mu.Lock()
				last[run{req.Job, req.Slot}] = req.Instance
				mu.Unlock()
				return good.Claim(ctx, req)
			}},
			func(job string, a *store.Attempt) {
				mu.Lock()
				defer mu.Unlock()
				if name, ok := last[run{job, a.Slot}]; ok {
					a.Instance = name
				}
			},
		}
	}
}

// histories changes the attempts of a history.
type histories struct {
	store.Store
	change func(job string, a *store.Attempt)
}

func (s histories) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	a, err := s.Store.History(ctx, req)
	for i := range a.Attempts {
		s.change(req.Job, &a.Attempts[i])
	}
	return a, err
}

// connectsOnce fails for good after the first call that was refused a connection.
type connectsOnce struct {
	store.Store
	mu   sync.Mutex
	lost bool
}

func (s *connectsOnce) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost {
		return store.ClaimAnswer{}, fmt.Errorf("%w: no connection", store.ErrNotApplied)
	}
	a, err := s.Store.Claim(ctx, req)
	if err != nil {
		s.mu.Lock()
		s.lost = true
		s.mu.Unlock()
	}
	return a, err
}

// sentAt is, in a context, when the plugin sent a call.
type sentAt struct{}

// bentSent counts leases from when their claims were sent.
func bentSent(name, says, breaks, check string) Mutant {
	m := bent(name, says, store.KindLease, breaks, check, simple(func(good store.Store) store.Store {
		return claims{good, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
			if sent, ok := ctx.Value(sentAt{}).(time.Time); ok {
				req.Lease = max(time.Millisecond, req.Lease-time.Since(sent))
			}
			return good.Claim(ctx, req)
		}}
	}))
	open := m.Open
	m.Open = func(s Setting) kit.Subject {
		x := open(s).(*subject.Memory)
		x.Front = func(behind store.Store) store.Store {
			return claims{behind, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
				return behind.Claim(context.WithValue(ctx, sentAt{}, time.Now()), req)
			}}
		}
		return x
	}
	return m
}

// connectionPerCall counts what it does not close.
func connectionPerCall() bend {
	return func(good store.Store) store.Store { return &leaky{Store: good, n: 1} }
}

type leaky struct {
	store.Store
	mu sync.Mutex
	n  int
}

func (s *leaky) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func (s *leaky) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	s.mu.Lock()
	s.n++
	s.mu.Unlock()
	return s.Store.Claim(ctx, req)
}

// renewedFromMemory believes that what it won is its own.
type renewedFromMemory struct {
	store.Store
	mu  sync.Mutex
	won map[store.Token]int64
}

func (s *renewedFromMemory) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	if err == nil && a.Verdict == store.VerdictWon {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.won == nil {
			s.won = map[store.Token]int64{}
		}
		s.won[a.Token] = a.Now
	}
	return a, err
}

func (s *renewedFromMemory) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now, ok := s.won[req.Token]; ok {
		return store.HeartbeatAnswer{Renewed: true, Now: now}, nil
	}
	return s.Store.Heartbeat(ctx, req)
}

// judgedHere makes the store judge on this machine's clock, and say another.
func judgedHere(m *subject.Memory) {
	here := model.New(model.Options{})
	m.Process = func(namespace string) store.Store { return saysLater{here.Namespace(namespace)} }
}

// saysLater says a now that is not the one it judges by.
type saysLater struct{ store.Store }

func (s saysLater) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	a, err := s.Store.Claim(ctx, req)
	a.Now += TestSkew.Milliseconds()
	return a, err
}

func (s saysLater) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	a, err := s.Store.History(ctx, req)
	a.Now += TestSkew.Milliseconds()
	return a, err
}

// TestSkew is how far ahead the clock is of the stores that some mutants need.
const TestSkew = time.Hour

// leftByTwoClocks subtracts this machine's now from the store's end of a lease.
func leftByTwoClocks(m *subject.Memory) {
	later := model.New(model.Options{Now: func() time.Time { return time.Now().Add(TestSkew) }})
	m.Process = func(namespace string) store.Store {
		good := later.Namespace(namespace)
		return claims{good, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
			a, err := good.Claim(ctx, req)
			if a.Left > 0 {
				a.Left += TestSkew
			}
			return a, err
		}}
	}
}

// givesUp releases what it holds when it can't renew in time.
type givesUp struct{ store.Store }

func (s givesUp) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	a, err := s.Store.Heartbeat(ctx, req)
	if err != nil {
		go s.Store.Finish(context.WithoutCancel(ctx), store.FinishRequest{Job: req.Job, Slot: req.Slot, Token: req.Token, Outcome: store.OutcomeReleased})
	}
	return a, err
}

// stoppedKeepsLock lets no process claim while one is stopped.
func stoppedKeepsLock() bend {
	var mu sync.Mutex
	stopped := 0
	return func(good store.Store) store.Store {
		return lockKeeper{
			claims{good, func(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
				mu.Lock()
				locked := stopped > 0
				mu.Unlock()
				if locked {
					return store.ClaimAnswer{}, fmt.Errorf("%w: the store is locked by another process", store.ErrNotApplied)
				}
				return good.Claim(ctx, req)
			}},
			func(n int) {
				mu.Lock()
				defer mu.Unlock()
				stopped += n
			},
		}
	}
}

type lockKeeper struct {
	claims
	add func(n int)
}

// Frozen tells that the process was stopped, or goes on.
func (k lockKeeper) Frozen(stopped bool) {
	if stopped {
		k.add(1)
		return
	}
	k.add(-1)
}

// crashes is when a store forgets that keeps in memory what it acknowledges.
func crashes(m *subject.Memory, forget func()) { m.Crash = forget }

// forgetful loses everything when what sets its forget says so.
func forgetful(name, says string, kind store.Kind, breaks, check string, set func(m *subject.Memory, forget func())) Mutant {
	return Mutant{
		Name: name, Says: says, Kind: kind, Breaks: breaks, Check: check,
		Open: func(s Setting) kit.Subject {
			var mu sync.Mutex
			all := model.New(options(kind, model.NoFault, s))
			now := func(namespace string) store.Store {
				mu.Lock()
				defer mu.Unlock()
				return all.Namespace(namespace)
			}
			m := Model(kind, model.NoFault, s).(*subject.Memory)
			m.Process = func(namespace string) store.Store { return whatever{func() store.Store { return now(namespace) }} }
			set(m, func() {
				mu.Lock()
				defer mu.Unlock()
				all = model.New(options(kind, model.NoFault, s))
			})
			return m
		},
	}
}

// whatever is the store that there is at the moment.
type whatever struct{ now func() store.Store }

func (w whatever) Describe(ctx context.Context) (store.Description, error) {
	return w.now().Describe(ctx)
}
func (w whatever) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	return w.now().Claim(ctx, req)
}
func (w whatever) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	return w.now().Heartbeat(ctx, req)
}
func (w whatever) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	return w.now().Finish(ctx, req)
}
func (w whatever) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	return w.now().Unfinished(ctx, req)
}
func (w whatever) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	return w.now().History(ctx, req)
}
