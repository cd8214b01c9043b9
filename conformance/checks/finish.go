package checks

import (
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/promise"
	"github.com/anarchon-go/anarchon/core/store"
)

// finish: how attempts end, and what is kept of it.
func finish() []kit.Check {
	return []kit.Check{{
		ID:       "finish/recorded",
		Promises: []string{"R-FINISH-1", "R-HISTORY-1", "R-HISTORY-3"},
		Says:     "success, failed and interrupted are recorded with their error text and the time of the end, and every other process reads them so at once",
		Causes:   "the error text is kept for failed only; the end is not written",
		Needs:    kit.NeedHistory,
		Do:       recorded,
	}, {
		ID:       "finish/repeated",
		Promises: []string{"R-FINISH-2"},
		Says:     "a finish repeated with the same outcome is recorded again and changes nothing, not even the error text; with another outcome it is lost",
		Causes:   "the repeat of a lost answer is refused; the last word wins",
		Applies:  promise.Lease,
		Needs:    kit.NeedHistory,
		Do:       repeated,
	}, {
		ID:       "finish/failed-is-over",
		Promises: []string{"R-FINISH-5", "R-CLAIM-4"},
		Says:     "a failed run is over: whoever claims it is told finished, failed, although attempts are left",
		Causes:   "failed runs are tried again like crashed ones",
		Do:       failedIsOver,
	}, {
		ID:       "finish/error-text",
		Promises: []string{"R-FINISH-6", "R-FINISH-1"},
		Says:     "error texts of up to 2000 characters are kept whole, longer ones cut after 2000 characters and never inside one; NUL and what is not UTF-8 read as U+FFFD",
		Causes:   "2000 bytes instead of characters; a cut inside a character; a column or a message that refuses NUL or invalid UTF-8",
		Needs:    kit.NeedHistory,
		Do:       errorText,
	}}
}

func recorded(r *kit.Run) {
	p := r.Open(2)
	for _, o := range []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted} {
		job := r.Job(o.String())
		g := p[0].Win(r.Ask(job, 0, "a"))
		r.Sleep(time.Duration(100+r.IntN(100)) * time.Millisecond)
		text := "why it ended as " + o.String() + ": \"ünïcödé\"\n\tsecond line"
		end := p[0].Record(g, o, text)
		a := wantAttempt(r, p[1], job, g, o.Status(), false)
		if a.Error != text {
			r.Fatalf("the error text of an attempt that ended as %v reads %q; want %q", o, a.Error, text)
		}
		if r.Description().Clock == store.ClockStore {
			if a.StartedAt != g.Now && !near(a.StartedAt, g.Now) || a.EndedAt != end.Now && !near(a.EndedAt, end.Now) {
				r.Fatalf("the attempt started at %d and ended at %d by the store's now; it reads %d and %d", g.Now, end.Now, a.StartedAt, a.EndedAt)
			}
		}
	}
}

// near allows for a store that reads its clock once more than it must.
func near(a, b int64) bool { return a-b <= 2 && b-a <= 2 }

func repeated(r *kit.Run) {
	p := r.Open(2)
	outcomes := []store.Outcome{store.OutcomeSuccess, store.OutcomeFailed, store.OutcomeInterrupted, store.OutcomeReleased}
	for _, o := range outcomes {
		job := r.Job(o.String())
		g := p[0].Win(r.Ask(job, 0, "a"))
		p[0].Record(g, o, "first")
		before := p[1].History(job)
		again := func(when string) {
			r.Sleep(kit.Slack / 2)
			p[1].Record(g, o, "second")
			wantUntouched(r, p[0], job, before, "a repeated finish "+when)
			for _, other := range outcomes {
				if other != o {
					p[0].FinishLost(g.End(other, "third"), when)
				}
			}
			wantUntouched(r, p[1], job, before, "a finish with another outcome "+when)
		}
		again("after " + o.String())
		if o == store.OutcomeReleased {
			next := p[1].Win(g.Next("b"))
			before = p[1].History(job)
			again("after the next attempt was granted")
			p[0].Record(next, store.OutcomeSuccess, "")
			before = p[1].History(job)
			again("after the next attempt succeeded")
		}
	}
}

func failedIsOver(r *kit.Run) {
	p := r.Open(2)
	g := p[0].Win(r.Ask(r.Job("j"), 0, "a"))
	p[0].Record(g, store.OutcomeFailed, "no luck")
	for _, c := range p {
		for _, after := range []int{1, 0} {
			req := g.Next("b")
			req.After, req.MaxAttempts = after, 100
			a := c.Refused(req, store.VerdictFinished)
			if a.Status != store.StatusFailed && r.Leases() {
				r.Fatalf("the run failed; finished says %v", a.Status)
			}
		}
	}
}

// errorTexts are texts near the limits, and texts that are hard to keep.
func errorTexts() []string {
	const most = store.MaxErrorLength
	texts := []string{
		"", " ", "x", "NUL \x00 inside", "\x00", "not UTF-8: \xff\xfe", "cut character: \xe2\x82", "'; DROP TABLE runs; --", "{\"json\":\"\\u0000\"}",
		"line\r\nline\u2028line", "\ufeffbom", "\ufffd", strings.Repeat("x", 100_000),
	}
	for _, char := range []string{"x", "é", "€", "😀", "\x00", "\xff"} {
		for _, n := range []int{most - 1, most, most + 1} {
			texts = append(texts, strings.Repeat(char, n))
		}
		// Bytes and characters part ways by one, right at the limit.
		texts = append(texts, "é"+strings.Repeat("x", most-2)+char+"tail", "x"+strings.Repeat(char, most+5))
	}
	return texts
}

func errorText(r *kit.Run) {
	p := r.Open(2)
	job := r.Job("j")
	for slot, text := range errorTexts() {
		g := p[0].Win(r.Ask(job, slot, "a"))
		p[0].Record(g, store.OutcomeFailed, text)
		newest := p[1].HistoryPage(store.HistoryRequest{Job: job, Limit: 1}).Attempts
		if len(newest) != 1 || newest[0].Slot != g.Req.Slot {
			r.Fatalf("the newest attempt of the history is not the one that just ended: %+v", newest)
		}
		if got, want := newest[0].Error, store.CutError(text); got != want {
			r.Fatalf("an error text of %d bytes and %d characters, %.40q…, reads back as %d bytes and %d characters, %.40q…; want %d bytes and %d characters",
				len(text), len([]rune(text)), text, len(got), len([]rune(got)), got, len(want), len([]rune(want)))
		}
	}
}
