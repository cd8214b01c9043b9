// Package conformance proves that a store keeps the protocol's promises, or
// catches it breaking them.
//
// From a checkout of this repository, in its root:
//
//	go test ./conformance -plugin=./plugins/sqlite
//
// The plugin's directory is built first; a built plugin may be given instead.
// Flags, after the package:
//
//	-plugin DIR_OR_BINARY  what is judged
//	-variant NAME          of the plugin's conformance.yaml
//	-config key=value      an option of the plugin, over the variant's; repeatable
//	-report DIR            write conformance.json and junit.xml, and what checks leave:
//	                       the history of one that failed, to be judged again, and a page
//	-seed N                repeat the random draws of an earlier run
//	-run TestConformance/lease/length
//	                       one check, or one family without the last part
//	-v                     each check's figures; needed to see the progress, and
//	                       what ran, if the output goes to a file
//
// Authors with a module of their own call [Run] from a test. Without -plugin the
// package's tests test the kit itself: the model of the rules must pass every
// check, and every faulty one of package mutants must be caught.
//
// # What a run proves
//
// A check that fails on a store that keeps the protocol is a bug of this kit:
// please report it. The reverse does not hold. A pass means that the rule held
// wherever the check looked, not that it holds always; races are looked for with
// real concurrency and a good deal of luck. Not covered are what only happens to
// hardware and clusters: power loss, failover between nodes, reads from
// replicas, clocks that jump.
//
// # The verdict
//
// Each check ends as pass, skip, disabled, fail or error (package kit). The
// verdict compares what ran with the list of checks that a backend of this kind
// must pass (package verdict). A check that is missing, that ran without being
// on the list, or that was skipped for a reason that the list does not name,
// fails the run. A run of a selection (-run, -skip) can only be partial.
//
// # Where things are
//
//	promise   the promises of docs/protocol.md, numbered
//	checks    the checks, one file per family; each cites promises
//	kit       the runner, and how to write a check
//	subject   what is judged: finding, building and opening plugins
//	session   one run from end to end, for go test and for commands
//	verdict   the lists of expected checks, and the judgement
//	report    table, JSON, JUnit
//	mutants   stores with one fault each, and the check that must catch it
//	history   what many callers saw: recorded, judged as a whole, made small, drawn
package conformance
