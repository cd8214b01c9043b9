package core

import (
	"math"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestEvery(t *testing.T) {
	at := func(text string) time.Time {
		t.Helper()
		v, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct {
		every      time.Duration
		t          string
		next, prev string
	}{
		{time.Minute, "2026-01-01T10:00:30Z", "2026-01-01T10:01:00Z", "2026-01-01T10:00:00Z"},
		{time.Minute, "2026-01-01T10:00:00Z", "2026-01-01T10:01:00Z", "2026-01-01T10:00:00Z"},
		{time.Minute, "2026-01-01T09:59:59.999999999Z", "2026-01-01T10:00:00Z", "2026-01-01T09:59:00Z"},
		{time.Minute, "2026-01-01T10:00:00.000000001Z", "2026-01-01T10:01:00Z", "2026-01-01T10:00:00Z"},
		// Aligned to the epoch, where time.Truncate aligns to the year 1.
		{7 * time.Minute, "1970-01-01T00:00:01Z", "1970-01-01T00:07:00Z", "1970-01-01T00:00:00Z"},
		{168 * time.Hour, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", ""}, // a Thursday, as the epoch
		{11 * time.Second, "2026-01-01T00:00:00Z", "2026-01-01T00:00:03Z", "2025-12-31T23:59:52Z"},
		{1500 * time.Millisecond, "1970-01-01T00:00:02Z", "1970-01-01T00:00:03Z", "1970-01-01T00:00:01.5Z"},
		// Before 1970.
		{time.Minute, "1969-12-31T23:59:30Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:00Z"},
		{7 * time.Second, "1969-12-31T23:59:52Z", "1969-12-31T23:59:53Z", "1969-12-31T23:59:46Z"},
		{7 * time.Second, "1969-12-31T23:59:53Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:53Z"},
		{7 * time.Second, "1969-12-31T23:59:59.9999Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:53Z"},
		// Another zone's midnight does not matter.
		{24 * time.Hour, "2026-01-01T01:00:00+02:00", "2026-01-01T00:00:00Z", "2025-12-31T00:00:00Z"},
	} {
		s := Every(tt.every)
		if tt.prev == "" { // Next of a slot is the one after it, and Prev itself
			slot := at(tt.t)
			if got := s.Next(slot); !got.Equal(slot.Add(tt.every)) {
				t.Errorf("every %v: next after the slot %v is %v", tt.every, slot, got)
			}
			if got := s.Prev(slot); !got.Equal(slot) {
				t.Errorf("every %v: prev at the slot %v is %v", tt.every, slot, got)
			}
			continue
		}
		if got := s.Next(at(tt.t)); !got.Equal(at(tt.next)) {
			t.Errorf("every %v: next after %s is %v, want %s", tt.every, tt.t, got, tt.next)
		}
		if got := s.Prev(at(tt.t)); !got.Equal(at(tt.prev)) {
			t.Errorf("every %v: prev at %s is %v, want %s", tt.every, tt.t, got, tt.prev)
		}
	}
	if s := Every(90 * time.Second); s.String() != "every 1m30s" || s.MinGap() != 90*time.Second {
		t.Errorf("%v, gap %v", s, s.MinGap())
	}
}

func TestLate(t *testing.T) {
	const longest = math.MaxInt64 / 1_000_000 * time.Millisecond
	for _, tt := range []struct {
		now, slot int64
		want      time.Duration
	}{
		{1500, 500, time.Second}, {500, 1500, -time.Second}, {0, store.MinSlot, longest}, {store.MinSlot, store.MaxSlot, -longest},
		{never, -1, longest}, {-1, never, -longest}, {math.MinInt64, math.MaxInt64, -longest}, {math.MaxInt64, math.MinInt64, longest}, {never, never, 0},
	} {
		if got := late(tt.now, tt.slot); got != tt.want {
			t.Errorf("late(%d, %d) is %v, want %v", tt.now, tt.slot, got, tt.want)
		}
	}
}

// fractional has slots half a millisecond after each 10 s.
type fractional struct{ every }

const half = 500 * time.Microsecond

func (f fractional) Next(t time.Time) time.Time { return f.every.Next(t.Add(-half)).Add(half) }
func (f fractional) Prev(t time.Time) time.Time { return f.every.Prev(t.Add(-half)).Add(half) }

// TestSlotsOfForeignSchedules: a schedule may answer anything; slots are whole
// milliseconds and move forward, or there are none.
func TestSlotsOfForeignSchedules(t *testing.T) {
	start := store.Time(1_000_000)
	for _, tt := range []struct {
		name string
		s    Schedule
		want []int64
	}{
		{"whole", Every(10 * time.Second), []int64{1_010_000, 1_020_000, 1_030_000}},
		{"fractions are cut", fractional{every(10 * time.Second)}, []int64{1_010_000, 1_020_000, 1_030_000}},
		{"never", odd{}, []int64{noSlot}},
		{"stands still", odd{next: func(t time.Time) time.Time { return t }}, []int64{noSlot}},
		{"goes back", odd{next: func(t time.Time) time.Time { return t.Add(-time.Hour) }}, []int64{noSlot}},
		{"in time", odd{next: func(time.Time) time.Time { return time.Date(2262, 4, 10, 0, 0, 0, 0, time.UTC) }}, []int64{9_223_200_000_000}},
		{"too far", odd{next: func(time.Time) time.Time { return time.Date(2262, 4, 11, 0, 0, 0, 0, time.UTC) }}, []int64{noSlot}},
		{"much too far", odd{next: func(time.Time) time.Time { return time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC) }}, []int64{noSlot}},
		{"before the year 1", odd{next: func(time.Time) time.Time { return time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC) }}, []int64{noSlot}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, j := newMachine(machineConfig{}), &job{spec: Job{Schedule: tt.s}}
			at := start.UnixMilli()
			for i, want := range tt.want {
				if at = m.next(j, at); at != want {
					t.Fatalf("slot %d is %d, want %d", i, at, want)
				}
			}
		})
	}
	m, j := newMachine(machineConfig{}), &job{spec: Job{Schedule: fractional{every(10 * time.Second)}}}
	for at, want := range map[int64]int64{1_009_999: 1_000_000, 1_010_000: 1_010_000, 1_010_001: 1_010_000, 1_019_999: 1_010_000} {
		if got := m.prev(j, at); got != want {
			t.Errorf("newest slot at %d is %d, want %d", at, got, want)
		}
	}
}
