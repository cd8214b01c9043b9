package core

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestOptions(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    Options
		want string // in the error; empty: fine
	}{
		{"zero", Options{}, ""},
		{"instance of 200 bytes", Options{Instance: strings.Repeat("i", 200)}, ""},
		{"instance of 201 bytes", Options{Instance: strings.Repeat("i", 201)}, "instance"},
		{"instance not UTF-8", Options{Instance: "\xff"}, "instance"},
		{"max runs", Options{MaxRuns: -1}, "max runs is -1"},
		{"grace", Options{Grace: -time.Second}, "grace is -1s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o, err := tt.o.check()
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error is %v, want one about %q", err, tt.want)
				}
				return
			}
			if err != nil || o.Logger == nil || o.Now == nil || store.CheckName("instance", o.Instance) != nil {
				t.Errorf("got %+v, %v", o, err)
			}
		})
	}
}

// TestNewChecksTheDefaults: what no job can make good is told at once, and what a
// schedule or a job's own timing can, is not.
func TestNewChecksTheDefaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		t    Timing
		kind store.Kind
		want string // in the error; empty: fine
	}{
		{"zero", Timing{}, store.KindLease, ""},
		{"long jitter, for jobs with long gaps", Timing{Jitter: 10 * time.Second, MaxLate: 20 * time.Second}, store.KindLease, ""},
		{"short max late, for jobs each second", Timing{MaxLate: 300 * time.Millisecond}, store.KindLease, ""},
		{"nothing extra", Timing{Jitter: Disabled, CatchUp: Disabled}, store.KindLease, ""},
		{"negative max late", Timing{MaxLate: -time.Second}, store.KindLease, "max late is -1s"},
		{"negative jitter", Timing{Jitter: -time.Second}, store.KindLease, "jitter is -1s"},
		{"jitter that overflows", Timing{Jitter: 1<<63 - 1}, store.KindLease, "max late"},
		{"heartbeat", Timing{Lease: 6 * time.Second, Heartbeat: 3 * time.Second}, store.KindLease, "heartbeat is 3s"},
		{"no lease is asked for there", Timing{Lease: 6 * time.Second, Heartbeat: 3 * time.Second}, store.KindClaimOnly, ""},
		{"attempts", Timing{MaxAttempts: 101}, store.KindLease, "max attempts is 101"},
		{"two", Timing{MaxAttempts: -1, HistorySize: -1}, store.KindLease, "history size is -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// A memory that is too short for the defaults is the job's matter.
			d := store.Description{Kind: tt.kind, Memory: store.Memory{Window: 30 * time.Second}}
			_, err := New(describing{d: d}, Options{Timing: tt.t})
			var rule *RuleError
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("error is %v, want none", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !errors.As(err, &rule)):
				t.Errorf("error is %v, want a rule about %q", err, tt.want)
			}
		})
	}
}

func TestInstanceNamesDiffer(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		o, err := Options{}.check()
		if err != nil || seen[o.Instance] {
			t.Fatalf("instance %q was there before, or %v", o.Instance, err)
		}
		seen[o.Instance] = true
	}
}

// describing is a store that only describes itself.
type describing struct {
	store.Store
	d   store.Description
	err error
}

func (d describing) Describe(context.Context) (store.Description, error) { return d.d, d.err }

func TestNewRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		s    store.Store
		o    Options
		want string
	}{
		{"no store", nil, Options{}, "store is nil"},
		{"bad options", describing{d: leaseStore}, Options{MaxRuns: -1}, "max runs"},
		{"a store that fails", describing{err: io.ErrUnexpectedEOF}, Options{}, "unexpected EOF"},
		{"a store of no kind", describing{}, Options{}, "kind(0)"},
		{"a store of a later kind", describing{d: store.Description{Kind: 9}}, Options{}, "kind(9)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.s, tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestInstant(t *testing.T) {
	at := func(wall, mono time.Duration) instant { return instant{int64(wall), int64(mono)} }
	for _, tt := range []struct {
		name string
		t, u instant
		want time.Duration
	}{
		{"both ran", at(15*time.Second, 5*time.Second), at(10*time.Second, 0), 5 * time.Second},
		{"suspended: the monotonic clock stood", at(50*time.Second, 1*time.Second), at(10*time.Second, 0), 40 * time.Second},
		{"the wall clock went back", at(5*time.Second, 7*time.Second), at(10*time.Second, 0), 7 * time.Second},
		{"never negative", at(0, 0), at(10*time.Second, 5*time.Second), 0},
	} {
		if got := tt.t.since(tt.u); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	for wall, want := range map[time.Duration]int64{0: 0, 999_999: 0, 1_000_000: 1, -1: -1, -1_000_000: -1, -1_000_001: -2} {
		if got := at(wall, 0).ms(); got != want {
			t.Errorf("%d ns are %d ms, want %d", wall, got, want)
		}
	}
}

func TestPanicError(t *testing.T) {
	err := error(&PanicError{Value: io.EOF, Stack: []byte("stack")})
	if !errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "EOF") || !strings.Contains(err.Error(), "stack") {
		t.Errorf("%v", err)
	}
	if err := error(&PanicError{Value: "text"}); errors.Unwrap(err) != nil || !strings.Contains(err.Error(), "text") {
		t.Errorf("%v", err)
	}
	if err := error(&PanicError{}); !strings.Contains(err.Error(), "Goexit") {
		t.Errorf("%v", err)
	}
}

func TestRunLogsAsAGroup(t *testing.T) {
	var b strings.Builder
	log := slog.New(slog.NewTextHandler(&b, nil))
	log.Info("sent", "run", Run{Job: "a", ScheduledAt: store.Time(1767225600000), Attempt: 1, Token: 5, Reason: store.ReasonScheduled})
	for _, want := range []string{"run.job=a", "run.slot=2026-01-01T00:00:00.000Z", "run.attempt=1", "run.token=5", "run.reason=scheduled"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in %s", want, b.String())
		}
	}
}
