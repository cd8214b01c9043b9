package core

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

var (
	leaseStore = store.Description{Kind: store.KindLease, Memory: store.Memory{Forever: true}}
	claimOnly  = store.Description{Kind: store.KindClaimOnly, Memory: store.Memory{Forever: true}}
)

func window(d time.Duration, runs int) store.Description {
	return store.Description{Kind: store.KindClaimOnly, Memory: store.Memory{Window: d, Runs: runs}}
}

// TestTimingRules has, for each rule, values just inside and just outside.
func TestTimingRules(t *testing.T) {
	const minute = time.Minute
	for _, tt := range []struct {
		name   string
		timing Timing
		gap    time.Duration
		store  store.Description
		broken []string // beginnings of the rules, in order; none: it is fine
	}{
		{"defaults, each minute", Timing{}, minute, leaseStore, nil},
		{"defaults, each second", Timing{}, time.Second, leaseStore, nil},

		{"gap 1 s", Timing{}, time.Second, leaseStore, nil},
		{"gap 999 ms", Timing{}, 999 * time.Millisecond, leaseStore, []string{"smallest gap"}},

		{"jitter just under half the gap", Timing{Jitter: 30*time.Second - 1}, minute, leaseStore, nil},
		{"jitter half the gap", Timing{Jitter: 30 * time.Second}, minute, leaseStore, []string{"0 <= jitter"}},
		{"jitter negative", Timing{Jitter: -time.Second}, minute, leaseStore, []string{"0 <= jitter"}},
		{"jitter off", Timing{Jitter: Disabled}, minute, leaseStore, nil},

		{"max late just over jitter", Timing{Jitter: 20 * time.Second, MaxLate: 20*time.Second + 1}, minute, leaseStore, nil},
		{"max late is jitter", Timing{Jitter: 20 * time.Second, MaxLate: 20 * time.Second}, minute, leaseStore, []string{"max late > jitter"}},
		{"max late a year", Timing{MaxLate: store.MaxBound}, minute, leaseStore, nil},
		{"max late over a year", Timing{MaxLate: store.MaxBound + 1}, minute, leaseStore, []string{"max late <="}},

		{"memory just over the sum", Timing{}, minute, window(82*time.Second+1, 0), nil},
		{"memory is the sum", Timing{}, minute, window(82*time.Second, 0), []string{"jitter + max late + 20 s < the store's memory"}},
		{"memory of 63 s", Timing{}, minute, window(63*time.Second, 0), []string{"jitter + max late + 20 s < the store's memory"}},
		{"memory by count covers it", Timing{}, minute, window(0, 2), nil},
		{"memory by count is the sum", Timing{Jitter: 10 * time.Second, MaxLate: 30 * time.Second}, minute, window(0, 1), []string{"runs remembered"}},
		{"each second, 50 runs remembered", Timing{}, time.Second, window(0, 50), []string{"runs remembered"}},
		{"each second, 81 runs remembered", Timing{}, time.Second, window(0, 81), nil},
		{"each second, 80 runs remembered", Timing{}, time.Second, window(0, 80), []string{"runs remembered"}},
		{"count and window: both must cover it", Timing{}, time.Second, window(5*minute, 50), []string{"runs remembered"}},
		{"count times a gap of centuries", Timing{}, 200 * 365 * 24 * time.Hour, window(0, 1_000_000), nil},
		{"memory not declared", Timing{}, minute, window(0, 0), []string{"the store says"}},
		{"memory for ever", Timing{MaxLate: 24 * time.Hour}, minute, leaseStore, nil},

		{"heartbeat just under half the lease", Timing{Lease: 10 * time.Second, Heartbeat: 5*time.Second - 1}, minute, leaseStore, nil},
		{"heartbeat half the lease", Timing{Lease: 10 * time.Second, Heartbeat: 5 * time.Second}, minute, leaseStore, []string{"heartbeat < half"}},
		{"heartbeat half the lease, claim-only", Timing{Lease: 10 * time.Second, Heartbeat: 5 * time.Second}, minute, claimOnly, nil},
		{"lease 6 ms", Timing{Lease: 6 * time.Millisecond}, minute, leaseStore, nil},
		{"lease too short for a heartbeat", Timing{Lease: 5 * time.Millisecond}, minute, leaseStore, []string{"lease >= 6 ms, where the heartbeat is a part of it"}},
		{"lease negative", Timing{Lease: -1, Heartbeat: time.Second}, minute, claimOnly, []string{"1 ms <= lease"}},
		{"lease 30 days", Timing{Lease: store.MaxLease}, minute, leaseStore, nil},
		{"lease over 30 days", Timing{Lease: store.MaxLease + 1}, minute, leaseStore, []string{"1 ms <= lease"}},

		{"catch-up off", Timing{CatchUp: Disabled}, minute, leaseStore, nil},
		{"catch-up negative", Timing{CatchUp: -time.Minute}, minute, leaseStore, []string{"0 <= catch-up"}},
		{"catch-up over a year", Timing{CatchUp: store.MaxBound + 1}, minute, leaseStore, []string{"0 <= catch-up"}},
		{"overlap unknown", Timing{Overlap: 3}, minute, leaseStore, []string{"overlap is"}},
		{"attempts 1", Timing{MaxAttempts: 1}, minute, leaseStore, nil},
		{"attempts 100", Timing{MaxAttempts: 100}, minute, leaseStore, nil},
		{"attempts 101", Timing{MaxAttempts: 101}, minute, leaseStore, []string{"1 <= max attempts"}},
		{"attempts negative", Timing{MaxAttempts: -1}, minute, leaseStore, []string{"1 <= max attempts"}},
		{"history 10 000", Timing{HistorySize: 10_000}, minute, leaseStore, nil},
		{"history 10 001", Timing{HistorySize: 10_001}, minute, leaseStore, []string{"1 <= history size"}},
		{"stop timeout negative", Timing{StopTimeout: -1}, minute, leaseStore, []string{"0 < stop timeout"}},
		{"stop timeout for ever", Timing{StopTimeout: 1<<63 - 1}, minute, leaseStore, []string{"0 < stop timeout"}},

		{
			"all at once",
			Timing{Jitter: minute, MaxLate: 30 * time.Second, Lease: 31 * 24 * time.Hour, Heartbeat: 40 * 24 * time.Hour, CatchUp: -5, Overlap: 9, MaxAttempts: 1000, HistorySize: -1, StopTimeout: -1},
			500 * time.Millisecond,
			store.Description{Kind: store.KindLease, Memory: store.Memory{Window: minute, Runs: 3}},
			[]string{
				"smallest gap", "0 <= jitter", "max late > jitter", "0 <= catch-up", "1 ms <= lease", "overlap is", "1 <= max attempts", "1 <= history size", "0 < stop timeout",
				"jitter + max late + 20 s < the store's memory", "runs remembered", "heartbeat < half",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := CheckTiming(tt.timing, tt.gap, tt.store)
			if got := rulesOf(err); !sameStarts(got, tt.broken) {
				t.Errorf("broken rules %q, want %q\n%v", got, tt.broken, err)
			}
		})
	}
}

