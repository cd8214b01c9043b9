package hostprog

import (
	"testing"
	"time"
)

func TestSeries(t *testing.T) {
	s := Series{First: 10_000, Every: 3 * time.Second, Count: 3} // 10, 13, 16
	for _, c := range []struct{ at, next, prev int64 }{          // 0: none
		{0, 10_000, 0},
		{9_999, 10_000, 0},
		{10_000, 13_000, 10_000},
		{12_999, 13_000, 10_000},
		{13_000, 16_000, 13_000},
		{16_000, 0, 16_000},
		{1_000_000, 0, 16_000},
	} {
		at := time.UnixMilli(c.at)
		if got := millis(s.Next(at)); got != c.next {
			t.Errorf("next after %d is %d, want %d", c.at, got, c.next)
		}
		if got := millis(s.Prev(at)); got != c.prev {
			t.Errorf("prev at %d is %d, want %d", c.at, got, c.prev)
		}
	}
}

func TestSeriesWithoutEnd(t *testing.T) {
	s := Series{First: 10_000, Every: 3 * time.Second}
	if got := millis(s.Next(time.UnixMilli(10_000_000))); got != 10_003_000 {
		t.Errorf("next is %d", got)
	}
	if got := s.Prev(time.UnixMilli(9_999)); !got.IsZero() {
		t.Errorf("there is a slot before the first: %v", got)
	}
	if got := millis(s.Prev(time.UnixMilli(10_000_000))); got != 10_000_000 {
		t.Errorf("prev is %d", got)
	}
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}
