// Package store is the protocol between the scheduler and the store that its
// instances share: the types, the errors and [Store], the interface that core
// consumes. It imports the standard library only and decides nothing.
//
// # Duties of an implementation
//
// A store answers "may I execute this run?" for many instances at once. An
// implementation must
//
//   - decide each [Store.Claim], [Store.Heartbeat] and [Store.Finish] in one
//     atomic step in the store: two callers never see the same state and both
//     act on it;
//   - judge leases and lateness on the store's clock, never on its own or on
//     the caller's;
//   - answer a repeated claim (same claim id, attempt still open) with the same
//     grant, so that a lost answer can be asked for again;
//   - tell what surely did not happen ([ErrInvalid], [ErrNotApplied]) from what
//     may have happened ([ErrUnknown]), and never resend on its own;
//   - never renew a lease that nobody asked it to renew.
//
// The rules, numbered, are in docs/protocol.md; package model is an executable
// form of them, and package conformance proves an implementation against them.
//
// # What the protocol does not promise
//
// Exactly-once execution: a runner may crash half way, and a frozen one may wake
// and go on for a moment. The fencing token protects what checks it.
//
// # Time
//
// A slot and every absolute time are integers of Unix milliseconds. Durations
// travel as whole milliseconds; a fraction of one is dropped. Only the store's
// answers carry absolute store times.
package store