// rulesOf takes a joined error apart.
func rulesOf(err error) []string {
	joined, _ := err.(interface{ Unwrap() []error })
	if joined == nil {
		return nil
	}
	var rules []string
	for _, err := range joined.Unwrap() {
		var rule *RuleError
		if !errors.As(err, &rule) || rule.Found == "" || rule.Remedy == "" {
			rules = append(rules, "not a whole rule: "+err.Error())
			continue
		}
		rules = append(rules, rule.Rule)
	}
	return rules
}

func sameStarts(got, want []string) bool {
	return len(got) == len(want) && !slices.ContainsFunc(want, func(w string) bool {
		return !strings.HasPrefix(got[slices.Index(want, w)], w)
	})
}

func TestTimingDefaults(t *testing.T) {
	full := Timing{
		Jitter: 2 * time.Second, MaxLate: time.Minute, Lease: 30 * time.Second, Heartbeat: 5 * time.Second, CatchUp: 5 * time.Minute,
		Overlap: Skip, MaxAttempts: 3, HistorySize: 100, StopTimeout: 30 * time.Second,
	}
	with := func(change func(*Timing)) Timing { t := full; change(&t); return t }
	for _, tt := range []struct {
		name  string
		given Timing
		gap   time.Duration
		store store.Description
		want  Timing
	}{
		{"zero", Timing{}, time.Hour, leaseStore, full},
		{"a quarter of the gap", Timing{}, time.Second, leaseStore, with(func(t *Timing) { t.Jitter = 250 * time.Millisecond })},
		{"no jitter", Timing{Jitter: Disabled}, time.Hour, leaseStore, with(func(t *Timing) { t.Jitter = 0 })},
		{"no catch-up", Timing{CatchUp: Disabled}, time.Hour, leaseStore, with(func(t *Timing) { t.CatchUp = 0 })},
		{"claim-only has no catch-up", Timing{CatchUp: time.Hour}, time.Hour, claimOnly, with(func(t *Timing) { t.CatchUp = 0 })},
		{"a sixth of the lease", Timing{Lease: 6 * time.Second}, time.Hour, leaseStore, with(func(t *Timing) { t.Lease, t.Heartbeat = 6*time.Second, time.Second })},
		{"given is kept", Timing{MaxLate: time.Hour, MaxAttempts: 7, Overlap: Allow}, time.Hour, leaseStore, with(func(t *Timing) { t.MaxLate, t.MaxAttempts, t.Overlap = time.Hour, 7, Allow })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := CheckTiming(tt.given, tt.gap, tt.store)
			if err != nil || got != tt.want {
				t.Errorf("got %+v, %v\nwant %+v", got, err, tt.want)
			}
		})
	}
}

