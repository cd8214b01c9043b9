// Package redisstore is a backend on Redis or Valkey, in four strategies: lease
// has all verbs; stream-id, idmp and script are claim-only.
//
// Each verb is one Lua script, and so one atomic step in the server, on the
// server's clock. A batch is one pipeline of them. See docs/protocol.md for the
// rules, and the files of lua/ for how they are kept.
//
// The files: strategy.go chooses the scripts and makes their arguments,
// answer.go and record.go read what they answer; send.go sends, connect.go
// connects, errors.go says what an error means; server.go, rights.go and
// format.go are the checks at the start.
package redisstore
