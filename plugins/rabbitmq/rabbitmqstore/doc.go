// Package rabbitmqstore is a claim-only backend on RabbitMQ.
//
// One stream queue per namespace is the log of all claims. A claim is appended
// to it, and the first claim of a slot in the log wins: the broker's order
// decides, and every plugin reads the same order. A claim is answered when it
// comes back to its writer, so the writer has read everything before it; the
// record of the winner, running, is that same message. A finish is a message
// too. Nothing is ever consumed, changed or taken back.
//
// What was read is kept in a [book], bounded by the memory of slots and the
// size of histories. The broker's clock decides how much of the log there is at
// a start; afterwards the book alone forgets, by a rule that does not trust the
// speed at which messages arrive (see [book.horizon]).
//
// The files: record.go and names.go say how things are laid out; book.go,
// history.go and drift.go decide and do no I/O; session.go is one connection,
// attach.go its beginning, write.go and deliver.go its two directions, and
// link.go keeps one session after the other alive; verbs.go and backend.go are
// what the SDK calls. See docs/rabbitmq.md for what the broker must be, and
// docs/adr/0008-rabbitmq-stream.md for why it is a stream.
package rabbitmqstore
