package core

import (
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// Disabled turns a duration off where zero means the default: [Timing.Jitter]
// and [Timing.CatchUp].
const Disabled time.Duration = -1

// The values of [Timing.Overlap].
const (
	Skip  = store.OverlapSkip
	Allow = store.OverlapAllow
)

// Timing is how a job is timed and protected. The zero value of each field is
// its default; [Options.Timing] changes the default for all jobs, [Job.Timing]
// for one. The rules that the values must keep together are checked by
// [CheckTiming] when a job is added.
type Timing struct {
	// Jitter: each instance waits a random delay in [0, Jitter) after a slot
	// before it claims, so that the winner is nearly random. Default 2 s, at
	// most a quarter of the smallest gap between slots. [Disabled] for none.
	Jitter time.Duration
	// MaxLate is how long after its slot a run may still be claimed. Default
	// 60 s.
	MaxLate time.Duration
	// Lease is how long a run is protected without renewal: a dead runner is
	// replaced about so long after its last heartbeat, and a healthy one
	// survives a pause of about Lease − Heartbeat. Default 30 s. Lease backends
	// only.
	Lease time.Duration
	// Heartbeat is the time between renewals. Default 5 s, or a sixth of Lease
	// if that is less. Lease backends only.
	Heartbeat time.Duration
	// CatchUp: at start, and after the store was unreachable, the newest slot
	// that nobody ran is run if it is younger than this. Default 5 min.
	// [Disabled] for none. Lease backends only.
	CatchUp time.Duration
	// Overlap says whether a run may start while another run of the job is held.
	// Default [Skip]. Lease backends only.
	Overlap store.Overlap
	// MaxAttempts bounds how often a crashed run is started, 1 to 100. Default
	// 3.
	MaxAttempts int
	// HistorySize is how many runs of the job the store keeps, 1 to 10 000.
	// Default 100.
	HistorySize int
	// StopTimeout bounds how long a handler whose context was cancelled is
	// waited for, and how long an unanswered finish is repeated. Default 30 s.
	StopTimeout time.Duration
}

const (
	defaultJitter      = 2 * time.Second
	defaultMaxLate     = time.Minute
	defaultLease       = 30 * time.Second
	defaultHeartbeat   = 5 * time.Second
	defaultCatchUp     = 5 * time.Minute
	defaultMaxAttempts = 3
	defaultHistorySize = 100
	defaultStopTimeout = 30 * time.Second

	minInterval     = time.Second
	leastLease      = 6 * time.Millisecond // a sixth of it, the default heartbeat, is a millisecond
	maxEarlyCap     = 10 * time.Second     // a first claim so far before its slot, on the store's clock, is refused
	clockTolerances = 20 * time.Second     // 10 s each way: without it two instances 5 s apart both win on a window of 63 s
)

// RuleError says which timing rule a job breaks, with which values, and what to
// change.
type RuleError struct {
	Rule   string // the rule, e.g. "jitter < half the smallest gap between slots"
	Found  string // the values that break it
	Remedy string // what to change
}

// Error gives all three.
func (e *RuleError) Error() string {
	return fmt.Sprintf("%s: %s; %s", e.Rule, e.Found, e.Remedy)
}

// CheckTiming fills in the defaults of t for a job whose slots are at least gap
// apart, and checks all timing rules against the store that d describes. The
// error joins a [RuleError] for each rule broken. The warnings are no faults.
// The result is complete: no field of it is a default any more, and a disabled
// one is 0.
func CheckTiming(t Timing, gap time.Duration, d store.Description) (full Timing, warnings []string, err error) {
	full = t.or(Timing{}).resolved(gap, d.Kind)
	var errs []error
	broken := func(ok bool, rule, remedy, found string, args ...any) {
		if !ok {
			errs = append(errs, &RuleError{rule, fmt.Sprintf(found, args...), remedy})
		}
	}
	full.checkBounds(gap, broken)
	full.checkMemory(gap, d.Memory, broken)
	if derived := t.Heartbeat == 0; derived {
		// A rule about a heartbeat that nobody chose would send its reader astray.
		broken(full.Lease >= leastLease, "lease >= 6 ms, where the heartbeat is a part of it", "lengthen the lease, or set the heartbeat", "lease is %v", full.Lease)
	} else {
		broken(full.Heartbeat >= time.Millisecond, "heartbeat >= 1 ms", "lengthen the heartbeat", "heartbeat is %v", full.Heartbeat)
	}
	if d.Kind == store.KindLease {
		broken(full.Heartbeat < full.Lease/2 || full.Lease < leastLease, "heartbeat < half the lease", "lengthen the lease or shorten the heartbeat: a lease must be renewed at least twice before it can end",
			"heartbeat is %v, half the lease is %v", full.Heartbeat, full.Lease/2)
		if gap < full.Lease+full.Lease/2 {
			warnings = append(warnings, fmt.Sprintf("the smallest gap between slots (%v) is not clearly above the lease (%v): a crashed run is often superseded by the next slot before its lease ends; shorten the lease or lengthen the interval", gap, full.Lease))
		}
	}
	return full, warnings, errors.Join(errs...)
}

// checkDefaults checks what no job can make good: a schedule with gaps as large as the
// jitter asks for, or of the second that lets max late be shortest, and a store that
// remembers for ever.
func (t Timing) checkDefaults(kind store.Kind) error {
	gap := max(minInterval, 3*min(t.Jitter, store.MaxBound))
	_, _, err := CheckTiming(t, gap, store.Description{Kind: kind, Memory: store.Memory{Forever: true}})
	return err
}

func (t Timing) checkBounds(gap time.Duration, broken func(ok bool, rule, remedy, found string, args ...any)) {
	broken(gap >= minInterval, "smallest gap between slots >= 1 s", "plan the slots further apart", "the smallest gap is %v", gap)
	broken(t.Jitter >= 0 && t.Jitter < gap/2, "0 <= jitter < half the smallest gap between slots", "shorten the jitter: else the jitter windows of two slots could meet",
		"jitter is %v, half the smallest gap is %v", t.Jitter, gap/2)
	broken(t.MaxLate > t.Jitter, "max late > jitter", "lengthen max late: an instance that waits its whole jitter must not count as late",
		"max late is %v, jitter is %v", t.MaxLate, t.Jitter)
	broken(t.MaxLate <= store.MaxBound, "max late <= 366 days", "shorten max late", "max late is %v", t.MaxLate)
	broken(t.CatchUp >= 0 && t.CatchUp <= store.MaxBound, "0 <= catch-up <= 366 days", "use core.Disabled to turn catch-up off", "catch-up is %v", t.CatchUp)
	broken(t.Lease >= time.Millisecond && t.Lease <= store.MaxLease, "1 ms <= lease <= 30 days", "choose about three times the longest pause of a healthy instance", "lease is %v", t.Lease)
	broken(t.Overlap == Skip || t.Overlap == Allow, "overlap is skip or allow", "use core.Skip or core.Allow", "overlap is %v", t.Overlap)
	broken(t.MaxAttempts >= 1 && t.MaxAttempts <= store.MaxAttemptsCap, "1 <= max attempts <= 100", "choose a number in this range", "max attempts is %d", t.MaxAttempts)
	broken(t.HistorySize >= 1 && t.HistorySize <= store.MaxHistory, "1 <= history size <= 10000", "choose a number in this range", "history size is %d", t.HistorySize)
	broken(t.StopTimeout > 0 && t.StopTimeout <= store.MaxBound, "0 < stop timeout <= 366 days", "choose how long a handler may need to return", "stop timeout is %v", t.StopTimeout)
}

// checkMemory: a slot that is forgotten while a late claim can still be accepted
// runs twice.
func (t Timing) checkMemory(gap time.Duration, m store.Memory, broken func(ok bool, rule, remedy, found string, args ...any)) {
	if m.Forever {
		return
	}
	need := MemoryNeed(t)
	broken(!m.IsZero(), "the store says how long it remembers a run", "report it to the plugin's author", "the plugin declares neither a window nor a count")
	broken(m.Window == 0 || need < m.Window, "jitter + max late + 20 s < the store's memory", "shorten max late, or lengthen the store's memory by the plugin's options",
		"%v + %v + 20s = %v, the store remembers %v", t.Jitter, t.MaxLate, need, m.Window)
	covered := time.Duration(m.Runs) * gap
	if m.Runs > 0 && gap > store.MaxBound/time.Duration(m.Runs) {
		covered = store.MaxBound // the product could overflow; this is far more than any need
	}
	broken(m.Runs == 0 || covered > need, "runs remembered × smallest gap > jitter + max late + 20 s", "shorten max late, plan the slots further apart, or raise the count by the plugin's options",
		"%d runs × %v = %v, needed are more than %v", m.Runs, gap, covered, need)
}

// MemoryNeed returns how long a store must remember a granted slot for a job of this
// timing, which must be complete (see [CheckTiming]): while an instance may still claim
// it, and 10 s for the difference of clocks either way.
func MemoryNeed(t Timing) time.Duration { return t.Jitter + t.MaxLate + clockTolerances }

// or fills the zero fields of t from defaults.
func (t Timing) or(defaults Timing) Timing {
	pick(&t.Jitter, defaults.Jitter)
	pick(&t.MaxLate, defaults.MaxLate)
	pick(&t.Lease, defaults.Lease)
	pick(&t.Heartbeat, defaults.Heartbeat)
	pick(&t.CatchUp, defaults.CatchUp)
	pick(&t.Overlap, defaults.Overlap)
	pick(&t.MaxAttempts, defaults.MaxAttempts)
	pick(&t.HistorySize, defaults.HistorySize)
	pick(&t.StopTimeout, defaults.StopTimeout)
	return t
}

// resolved fills in the defaults that are still missing and turns [Disabled]
// into 0.
func (t Timing) resolved(gap time.Duration, kind store.Kind) Timing {
	pick(&t.Jitter, min(defaultJitter, gap/4))
	pick(&t.MaxLate, defaultMaxLate)
	pick(&t.Lease, defaultLease)
	pick(&t.Heartbeat, min(defaultHeartbeat, t.Lease/6))
	pick(&t.CatchUp, defaultCatchUp)
	pick(&t.Overlap, Skip)
	pick(&t.MaxAttempts, defaultMaxAttempts)
	pick(&t.HistorySize, defaultHistorySize)
	pick(&t.StopTimeout, defaultStopTimeout)
	if t.Jitter == Disabled {
		t.Jitter = 0
	}
	if t.CatchUp == Disabled || kind == store.KindClaimOnly {
		t.CatchUp = 0
	}
	return t
}

// maxEarly bounds how far before its slot a first claim is granted.
func maxEarly(gap time.Duration) time.Duration { return min(maxEarlyCap, gap/2) }

func pick[T comparable](field *T, def T) {
	var zero T
	if *field == zero {
		*field = def
	}
}
