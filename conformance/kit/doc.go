// Package kit runs conformance checks against a store and says what came of
// each. It knows nothing of testing.T, of plugins or of any rule of the
// protocol: a [Check] is the rule, a [Subject] is what is judged, a [Suite]
// brings the two together.
//
// # Writing a check
//
// A check is a function of a [Run]. It takes job names from [Run.Job], processes
// from [Run.Open] and requests from [Run.Ask], calls the store through a
// [Client], and ends with [Run.Fatalf] when it saw the rule broken. Returning is
// passing. Rules for authors:
//
//   - Judge times by intervals. A grant happened somewhere between the call and
//     the return, so its lease ends between [Grant.HoldsUntil] and
//     [Grant.OverBy]; a slow machine widens the interval and never breaks a
//     right store. Use a long lease wherever none has to end.
//   - Own state only: other checks run beside this one in the same store.
//   - Wait with [Run.Sleep] and friends, never for a fixed number of polls; draw
//     from [Run.Rand] only, so that the seed repeats it.
//   - A check proves something only if a store that breaks its rule fails it.
//     Add that store to package mutants.
//
// # Outcomes
//
// [Pass]; [Skip], the subject declares that it can't; [Disabled], the person who
// started the run turned it off; [Fail], the subject broke the rule; [Error],
// the check can't tell, because the kit or the surroundings broke or a call
// never returned. Only the first is good news.
package kit
