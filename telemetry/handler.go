package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/anarchon-go/anarchon/core"
)

// Handler makes a span for each run of a handler and counts it among the active ones.
// What the span says is what the handler did; what the store recorded of it is in the
// metrics.
func (t *Telemetry) Handler(h core.Handler) core.Handler {
	if h == nil {
		return nil // core.Scheduler.Add says it better
	}
	return func(ctx context.Context, run core.Run) (err error) {
		where := t.of(run.Job)
		ctx, span := t.tracer.Start(ctx, "run "+run.Job, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			keyJob.String(run.Job),
			attribute.String("anarchon.run.slot", run.ScheduledAt.Format(time.RFC3339Nano)),
			attribute.Int("anarchon.run.attempt", run.Attempt),
			attribute.Int64("anarchon.run.token", int64(run.Token)),
			keyReason.String(run.Reason.String()),
			attribute.String("anarchon.instance", run.Instance),
		))
		t.m.active.Add(ctx, 1, where)
		returned := false
		defer func() {
			t.m.active.Add(ctx, -1, where)
			if cause := context.Cause(ctx); cause != nil {
				span.AddEvent("context cancelled", trace.WithAttributes(attribute.String("anarchon.cause", cause.Error())))
			}
			switch {
			case !returned: // core reports the panic; here it is only seen passing
				span.SetStatus(codes.Error, "the handler panicked or called runtime.Goexit")
			case err != nil:
				span.RecordError(err)
				span.SetStatus(codes.Error, err.Error())
			default:
				span.SetStatus(codes.Ok, "")
			}
			span.End()
		}()
		err = h(ctx, run)
		returned = true
		return err
	}
}
