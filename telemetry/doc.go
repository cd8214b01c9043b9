// Package telemetry gives OpenTelemetry metrics and traces of a scheduler. Nothing
// else imports it: a service that wants none does not carry it.
//
//	tel, err := telemetry.New(telemetry.Config{}) // the global providers
//	plugin, err := storekit.Open(ctx, storekit.Plugin{Name: "redis", OnEvent: tel.OnPluginEvent, …})
//	s, err := core.New(tel.Store(plugin), core.Options{OnEvent: tel.OnEvent})
//	err = s.Add(core.Job{Handler: tel.Handler(send), …})
//
// Each of the four connections may be left out; what it feeds is then missing.
//
// # Metrics
//
// Durations are in seconds. The attribute anarchon.job.name is on all that belong to a
// job, unless [Config.NoJobNames] is set.
//
//	anarchon.runs                      ended runs; anarchon.outcome: success, failed, handed_over,
//	                                   interrupted, lost, unrecorded
//	anarchon.job.last_success          when a run of the job last ended well, Unix time, as far as
//	                                   this instance knows: by its own runs, and by
//	                                   [Telemetry.Seed] from the store; always by job
//	anarchon.runs.active               runs whose handler runs, in this instance
//	anarchon.run.duration              from handler's start to its end; anarchon.outcome
//	anarchon.start.lateness            from slot to handler's start; anarchon.reason: scheduled,
//	                                   catch-up, takeover
//	anarchon.takeovers                 runs that this instance took over
//	anarchon.skips                     slots that this instance did not run; anarchon.reason as
//	                                   core.SkipReason; slots skipped together count once
//	anarchon.unconfirmed               running handlers whose lease ran out unrenewed
//	anarchon.stuck                     handlers that ignored their context past the stop timeout
//	anarchon.store.operation.duration  of a call; anarchon.store.operation, and error.type
//	                                   (invalid, not_applied, unknown) if it failed
//	anarchon.claims                    answered claims; anarchon.verdict
//	anarchon.lease.margin              how much of a lease was left when its renewal was answered
//	anarchon.store.outages             times that the store began to fail
//	anarchon.plugin.starts             times that the plugin's process became ready
//	anarchon.plugin.failures           times that it died, hung or did not start
//	anarchon.events.dropped            events that were lost because telemetry was too slow
//
// # Traces
//
// [Telemetry.Handler] makes a span per run, which the handler's context carries: what
// it calls becomes its children. The span is named "run JOB" and says slot, attempt,
// token and reason; an error or a panic makes its status Error, and the cause of a
// cancelled context is an event of it.
package telemetry
