package recipes

import (
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/cron"
)

// nightly is a job whose run is made up for in the morning if the night was missed, but
// not in the afternoon: by then tonight's run is near. It runs once, however many nights
// were missed.
func nightly(send core.Handler) core.Job {
	return core.Job{
		Name:     "invoices/nightly",
		Schedule: cron.MustParse("30 2 * * *", time.UTC),
		Handler:  send,
		Timing:   core.Timing{CatchUp: 8 * time.Hour},
	}
}

// reminder is a job that must not run late: one that was missed is left out, also on
// the first deploy.
func reminder(send core.Handler) core.Job {
	return core.Job{
		Name:     "reminders",
		Schedule: core.Every(time.Hour),
		Handler:  send,
		Timing:   core.Timing{CatchUp: core.Disabled, MaxLate: 5 * time.Minute},
	}
}
