package telemetry

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// probe is a Telemetry whose metrics and spans can be read.
type probe struct {
	*Telemetry
	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
}

func newProbe(t *testing.T, cfg Config) probe {
	t.Helper()
	p := probe{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	cfg.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(p.reader))
	cfg.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(p.spans))
	var err error
	if p.Telemetry, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return p
}

// read returns each series as NAME{key=value,…} with its value: a counter's sum, a
// histogram's count.
func (p probe) read(t *testing.T) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := p.reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	name := func(m metricdata.Metrics, set attribute.Set) string {
		return m.Name + "{" + set.Encoded(attribute.DefaultEncoder()) + "}"
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch d := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range d.DataPoints {
					got[name(m, p.Attributes)] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					got[name(m, p.Attributes)] = p.Value
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					got[name(m, p.Attributes)] = float64(p.Count)
					got["sum of "+name(m, p.Attributes)] = p.Sum
				}
			default:
				t.Fatalf("%s is a %T", m.Name, d)
			}
		}
	}
	return got
}

// TestScheduler: a day of a service, in virtual time, from schedule to metrics.
func TestScheduler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, Config{})
		mem := coretest.NewStore(store.KindLease)
		s, err := core.New(p.Store(mem), core.Options{OnEvent: p.OnEvent, Timing: core.Timing{Jitter: core.Disabled, CatchUp: core.Disabled}})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = s.Add(core.Job{Name: "hourly", Schedule: core.Every(time.Hour), Handler: p.Handler(func(ctx context.Context, run core.Run) error {
			time.Sleep(12 * time.Second)
			if n++; n == 2 {
				return errors.New("second one fails")
			}
			return nil
		})})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.Run(ctx) }()
		time.Sleep(3*time.Hour + time.Minute)
		cancel()
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		got := p.read(t)
		for series, want := range map[string]float64{
			"anarchon.runs{anarchon.job.name=hourly,anarchon.outcome=success}":                   2,
			"anarchon.runs{anarchon.job.name=hourly,anarchon.outcome=failed}":                    1,
			"anarchon.runs.active{anarchon.job.name=hourly}":                                     0,
			"sum of anarchon.run.duration{anarchon.job.name=hourly,anarchon.outcome=failed}":     12,
			"anarchon.start.lateness{anarchon.job.name=hourly,anarchon.reason=scheduled}":        3,
			"sum of anarchon.start.lateness{anarchon.job.name=hourly,anarchon.reason=scheduled}": 0,
			"anarchon.claims{anarchon.job.name=hourly,anarchon.verdict=won}":                     3,
			"anarchon.store.operation.duration{anarchon.store.operation=claim}":                  3,
			"anarchon.store.operation.duration{anarchon.store.operation=finish}":                 3,
			"anarchon.store.operation.duration{anarchon.store.operation=heartbeat}":              6, // two in each run of 12 s
			"anarchon.lease.margin{anarchon.job.name=hourly}":                                    6,
			"sum of anarchon.lease.margin{anarchon.job.name=hourly}":                             6 * 25,
		} {
			if v, ok := got[series]; !ok || v != want {
				t.Errorf("%s is %v, want %v", series, v, want)
			}
		}
		if len(p.spans.Ended()) != 3 {
			t.Fatalf("%d spans", len(p.spans.Ended()))
		}
		ok, bad := p.spans.Ended()[0], p.spans.Ended()[1]
		if ok.Name() != "run hourly" || ok.Status().Code != codes.Ok || ok.EndTime().Sub(ok.StartTime()) != 12*time.Second {
			t.Errorf("the first span is %s, %v, %v", ok.Name(), ok.Status(), ok.EndTime().Sub(ok.StartTime()))
		}
		if bad.Status().Code != codes.Error || bad.Status().Description != "second one fails" {
			t.Errorf("the second span ends %v", bad.Status())
		}
	})
}

// TestSeed: what the store remembers of the jobs is known before one runs here.
func TestSeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mem := coretest.NewStore(store.KindLease)
		claim := func(slot int64, outcome store.Outcome) {
			won, err := mem.Claim(t.Context(), store.ClaimRequest{
				Job: "old", Slot: slot, ID: store.NewClaimID(), Instance: "i", Reason: store.ReasonScheduled, Lease: time.Minute,
				MaxLate: time.Hour, Overlap: store.OverlapAllow, MaxAttempts: 1, HistorySize: 10,
			})
			if err != nil || won.Verdict != store.VerdictWon {
				t.Fatal(won, err)
			}
			if _, err := mem.Finish(t.Context(), store.FinishRequest{Job: "old", Slot: slot, Token: won.Token, Outcome: outcome}); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		claim(began.UnixMilli(), store.OutcomeSuccess)
		time.Sleep(time.Second)
		claim(time.Now().UnixMilli(), store.OutcomeFailed)
		p := newProbe(t, Config{})
		if err := p.Seed(t.Context(), mem, "old", "new"); err != nil {
			t.Fatal(err)
		}
		got := p.read(t)
		if v := got["anarchon.job.last_success{anarchon.job.name=old}"]; v != float64(began.Unix()) {
			t.Errorf("the last success was at %v, want %v", v, began.Unix())
		}
		if _, ok := got["anarchon.job.last_success{anarchon.job.name=new}"]; ok {
			t.Error("a job that never ran has a last success")
		}
		for _, job := range []string{"old", "new"} {
			if v, ok := got["anarchon.runs{anarchon.job.name="+job+",anarchon.outcome=success}"]; !ok || v != 0 {
				t.Errorf("%s: the counter is %v, %v", job, v, ok)
			}
		}
		mem.SetDown(true)
		if err := p.Seed(t.Context(), mem, "old"); err == nil {
			t.Error("no error of a store that is down")
		}
	})
}

