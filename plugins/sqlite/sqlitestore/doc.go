// Package sqlitestore is a lease backend on one SQLite file: every instance of
// a service on one host opens the same file.
//
// Each verb is one transaction that takes the write lock before it reads
// (BEGIN IMMEDIATE), reads SQLite's clock, lets a pure function decide on the
// rows, writes what changed and commits to the disk. A batch is one transaction
// with a savepoint per item. See docs/protocol.md for the rules.
//
// The files: decide_*.go and state.go decide and do no I/O; load.go and save.go
// are the I/O of a step, writer.go its transaction; sql/ has all SQL of the
// verbs; reader.go and recall.go answer recalls beside the writer; connect.go,
// format.go, path.go and filesystem.go are the checks at the start.
//
// It needs cgo. Without it the package builds, and its backend can't be
// configured.
package sqlitestore
