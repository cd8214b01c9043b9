package hostprog

import (
	"strings"
	"testing"
	"time"
)

// A job that is written is read as the same job: an instance gets its jobs so.
func TestJobRoundTrip(t *testing.T) {
	for _, j := range []Job{
		{Name: "tick", Every: 2 * time.Second, Takes: 300 * time.Millisecond, Overlap: "skip"},
		{Name: "report", Every: time.Minute, Takes: 8 * time.Second, Overlap: "allow", Ignores: true, First: 1_700_000_000_001},
	} {
		got, err := ParseJob(j.String())
		if err != nil || got != j {
			t.Errorf("ParseJob(%q) = %+v, %v, want %+v", j, got, err, j)
		}
	}
}

func TestParseJobRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "has no name",
		",every=3s":           "has no name",
		"a,evry=3s":           `"evry=3s" is no setting; known are every=`,
		"a,every":             `"every" is no setting`,
		"a,every=soon":        `every is "soon"`,
		"a,every=0s":          "at least 1s", // a series divides by it
		"a,every=-3s":         "at least 1s",
		"a,overlap=maybe":     "it must be skip or allow",
		"a,ignores=often":     `ignores is "often"`,
		"a,first=today":       `first is "today"`,
		"a,first=1700000000":  `first is "1700000000"`,
		"a,takes=3s,takes=x,": `takes is "x"`,
	} {
		if _, err := ParseJob(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseJob(%q): %v, want an error with %q", text, err, want)
		}
	}
}