// TestEvents: each event is counted where doc.go says.
func TestEvents(t *testing.T) {
	p := newProbe(t, Config{NoJobNames: true})
	at := time.Now()
	run := core.Run{Job: "j", ScheduledAt: at, Reason: store.ReasonTakeover}
	for _, e := range []core.Event{
		core.Started{Run: run, At: at.Add(time.Second)},
		core.Interrupted{Run: run}, core.Interrupted{Run: run, HandedOver: true}, core.Lost{Run: run}, core.Unrecorded{Run: run},
		core.Skipped{Reason: core.SkipOverlap}, core.Skipped{Reason: core.SkipUnreachable}, core.Unconfirmed{Run: run}, core.Stuck{Run: run},
		core.StoreError{}, core.StoreBack{}, core.EventsDropped{Count: 3},
	} {
		p.OnEvent(e)
	}
	for _, e := range []storekit.Event{storekit.Ready{}, storekit.Ready{}, storekit.Down{}, storekit.EventsDropped{Count: 4}} {
		p.OnPluginEvent(e)
	}
	got := p.read(t)
	for series, want := range map[string]float64{
		"anarchon.takeovers{}": 1,
		"sum of anarchon.start.lateness{anarchon.reason=takeover}": 1,
		"anarchon.runs{anarchon.outcome=interrupted}":              1,
		"anarchon.runs{anarchon.outcome=handed_over}":              1,
		"anarchon.runs{anarchon.outcome=lost}":                     1,
		"anarchon.runs{anarchon.outcome=unrecorded}":               1,
		"anarchon.skips{anarchon.reason=overlap}":                  1,
		"anarchon.skips{anarchon.reason=store unreachable}":        1,
		"anarchon.unconfirmed{}":                                   1,
		"anarchon.stuck{}":                                         1,
		"anarchon.store.outages{}":                                 1,
		"anarchon.events.dropped{}":                                7,
		"anarchon.plugin.starts{}":                                 2,
		"anarchon.plugin.failures{}":                               1,
	} {
		if v, ok := got[series]; !ok || v != want {
			t.Errorf("%s is %v, want %v", series, v, want)
		}
	}
}

// TestHandler: panics pass through, the cause of a cancelled context is told.
func TestHandler(t *testing.T) {
	p := newProbe(t, Config{})
	if p.Handler(nil) != nil || p.Store(nil) != nil {
		t.Error("nil became something")
	}
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recovered %v", v)
			}
		}()
		_ = p.Handler(func(context.Context, core.Run) error { panic("boom") })(t.Context(), core.Run{Job: "j"})
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	err := p.Handler(func(ctx context.Context, _ core.Run) error {
		cancel(core.ErrLost)
		return ctx.Err()
	})(ctx, core.Run{Job: "j"})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	spans := p.spans.Ended()
	if len(spans) != 2 || spans[0].Status().Code != codes.Error {
		t.Fatalf("spans %v", spans)
	}
	told := false
	for _, e := range spans[1].Events() {
		for _, a := range e.Attributes {
			told = told || strings.Contains(a.Value.AsString(), core.ErrLost.Error())
		}
	}
	if !told {
		t.Errorf("the cause is not among %v", spans[1].Events())
	}
	if v := p.read(t)["anarchon.runs.active{anarchon.job.name=j}"]; v != 0 {
		t.Errorf("%v are active", v)
	}
}

// TestStoreErrors: failed calls are timed by their class, and their answers are not
// counted.
func TestStoreErrors(t *testing.T) {
	p := newProbe(t, Config{})
	mem := coretest.NewStore(store.KindLease)
	s := p.Store(mem)
	if _, err := s.Claim(t.Context(), store.ClaimRequest{}); !errors.Is(err, store.ErrInvalid) {
		t.Fatal(err)
	}
	mem.SetDown(true)
	if _, err := s.Unfinished(t.Context(), store.UnfinishedRequest{}); err == nil {
		t.Fatal("no error")
	}
	got := p.read(t)
	if got["anarchon.store.operation.duration{anarchon.store.operation=claim,error.type=invalid}"] != 1 {
		t.Errorf("got %v", got)
	}
	down := 0.0
	for series, v := range got {
		if strings.HasPrefix(series, "anarchon.store.operation.duration{anarchon.store.operation=unfinished,error.type=") {
			down += v
		}
		if strings.HasPrefix(series, "anarchon.claims") {
			t.Errorf("%s was counted", series)
		}
	}
	if down != 1 {
		t.Errorf("got %v", got)
	}
}

// TestLeasesAreSwept: runs whose finish was never answered don't pile up.
func TestLeasesAreSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbe(t, Config{})
		m := p.Store(coretest.NewStore(store.KindLease)).(*measured)
		for i := range 10 * fewLeases {
			m.hold(attempt{"j", int64(i), 1}, lease{time.Now(), time.Second})
			time.Sleep(time.Second)
		}
		if len(m.leases) > 2*fewLeases {
			t.Errorf("%d leases are held", len(m.leases))
		}
	})
}
