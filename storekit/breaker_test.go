package storekit

import (
	"testing"
	"time"
)

func TestPause(t *testing.T) {
	b := breaker{policy: defaultPolicy}
	if p := b.pause(0); p != 0 {
		t.Errorf("after the first death: %v; want none", p)
	}
	for n := 1; n < 100; n++ {
		full := b.longestPause
		if n < 10 { // 100 ms, 200 ms, … 25.6 s, 30 s
			full = b.firstPause << (n - 1)
		}
		for range 20 {
			if p := b.pause(n); p < full/2 || p > full {
				t.Errorf("after %d failures: %v; want %v to %v", n, p, full/2, full)
			}
		}
	}
}

func TestBreaker(t *testing.T) {
	b := breaker{policy: defaultPolicy}
	const early, late = 5 * time.Second, 15 * time.Second
	for i, step := range []struct {
		ran      time.Duration
		failures int
		atOnce   bool
		broken   bool
	}{
		{late, 1, true, false},   // a healthy one dies: at once again
		{early, 2, false, false}, // and again, soon
		{0, 3, false, false},     // it can't be started
		{0, 4, false, false},
		{early, 5, false, true}, // the breaker opens
		{0, 6, false, true},     // a trial that fails
		{early, 7, false, true}, // a trial that serves for a while only
		{late, 1, true, false},  // a trial that lasted: a new row
		{early, 2, false, false},
	} {
		pause := b.failed(step.ran)
		if b.failures != step.failures || (pause == 0) != step.atOnce || b.broken() != step.broken {
			t.Errorf("step %d: %d failures, pause %v, broken %v; want %+v", i, b.failures, pause, b.broken(), step)
		}
	}
}
