package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

var zero = time.UnixMilli(1_800_000_000_000)

// ms is a time after time zero.
func ms(n int64) time.Time { return zero.Add(time.Duration(n) * time.Millisecond) }

// calmRecord is a record in which A runs a slot, is killed in the next one, which B
// takes over.
func calmRecord() *Record {
	line := func(at int64, who, what string, slot int64, attempt int, token int64, more ...func(*hostprog.Line)) hostprog.Line {
		l := hostprog.Line{At: ms(at), Instance: who, What: what, Job: "j", Slot: ms(slot).UnixMilli(), Attempt: attempt, Token: token}
		for _, f := range more {
			f(&l)
		}
		return l
	}
	won := func(l *hostprog.Line) {
		l.Answer, l.Reason, l.Left, l.Took = "won", "scheduled", 4*time.Second, time.Millisecond
	}
	finish := func(l *hostprog.Line) { l.Answer, l.Reason, l.Took = "recorded", "success", time.Millisecond }
	up := func(at int64, who string) hostprog.Line {
		return hostprog.Line{At: ms(at), Instance: who, What: "ready"}
	}
	return &Record{
		Store:  store.Description{Kind: store.KindLease, Fenced: true, Clock: store.ClockStore},
		Timing: Short, Zero: zero,
		Lines: []hostprog.Line{
			up(-2000, "A"), up(-2000, "B"),
			line(100, "A", "claim", 0, 1, 10, won),
			line(100, "A", "started", 0, 1, 10),
			line(1100, "A", "finish", 0, 1, 10, finish),
			line(1101, "A", "succeeded", 0, 1, 10),
			line(10_100, "A", "claim", 10_000, 1, 20, won),
			line(10_100, "A", "started", 10_000, 1, 20),
			line(14_200, "B", "claim", 10_000, 2, 30, won),
			line(14_200, "B", "started", 10_000, 2, 30),
			line(15_200, "B", "finish", 10_000, 2, 30, finish),
			line(15_201, "B", "succeeded", 10_000, 2, 30),
			line(20_000, "B", "skipped", 20_000, 0, 0, func(l *hostprog.Line) { l.Reason, l.Last = "late", l.Slot }),
		},
		Acts: []Act{
			{ms(-2100), "A", "start"}, {ms(-2100), "B", "start"},
			{ms(10_500), "A", "kill -9"}, {ms(10_500), "A", "ended"},
			{ms(60_000), "B", "SIGTERM"}, {ms(60_000), "B", "ended"},
		},
		History: map[string][]store.Attempt{"j": {
			{Slot: ms(0).UnixMilli(), Attempt: 1, Token: 10, Instance: "A-1", Reason: store.ReasonScheduled, Status: store.StatusSuccess, StartedAt: ms(99).UnixMilli(), EndedAt: ms(1099).UnixMilli()},
			{Slot: ms(10_000).UnixMilli(), Attempt: 1, Token: 20, Instance: "A-1", Reason: store.ReasonScheduled, Status: store.StatusInterrupted, StartedAt: ms(10_099).UnixMilli(), EndedAt: ms(14_199).UnixMilli()},
			{Slot: ms(10_000).UnixMilli(), Attempt: 2, Token: 30, Instance: "B-1", Reason: store.ReasonTakeover, Status: store.StatusSuccess, StartedAt: ms(14_199).UnixMilli(), EndedAt: ms(15_199).UnixMilli()},
		}},
	}
}

func sortLines(r *Record) {
	slices.SortStableFunc(r.Lines, func(a, b hostprog.Line) int { return a.At.Compare(b.At) })
}

