// Package natsstore is a claim-only backend on NATS JetStream.
//
// A claim is one message on the subject of its slot, published with the demand
// that the subject has no message yet: the server stores it for exactly one of
// all claimers. The message is the record of the run, its sequence gives the
// fencing token, and the server's memory of the slot is that message and nothing
// else, so a restart forgets nothing. A finish is a second message on the subject,
// with the demand that the claim is the last one there.
//
// Two streams per namespace. The claims stream drops messages by age only, and
// so remembers every slot for the window. The history stream is filled by the
// server itself, from the claims stream: a record that was stored reaches it
// whatever happens to the claimer. It keeps the last message of each slot, and
// is cut to the history size by this package.
//
// The files: subject.go, streams.go and record.go say how things are laid out,
// decide.go and drift.go decide and do no I/O; link.go carries requests, connect.go
// keeps it connected, and api.go asks JetStream; claim.go, finish.go and history.go
// are the verbs; setup.go is the start, and home.go the start again when streams
// are gone. See docs/nats.md for what the server must be.
package natsstore
