package kit

import (
	"context"
	"testing"
	"time"
)

// late is a context whose timer has not fired yet.
type late struct {
	context.Context
	deadline time.Time
}

func (l late) Deadline() (time.Time, bool) { return l.deadline, true }

func TestOver(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		want bool
	}{
		{"no deadline", t.Context(), false},
		{"cancelled", cancelled, true},
		{"a deadline to come", late{t.Context(), time.Now().Add(time.Hour)}, false},
		{"a deadline that passed, before its timer fired", late{t.Context(), time.Now().Add(-time.Millisecond)}, true},
	} {
		if got := over(tt.ctx); got != tt.want {
			t.Errorf("%s: over is %v; want %v", tt.name, got, tt.want)
		}
	}
}
