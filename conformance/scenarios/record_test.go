package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestRecordRows(t *testing.T) {
	r := calmRecord()
	want := []string{"+0s #1 scheduled success", "+10s #1 scheduled interrupted", "+10s #2 takeover success"}
	if got := r.rows("j"); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	runs := r.runs("j")
	if len(runs) != 3 || runs[1].how != "kill -9" || !runs[1].end.Equal(ms(10_500)) || runs[2].how != "succeeded" {
		t.Errorf("got %+v", runs)
	}
	holds := r.holds()
	if len(holds) != 3 || !holds[0].released || !holds[0].to.Equal(ms(1099)) || holds[1].released || !holds[1].to.Equal(ms(14_099)) {
		t.Errorf("got %+v", holds)
	}
}

// TestExpectationsCanFail: each kind of expectation holds for the record that it is
// about, and not for a bent one.
func TestExpectationsCanFail(t *testing.T) {
	takeover := startedWithin("j", 2, "kill -9", Timing.takeover, "lease + 2 heartbeats")
	for _, c := range []struct {
		name string
		e    Expectation
		bend func(*Record)
	}{
		{"history", history("j", calmRecord().rows("j")...), func(r *Record) { r.History["j"][2].Status = store.StatusRunning }},
		{"log matches", logMatches("j"), func(r *Record) { r.History["j"][0].Instance = "B-1" }},
		{"within its bound", takeover, func(r *Record) { r.Acts[2].At = ms(10_500).Add(-Short.takeover() - Short.Margin) }},
		{"never early", neverEarly("j"), func(r *Record) { r.Lines[8].At = ms(13_000) }},
		{"one at a time", oneAtATime("j"), func(r *Record) { r.Acts[2].At, r.Acts[3].At = ms(14_900), ms(14_900) }},
		{"skips", skips("j", "+20s", "late"), func(r *Record) { r.Lines[12].Reason = "overlap" }},
		{"tells", tells("", "succeeded", "j", "it ends well", nil), func(r *Record) { r.Lines = r.Lines[:5] }},
		{"silent", silent("lost", "j", "nobody loses"), func(r *Record) { r.Lines[12].What = "lost" }},
		{"starts", starts("j", 3), func(r *Record) { r.Lines = r.Lines[:5] }},
		{"nothing open", nothingOpen(), func(r *Record) { r.Open = []store.UnfinishedRun{{Job: "j"}} }},
	} {
		if _, err := c.e.Check(calmRecord()); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		r := calmRecord()
		c.bend(r)
		if _, err := c.e.Check(r); err == nil {
			t.Errorf("%s: a bent record passes", c.name)
		}
	}
	if n, _, _ := calmRecord().overlapping("j"); n != 1 {
		t.Errorf("%d at once", n)
	}
}

func TestPictureAndTimeline(t *testing.T) {
	r := calmRecord()
	r.Done = ms(20_500)
	res := &Result{Scenario: &Scenario{ID: 2, Title: "A <title> & more"}, Backend: "sqlite", Kind: store.KindLease, Record: r}
	svg := Picture(res)
	for _, want := range []string{"A &lt;title&gt; &amp; more", ">A holds #1<", "kill -9", "A runs j +0s, attempt 1: succeeded", "skips +20s", "prefers-color-scheme:dark"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the picture lacks %q", want)
		}
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("the picture has a number that is none")
	}
	var b strings.Builder
	r.Timeline(&b)
	for _, want := range []string{"  +10.5s  A      KILLED with kill -9\n", "  +14.2s  B      claims +10s: won, attempt 2 (scheduled)\n", "  +20.0s  B      skips +20s: late\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the timeline lacks %q:\n%s", want, b.String())
		}
	}
}

func TestLaneOf(t *testing.T) {
	for name, want := range map[string]string{"A": "A", "A.2": "A", "A.2-1796073568381": "A", "B-17": "B"} {
		if got := laneOf(name); got != want {
			t.Errorf("%s is in lane %q, want %q", name, got, want)
		}
	}
}

func TestTakeoverBounds(t *testing.T) {
	// The worked values of the documents.
	for _, c := range []struct{ lease, beat, want time.Duration }{
		{30 * time.Second, 5 * time.Second, 40 * time.Second},
		{6 * time.Second, time.Second, 8 * time.Second},
		{120 * time.Second, 5 * time.Second, 130 * time.Second},
	} {
		if got := (Timing{Lease: c.lease, Heartbeat: c.beat}).takeover(); got != c.want {
			t.Errorf("%v/%v: %v, want %v", c.lease, c.beat, got, c.want)
		}
	}
}
