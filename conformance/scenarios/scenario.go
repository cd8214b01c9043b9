package scenarios

import (
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// Timing is how the instances of a play are set, and what its bounds allow.
type Timing struct {
	Lease, Heartbeat, Jitter, Stop time.Duration
	// Margin is added to every upper bound that a play is judged by: for processes that
	// wait for a processor on a busy machine, and for a store that is slow to write. What
	// was measured is told beside the bound itself. Lower bounds have no margin.
	Margin time.Duration
}

// Short and Real are the two timings that scenarios are played with.
var (
	Short = Timing{Lease: 4 * time.Second, Heartbeat: 500 * time.Millisecond, Jitter: 200 * time.Millisecond, Stop: 2 * time.Second, Margin: 5 * time.Second}
	Real  = Timing{Lease: 30 * time.Second, Heartbeat: 5 * time.Second, Jitter: 200 * time.Millisecond, Stop: 10 * time.Second, Margin: 5 * time.Second}
)

// takeover is the bound of a takeover, counted from a runner's end: the lease may
// have been renewed just before.
func (t Timing) takeover() time.Duration { return t.Lease + 2*t.Heartbeat }

// over is when a backup that does not come has had its time.
func (t Timing) over() time.Duration { return t.takeover() + 2*time.Second }

// A Scenario is a story with an expected end on each kind of backend.
type Scenario struct {
	ID    int
	Name  string // for files: "runner-killed"
	Title string // "The runner is killed"

	// Jobs of all instances. A job's First counts from the play's time zero, which
	// is a whole second soon after the instances are up.
	Jobs func(Timing) []hostprog.Job
	// Host changes how the instance of a lane is set; it may be nil.
	Host func(lane string, c *hostprog.Config, t Timing)
	// Lead is how long before time zero the instances are started; 0: a few seconds.
	Lead time.Duration
	// Breaks is what the script does to the store or to the way there.
	Breaks Breaks

	Script    func(Timing) []Step
	Lease     []Expectation // what a lease backend must show; none: it does not apply
	ClaimOnly []Expectation // the same of a claim-only one
}

// Breaks says what a script breaks besides instances.
type Breaks uint8

const (
	BreaksNothing Breaks = iota
	BreaksLink           // the way between one instance and the store
	BreaksStore          // the store, for all that use it
)

// Expects returns what a backend of that kind must show.
func (s *Scenario) Expects(k store.Kind) []Expectation {
	if k == store.KindClaimOnly {
		return s.ClaimOnly
	}
	return s.Lease
}

// A Step is a thing done, or waited for.
type Step struct {
	Says string // in the present tense: "kill -9 the runner"
	Do   func(*Play) error
	Kind store.Kind // 0: on both kinds of backend
}

// An Expectation is something that a record must show.
type Expectation struct {
	Says string
	// Check returns what was measured, if anything was.
	Check func(*Record) (figure string, err error)
}

// Scenarios returns all of them, by ID.
func Scenarios() []*Scenario { return append(seven(), more()...) }
