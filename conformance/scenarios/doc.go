// Package scenarios plays failures with real processes on real stores: instances
// that embed core are killed, frozen, stopped, cut off and started again, and what
// they and the store say is held against what each [Scenario] must show, on lease
// and on claim-only backends.
//
// A scenario is data: its jobs, a script of steps, and expectations. A [Play] of it
// leaves a [Record]: what the instances said, what was done to them, and the history
// of the store. Expectations judge the record; pictures and timelines are drawn from
// it. [Chaos] has no script: it breaks things at random and judges the record by
// rules.
//
// The instances are processes that run [HostMain]: whoever plays says how to start
// one, usually itself with another command line.
package scenarios
