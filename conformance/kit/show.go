package kit

import (
	"fmt"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// The texts of calls and answers in a failure. They leave out what is as ever.

func showClaim(q store.ClaimRequest) string {
	return fmt.Sprintf("claim %s after %d by %s id %.8s lease %v %v", showRun(q.Job, q.Slot), q.After, clip(q.Instance), q.ID, q.Lease, q.Overlap)
}

func showHeartbeat(q store.HeartbeatRequest) string {
	return fmt.Sprintf("heartbeat %s token %d lease %v", showRun(q.Job, q.Slot), q.Token, q.Lease)
}

func showFinish(q store.FinishRequest) string {
	s := fmt.Sprintf("finish %s token %d %v", showRun(q.Job, q.Slot), q.Token, q.Outcome)
	if q.Error != "" {
		s += fmt.Sprintf(" with an error text of %d bytes", len(q.Error))
	}
	return s
}

func showHistory(q store.HistoryRequest) string {
	s := fmt.Sprintf("history of %s limit %d", jobEnd(q.Job), q.Limit)
	if q.Page != "" {
		s += fmt.Sprintf(" page %q", clip(q.Page))
	}
	return s
}

func showClaimed(a store.ClaimAnswer) string {
	s := a.Verdict.String()
	switch a.Verdict {
	case store.VerdictWon:
		s += fmt.Sprintf(" attempt %d token %d left %v", a.Attempt, a.Token, a.Left)
	case store.VerdictRunning:
		s += fmt.Sprintf(" attempt %d of %s left %v", a.Attempt, clip(a.Holder), a.Left)
	case store.VerdictOverlap:
		s += fmt.Sprintf(" slot %d of %s left %v", a.Slot, clip(a.Holder), a.Left)
	case store.VerdictFinished:
		if a.Status != 0 {
			s += " " + a.Status.String()
		}
	case store.VerdictSuperseded:
		s += fmt.Sprintf(" by slot %d", a.Slot)
	case store.VerdictExhausted:
		s += fmt.Sprintf(" after %d", a.Attempt)
	case store.VerdictLate, store.VerdictEarly:
		s += fmt.Sprintf(" by %v", a.By)
	}
	return s + showNow(a.Now)
}

func showBeaten(a store.HeartbeatAnswer) string {
	if a.Renewed {
		return "renewed" + showNow(a.Now)
	}
	return "lost" + showNow(a.Now)
}

func showFinished(a store.FinishAnswer) string {
	if a.Recorded {
		return "recorded" + showNow(a.Now)
	}
	return "lost" + showNow(a.Now)
}

func showListed(a store.UnfinishedAnswer) string {
	return fmt.Sprintf("%d runs", len(a.Runs)) + showNow(a.Now)
}

func showPage(a store.HistoryAnswer) string {
	s := fmt.Sprintf("%d attempts", len(a.Attempts))
	if a.Next != "" {
		s += ", more at " + fmt.Sprintf("%q", clip(a.Next))
	}
	return s + showNow(a.Now)
}

func showNow(now int64) string {
	if now == 0 {
		return ""
	}
	return " @ " + store.Time(now).Format("15:04:05.000")
}

func showRun(job string, slot int64) string { return fmt.Sprintf("%s/%d", jobEnd(job), slot) }

// jobEnd is the part of a job's name that tells the jobs of one check apart.
func jobEnd(job string) string {
	return fmt.Sprintf("%q", clip(job[strings.LastIndexByte(job, ' ')+1:]))
}

func clip(s string) string {
	const most = 40
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + "…"
}

// Wait describes a stretch of time for a message, in whole milliseconds.
func Wait(d time.Duration) string { return d.Round(time.Millisecond).String() }
