// Package hostprog is a small service that embeds core: it runs jobs that only
// take time, and says on its standard output, one JSON object a line, what it
// asks the store, what the store answers, and what happens to its runs.
//
// The demo, the failure scenarios and tests start it as processes of their own,
// to be killed, frozen and stopped like a real service.
package hostprog