func TestTimingWarnings(t *testing.T) {
	for _, tt := range []struct {
		name  string
		gap   time.Duration
		store store.Description
		want  int
	}{
		{"clearly above the lease", 45 * time.Second, leaseStore, 0},
		{"not clearly", 45*time.Second - 1, leaseStore, 1},
		{"claim-only has no lease", time.Second, claimOnly, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, warnings, err := CheckTiming(Timing{}, tt.gap, tt.store)
			if err != nil || len(warnings) != tt.want {
				t.Errorf("warnings %q, %v; want %d", warnings, err, tt.want)
			}
		})
	}
}

// TestDefaultsOfTheScheduler: a job's zero fields take the scheduler's.
func TestDefaultsOfTheScheduler(t *testing.T) {
	defaults := Timing{Jitter: Disabled, Lease: 12 * time.Second, Overlap: Allow}
	j, _, err := Job{Name: "a", Schedule: Every(time.Minute), Handler: nop, Timing: Timing{Lease: 60 * time.Second, Jitter: time.Second}}.check(defaults, leaseStore)
	if err != nil {
		t.Fatal(err)
	}
	if got := j.Timing; got.Lease != time.Minute || got.Jitter != time.Second || got.Overlap != Allow || got.Heartbeat != 5*time.Second {
		t.Errorf("got %+v", got)
	}
}

func TestMaxEarly(t *testing.T) {
	for gap, want := range map[time.Duration]time.Duration{
		time.Second: 500 * time.Millisecond, 19 * time.Second: 9500 * time.Millisecond, 20 * time.Second: 10 * time.Second, time.Hour: 10 * time.Second,
	} {
		if got := maxEarly(gap); got != want {
			t.Errorf("gap %v: max early is %v, want %v", gap, got, want)
		}
	}
}
