package hostprog

import (
	"fmt"
	"time"
)

// series is a schedule with a beginning, and an end if count is not 0, so that a
// scenario knows its slots before its processes start.
type series struct {
	first int64 // Unix milliseconds
	every time.Duration
	count int
}

func (s series) slot(n int64) time.Time {
	if n < 0 || s.count > 0 && n >= int64(s.count) {
		return time.Time{}
	}
	return time.UnixMilli(s.first + n*s.every.Milliseconds()).UTC()
}

// begun is how many slots there are up to and including a time.
func (s series) begun(at time.Time) int64 {
	if at.UnixMilli() < s.first {
		return 0
	}
	n := (at.UnixMilli()-s.first)/s.every.Milliseconds() + 1
	if s.count > 0 {
		n = min(n, int64(s.count))
	}
	return n
}

func (s series) Next(after time.Time) time.Time { return s.slot(s.begun(after)) }
func (s series) Prev(at time.Time) time.Time    { return s.slot(s.begun(at) - 1) }
func (s series) MinGap() time.Duration          { return s.every }

func (s series) String() string {
	if s.count == 0 {
		return fmt.Sprintf("every %v from %d on", s.every, s.first)
	}
	return fmt.Sprintf("%d slots every %v from %d on", s.count, s.every, s.first)
}
