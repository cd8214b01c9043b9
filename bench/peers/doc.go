// Command peers lets other schedulers for Go services do the same work as anarchon, one after the other on the same machine, and
// prints what came of it as the tables of docs/benchmarks.md.
//
// The work: so many jobs are due at once, on three instances, each a process of its own. A handler notes when it was started and
// sleeps. After a slot to warm up, some slots are measured: how often each (job, slot) ran, how long after the slot it started, and
// what that cost the store and the instances. Each subject has a fresh server, the same for all. A second part lets many jobs wait in
// one process, and measures what one more of them takes.
//
// Each peer is set up as its own documents advise; the file of that name says where.
//
// It needs Linux (/proc) and a Docker engine with the images of `make images`.
package main
