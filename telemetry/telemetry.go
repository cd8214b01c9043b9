package telemetry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// scope names this package to OpenTelemetry.
const scope = "github.com/anarchon-go/anarchon/telemetry"

// Config says where metrics and spans go. The zero value works.
type Config struct {
	MeterProvider  metric.MeterProvider // default: the global one
	TracerProvider trace.TracerProvider // default: the global one
	// NoJobNames leaves the attribute anarchon.job.name out of the metrics: for
	// services with so many jobs that a series for each is too much.
	NoJobNames bool
}

// Telemetry turns what happens in one scheduler into metrics and spans. Its methods are
// safe for concurrent use.
type Telemetry struct {
	cfg    Config
	tracer trace.Tracer
	m      instruments
}

// New makes the instruments. It fails only if a provider refuses one.
func New(cfg Config) (*Telemetry, error) {
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = otel.GetTracerProvider()
	}
	t := &Telemetry{cfg: cfg, tracer: cfg.TracerProvider.Tracer(scope)}
	var err error
	if t.m, err = newInstruments(cfg.MeterProvider.Meter(scope)); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return t, nil
}

// Attribute keys.
const (
	keyJob       = attribute.Key("anarchon.job.name")
	keyOutcome   = attribute.Key("anarchon.outcome")
	keyReason    = attribute.Key("anarchon.reason")
	keyVerdict   = attribute.Key("anarchon.verdict")
	keyOperation = attribute.Key("anarchon.store.operation")
	keyError     = attribute.Key("error.type") // of the OpenTelemetry conventions
)

// of returns the attributes of something that belongs to a job.
func (t *Telemetry) of(job string, more ...attribute.KeyValue) metric.MeasurementOption {
	if !t.cfg.NoJobNames {
		more = append(more, keyJob.String(job))
	}
	return metric.WithAttributeSet(attribute.NewSet(more...))
}

// OnEvent counts an event of the scheduler: give it to [core.Options.OnEvent].
func (t *Telemetry) OnEvent(e core.Event) {
	ctx := context.Background()
	switch e := e.(type) {
	case core.Started:
		reason := keyReason.String(e.Run.Reason.String())
		t.m.lateness.Record(ctx, e.At.Sub(e.Run.ScheduledAt).Seconds(), t.of(e.Run.Job, reason))
		if e.Run.Reason == store.ReasonTakeover {
			t.m.takeovers.Add(ctx, 1, t.of(e.Run.Job))
		}
	case core.Succeeded:
		t.ended(e.Run.Job, "success", e.Took)
		t.succeeded(e.Run.Job, time.Now())
	case core.Failed:
		t.ended(e.Run.Job, "failed", e.Took)
	case core.Interrupted:
		outcome := "interrupted"
		if e.HandedOver {
			outcome = "handed_over"
		}
		t.ended(e.Run.Job, outcome, e.Took)
	case core.Lost:
		t.m.runs.Add(ctx, 1, t.of(e.Run.Job, keyOutcome.String("lost")))
	case core.Unrecorded:
		t.m.runs.Add(ctx, 1, t.of(e.Run.Job, keyOutcome.String("unrecorded")))
	case core.Skipped:
		t.m.skips.Add(ctx, 1, t.of(e.Job, keyReason.String(string(e.Reason))))
	case core.Unconfirmed:
		t.m.unconfirmed.Add(ctx, 1, t.of(e.Run.Job))
	case core.Stuck:
		t.m.stuck.Add(ctx, 1, t.of(e.Run.Job))
	case core.StoreError:
		t.m.outages.Add(ctx, 1)
	case core.EventsDropped:
		t.m.dropped.Add(ctx, int64(e.Count))
	}
}

func (t *Telemetry) ended(job, outcome string, took time.Duration) {
	ctx := context.Background()
	how := t.of(job, keyOutcome.String(outcome))
	t.m.runs.Add(ctx, 1, how)
	t.m.duration.Record(ctx, took.Seconds(), how)
}

func (t *Telemetry) succeeded(job string, at time.Time) {
	t.m.lastSuccess.Record(context.Background(), float64(at.UnixMilli())/1000, metric.WithAttributes(keyJob.String(job)))
}

// seedRuns is how many attempts of a job Seed looks through for a success.
const seedRuns = 100

// Seed reads from the store when the jobs last ended well, and begins their counters at
// 0, so that an alert on a job that did not run is neither silent nor false after a
// start. Call it once the jobs are known. A backend without history seeds the counters
// only.
func (t *Telemetry) Seed(ctx context.Context, s store.Store, jobs ...string) error {
	d, err := s.Describe(ctx)
	if err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	for _, job := range jobs {
		for _, outcome := range []string{"success", "failed"} {
			t.m.runs.Add(ctx, 0, t.of(job, keyOutcome.String(outcome)))
		}
		if !d.History {
			continue
		}
		ans, err := s.History(ctx, store.HistoryRequest{Job: job, Limit: seedRuns})
		if err != nil {
			return fmt.Errorf("telemetry: history of %q: %w", job, err)
		}
		for _, a := range ans.Attempts {
			if a.Status == store.StatusSuccess && a.EndedAt != 0 {
				t.succeeded(job, store.Time(a.EndedAt))
				break
			}
		}
	}
	return nil
}

// OnPluginEvent counts an event of a plugin's life: give it to
// [storekit.Plugin.OnEvent].
func (t *Telemetry) OnPluginEvent(e storekit.Event) {
	ctx := context.Background()
	switch e := e.(type) {
	case storekit.Ready:
		t.m.pluginStarts.Add(ctx, 1)
	case storekit.Down:
		t.m.pluginFailures.Add(ctx, 1)
	case storekit.EventsDropped:
		t.m.dropped.Add(ctx, int64(e.Count))
	}
}

// errorType is the class of a store's error.
func errorType(err error) string {
	switch {
	case errors.Is(err, store.ErrInvalid):
		return "invalid"
	case errors.Is(err, store.ErrNotApplied):
		return "not_applied"
	}
	return "unknown"
}
