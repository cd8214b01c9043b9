// Package core is the scheduler that a service embeds. Every instance of the
// service adds the same jobs; for each job and each planned time one of them runs
// it. Nobody is elected and nothing else is deployed: the store that the service
// already has is the coordinator, reached through a plugin (see package storekit)
// or any other [store.Store].
//
//	s, err := core.New(plugin, core.Options{})
//	err = s.Add(core.Job{Name: "invoices/nightly", Schedule: cron.MustParse("30 2 * * *", athens), Handler: send})
//	err = s.Run(ctx) // until ctx is done; then running jobs are handed over
//
// # Your duties
//
//   - Make handlers idempotent. A run can be executed more than once: a runner may
//     crash half way, and a frozen one may wake and go on for a moment. Job and
//     slot are the key of the work ([Run.Job], [Run.Slot]); [Run.Token] rises with
//     every grant of the job, for resources that can refuse a smaller one.
//   - Watch the handler's context and return soon when it is done. Its cause says
//     why: [ErrLost], [ErrUnconfirmed], [ErrTimeout], [ErrStopped].
//   - Work with the slot, not with the time of day: it is the same on every
//     attempt and on every instance.
//   - Add the same jobs on all instances, with the same schedules and the same time
//     zone rules. Names are keys in the store: a renamed job is another job.
//   - Choose a lease longer than any pause of a healthy instance, and run NTP.
//   - End the context given to [Scheduler.Run] and wait until it returns before you
//     close the store. That is what hands runs over.
//
// # What is not promised
//
//   - Exactly once. One instance wins each attempt; there can be several attempts.
//   - That every slot runs. A slot is skipped, with a [Skipped] event that says why,
//     while the run before it is held, when it is too late, when the store cannot be
//     reached until it is too late, or when a newer slot was granted first. A job
//     works on whatever is pending; it is no queue.
//   - Exact starts: a run starts between its slot and slot + jitter, or later if its
//     claim is delayed; a scheduled first attempt never later than max late, and 10 s
//     of tolerance for clocks, after its slot.
//   - Order between jobs.
//   - A second try of a run that failed. An error ends the run; the next slot is the
//     next try.
//   - Anything beyond the claim on a claim-only backend: there a run whose runner
//     dies is lost, and runs of a job may overlap.
//
// # The model
//
// A slot is a planned time of a job, in Unix milliseconds, the same on every
// instance: schedules are pure functions of time. A run is one (job, slot).
//
// A claim asks the store, in one atomic step: may I execute this run? When a slot
// falls due each instance waits a random part of the jitter and claims. One is
// granted the run; the others hear who has it. A claim whose answer was lost is
// asked again under the same claim id, and never taken for a yes or a no.
//
// A grant is an attempt, numbered from 1, under a lease: the time for which it is
// protected. The runner renews it each heartbeat. If it stops, the lease ends and
// another instance, which watched it, takes the run over as the next attempt. An
// instance that stops in good order releases its runs, and such an attempt does not
// count. The run ends when an attempt is finished, or out of attempts.
//
// A fencing token comes with each grant and is greater than every one before it.
// What a stale runner still says to the store is refused by its token.
//
// # How it fits together
//
// [Scheduler] is a thin driver: one goroutine, one timer, the calls to the store,
// the handlers. It decides nothing. Every decision is made by a pure machine, which
// is told what happened and when, and answers with what to do; so what it does can
// be read in the stories of testdata, and is played through in a simulation of many
// instances with skewed clocks, crashes and lost messages. What happens is told as
// typed [Event] values, in order, and logged.
//
// Package store is the protocol between core and a backend, package model the same
// as a program, package cron schedules from cron expressions, and package coretest
// helps to test jobs. Package core and all below it import the standard library
// only.
package core
