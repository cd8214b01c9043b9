// Command mybackend is a backend to copy: a plugin that keeps a service's jobs in
// plain files, for instances on one host. It is small, complete, and passes the
// conformance suite; docs/writing-a-backend.md builds it step by step.
package main

import "github.com/anarchon-go/anarchon/storekit"

// Serve does all that a plugin's process owes its host: handshake, signals, log,
// and the end.
func main() { storekit.Serve(New) }
