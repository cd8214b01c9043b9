package telemetry

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics; doc.go says what each counts.
type instruments struct {
	runs, takeovers, skips, unconfirmed, stuck, claims, outages metric.Int64Counter
	pluginStarts, pluginFailures, dropped                       metric.Int64Counter
	active                                                      metric.Int64UpDownCounter
	duration, lateness, operation, margin                       metric.Float64Histogram
	lastSuccess                                                 metric.Float64Gauge
}

// Bucket bounds, in seconds: runs take from milliseconds to hours, starts are late by
// the jitter at least, calls take milliseconds, a lease's margin is a part of the lease.
var (
	runBounds       = []float64{0.01, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 4 * 3600}
	latenessBounds  = []float64{0.1, 0.25, 0.5, 1, 2, 5, 10, 30, 60, 300, 3600}
	operationBounds = []float64{0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5}
	marginBounds    = []float64{0, 1, 2, 5, 10, 15, 20, 25, 30, 60, 120}
)

func newInstruments(m metric.Meter) (i instruments, err error) {
	var errs []error
	counter := func(into *metric.Int64Counter, name, unit, text string) {
		var err error
		*into, err = m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
	}
	histogram := func(into *metric.Float64Histogram, name, text string, bounds []float64) {
		var err error
		*into, err = m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
	}
	counter(&i.runs, "anarchon.runs", "{run}", "Runs that ended, by outcome.")
	counter(&i.takeovers, "anarchon.takeovers", "{run}", "Runs that this instance took over.")
	counter(&i.skips, "anarchon.skips", "{slot}", "Slots that this instance did not run, by reason.")
	counter(&i.unconfirmed, "anarchon.unconfirmed", "{run}", "Running handlers whose lease ran out unrenewed.")
	counter(&i.stuck, "anarchon.stuck", "{run}", "Handlers that ignored their cancelled context past the stop timeout.")
	counter(&i.claims, "anarchon.claims", "{claim}", "Answered claims, by verdict.")
	counter(&i.outages, "anarchon.store.outages", "{outage}", "Times that the store began to fail.")
	counter(&i.pluginStarts, "anarchon.plugin.starts", "{start}", "Times that the plugin's process became ready.")
	counter(&i.pluginFailures, "anarchon.plugin.failures", "{failure}", "Times that the plugin died, hung or did not start.")
	counter(&i.dropped, "anarchon.events.dropped", "{event}", "Events that were lost because telemetry was too slow.")
	i.active, err = m.Int64UpDownCounter("anarchon.runs.active", metric.WithUnit("{run}"), metric.WithDescription("Runs whose handler runs in this instance."))
	errs = append(errs, err)
	i.lastSuccess, err = m.Float64Gauge("anarchon.job.last_success", metric.WithUnit("s"), metric.WithDescription("When a run of the job last ended well, Unix time, as far as this instance knows."))
	errs = append(errs, err)
	histogram(&i.duration, "anarchon.run.duration", "Time from a handler's start to its end.", runBounds)
	histogram(&i.lateness, "anarchon.start.lateness", "Time from a slot to its handler's start.", latenessBounds)
	histogram(&i.operation, "anarchon.store.operation.duration", "Time that a call to the store took.", operationBounds)
	histogram(&i.margin, "anarchon.lease.margin", "What was left of a lease when its renewal was answered.", marginBounds)
	return i, errors.Join(errs...)
}
