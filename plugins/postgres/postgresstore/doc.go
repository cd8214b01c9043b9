// Package postgresstore is a lease backend on a PostgreSQL database, typically
// the one that a service already has.
//
// Each verb is one call of one PL/pgSQL function, an autocommit statement: one
// round trip, whatever the size of the batch. The function locks the rows of the
// batch's jobs, all batches in the same order, and then reads the server's clock
// and judges each item; see docs/protocol.md for the rules.
//
// The files: sql/1 has the tables and functions; their names carry a version, so
// that plugins of different versions can share a database. claim.go, renew.go
// and recall.go carry the verbs to the functions and back; call.go makes the
// call and errors.go classes what went wrong; connect.go and connstring.go
// connect; setup.go makes what is missing; facts.go, check.go and rights.go are
// the checks at the start.
package postgresstore
