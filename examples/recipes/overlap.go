package recipes

import (
	"time"

	"github.com/anarchon-go/anarchon/core"
)

// oneAtATime is the default: while a run is held, slots of the job are skipped, with an
// event each. They are not queued.
func oneAtATime(crawl core.Handler) core.Job {
	return core.Job{Name: "crawl", Schedule: core.Every(time.Minute), Handler: crawl, Timing: core.Timing{
		Lease: 20 * time.Second, // well below the interval: a crash is noticed before the next slot
	}}
}

// sideBySide runs each slot although the one before still runs.
func sideBySide(probe core.Handler) core.Job {
	return core.Job{Name: "probe", Schedule: core.Every(time.Minute), Handler: probe, Timing: core.Timing{
		Lease:   20 * time.Second,
		Overlap: core.Allow,
	}}
}
