// Package history writes down what callers of a store saw, and judges it: is
// there an order of these calls, each somewhere between its call and its return,
// in which a store that follows the rules gives these answers?
//
// A [Recorder] makes a [History] of the calls of any number of processes. It can
// be saved ([History.Write]), read ([Read]) and judged ([Judge]), now or in a
// year. A history that breaks the rules is made small ([Minimise]) and drawn, as
// text ([Ladder]) and as a page ([HTML]).
//
// # How it is judged
//
// The orders are searched by porcupine, job by job, since no rule joins two
// jobs. Package core/model says what a lease store may answer.
//
// Time. Every answer of a lease store carries the store's now, so a lease is
// judged by the times that the store itself says, however slow this machine is:
// the model is asked at exactly that time. Stores count more finely than
// milliseconds, so where a lease ends in the very millisecond of a call both
// are right, and a time or a rest of a lease may be a millisecond off
// ([tolerance]). The nows need not rise: a store whose clock goes back is judged
// by the rule for it.
//
// Calls without an answer. A call whose answer was lost may have taken effect
// or not, at any time after it was sent. When it can have been, the rest of the
// history tells: each grant and each end leaves its time in the job's history, a
// renewal shows in the leases that others are told of. So an unanswered call is
// judged as one that did nothing or did its work at one of these times; see
// [Op.Maybe]. That needs the job's whole history, read after everything else. If
// that is missing where it is needed, the verdict is [Unknown], and so it is if the
// search takes too long. Unknown is not a pass.
//
// What is read changes nothing. Calls that surely did nothing, and those that
// were invalid, are not judged. What the protocol leaves open is accepted: a
// fingerprint or the status of a finished run that was forgotten, tokens that rise
// by more than they have to, which of several runs in the way is named.
//
// A claim-only store has no leases and maybe no clock. Its runs do not touch one
// another, and are judged one by one.
package history