// TestChaosIsJudged bends a record that breaks no rule, one fault at a time.
func TestChaosIsJudged(t *testing.T) {
	line := func(r *Record, at int64, what string) *hostprog.Line {
		for i := range r.Lines {
			if r.Lines[i].At.Equal(ms(at)) && r.Lines[i].What == what {
				return &r.Lines[i]
			}
		}
		t.Fatalf("no line %q at %d", what, at)
		return nil
	}
	for _, c := range []struct {
		name string
		bend func(*Record)
		late []store.UnfinishedRun
		want string // in a violation; "" for none
	}{
		{name: "nothing is wrong", bend: func(*Record) {}},
		{name: "two winners", want: "two winners", bend: func(r *Record) {
			l := *line(r, 100, "claim")
			l.At, l.Instance, l.Token = ms(200), "B", 11
			r.Lines = append(r.Lines[:4], append([]hostprog.Line{l}, r.Lines[4:]...)...)
		}},
		{name: "history names another winner", want: "history says B-1", bend: func(r *Record) { r.History["j"][0].Instance = "B-1" }},
		{name: "a win that history lost", want: "history does not know it", bend: func(r *Record) { r.History["j"] = r.History["j"][:2] }},
		{name: "a token that does not rise", want: "got token 10", bend: func(r *Record) {
			line(r, 10_100, "claim").Token = 10
		}},
		{name: "a grant that was told twice", bend: func(r *Record) {
			l := *line(r, 10_100, "claim")
			l.At = ms(10_200)
			r.Lines = append(r.Lines, l)
			sortLines(r)
		}},
		{name: "another instance's token", want: "got token 20", bend: func(r *Record) {
			line(r, 14_200, "claim").Token = 20
		}},
		{name: "a success that history does not know", want: "history says failed", bend: func(r *Record) { r.History["j"][0].Status = store.StatusFailed }},
		{name: "a takeover before the lease is over", want: "before the lease of attempt 1 was over", bend: func(r *Record) {
			l := line(r, 14_200, "claim")
			l.At = ms(13_000)
		}},
		{name: "two leases of a skip job", want: "while A held slot +0s", bend: func(r *Record) {
			r.History["j"][0].EndedAt = ms(11_000).UnixMilli()
			line(r, 100, "claim").Left = 20 * time.Second
			line(r, 1100, "finish").At = ms(11_000)
		}},
		{name: "an answer that came late", bend: func(r *Record) {
			l := line(r, 10_100, "claim")
			l.At, l.Took, l.Left = ms(14_500), 4500*time.Millisecond, 4*time.Second // it was asked at +10s
			sortLines(r)
		}},
		{name: "a grant asked for again after another one", bend: func(r *Record) {
			lost := *line(r, 10_100, "claim")
			lost.Answer, lost.Token, lost.Attempt, lost.Error = "", 0, 0, "outcome unknown"
			l := line(r, 10_100, "claim")
			l.At, l.Took, l.Left = ms(14_300), 200*time.Millisecond, 0 // answered before B was
			r.Lines = append(r.Lines, lost)
			sortLines(r)
		}},
		{name: "an unproven success", bend: func(r *Record) {
			r.History["j"][2].Status = store.StatusInterrupted
			line(r, 15_201, "succeeded").Unproven = true
		}},
		{name: "a slot that nobody speaks of", want: "slot +20s did not run, and nobody said why", bend: func(r *Record) { r.Lines = r.Lines[:len(r.Lines)-1] }},
		{name: "a slot for which nobody was up", bend: func(r *Record) {
			r.Lines = r.Lines[:len(r.Lines)-1]
			r.Acts = append(r.Acts[:4], Act{ms(21_000), "B", "kill -9"}, Act{ms(21_000), "B", "ended"})
		}},
		{name: "a run that never ends", want: "still running two leases", bend: func(*Record) {}, late: []store.UnfinishedRun{{Job: "j", Slot: ms(0).UnixMilli(), Holder: "A-1"}}},
		{name: "an instance that dies by itself", want: "B ended by itself", bend: func(r *Record) { r.Acts[4].What = "start-ish" }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &ChaosResult{Record: calmRecord(), Length: 21 * time.Second}
			c.bend(r.Record)
			p := &Play{zero: zero, dir: t.TempDir(), jobs: []hostprog.Job{{Name: "j", Every: 10 * time.Second, First: zero.UnixMilli(), Count: 10, Overlap: "skip"}}}
			r.judge(p, c.late)
			got := strings.Join(r.Violations, "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("violations %q; want one with %q", got, c.want)
			}
		})
	}
}
