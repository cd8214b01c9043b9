// Package model is the protocol as a program: an executable form of the rules
// that every store must follow. It imports the standard library only.
//
// [Job] holds the rules themselves, for one job: pure state with one method per
// verb, no clock, no I/O, no locks. The simulation steps it, and a checker
// explores histories with it. [Store] is a [store.Store] over many jobs, in
// memory, with a clock of the caller's choice: for simulations and for the
// tests of services that embed the scheduler. [ClaimOnly] makes it a claim-only
// store.
//
// # The order of the rules
//
// [Job.Claim] visits rules 1 to 8 in the order of docs/protocol.md, and the
// numbers in its comments are those of that page. Each rule is there because
// leaving it out breaks a promise; the scripts under testdata tell for each rule
// the story that goes wrong without it.
//
// # What the protocol leaves open, and what the model does
//
// A backend may differ here, and a checker must allow it:
//
//   - A claim id is remembered with the last attempt of an unfinished run.
//     While it is, the id is refused with another job, slot or instance; an id
//     whose run ended is forgotten.
//   - History size and fingerprint are those of the last claim of the job that
//     was judged, granted or not. A repeat (rule 1) is not judged, an invalid
//     claim neither, and a claim that is refused leaves nothing behind in a job
//     that had no grant yet. A backend may keep them with grants only.
//   - Recall of unfinished runs cuts leases as every call does (the store's
//     clock went back). A backend may cut in the answer only, and at the next
//     call that writes.
//   - History is trimmed at once, by the claim or finish after which there is
//     too much of it.
//   - History size counts ended runs; unfinished runs come on top.
//   - Of several leases in the way (rule 6) the oldest slot is named.
//   - A duration too long for [time.Duration] (a claim for the year 9999) is
//     answered as the longest one.
//   - An attempt that was taken over or closed reads interrupted, so a Finish
//     that reports interrupted for it is a repeat of what stands: recorded.
//
// # Faults
//
// [Fault] names ways to be wrong, one at a time. They are for testing tests: a
// suite that passes a store with a fault switched on has a hole.
package model
