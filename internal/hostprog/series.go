package hostprog

import (
	"fmt"
	"time"
)

// Series is a schedule with a beginning, so that its slots are known before the processes
// start that have it.
type Series struct {
	First int64         // Unix milliseconds
	Every time.Duration // at least a millisecond
	Count int           // how many slots there are; 0: without an end
}

func (s Series) slot(n int64) time.Time {
	if n < 0 || s.Count > 0 && n >= int64(s.Count) {
		return time.Time{}
	}
	return time.UnixMilli(s.First + n*s.Every.Milliseconds()).UTC()
}

// begun is how many slots there are up to and including a time.
func (s Series) begun(at time.Time) int64 {
	if at.UnixMilli() < s.First {
		return 0
	}
	n := (at.UnixMilli()-s.First)/s.Every.Milliseconds() + 1
	if s.Count > 0 {
		n = min(n, int64(s.Count))
	}
	return n
}

func (s Series) Next(after time.Time) time.Time { return s.slot(s.begun(after)) }
func (s Series) Prev(at time.Time) time.Time    { return s.slot(s.begun(at) - 1) }
func (s Series) MinGap() time.Duration          { return s.Every }

func (s Series) String() string {
	if s.Count == 0 {
		return fmt.Sprintf("every %v from %d on", s.Every, s.First)
	}
	return fmt.Sprintf("%d slots every %v from %d on", s.Count, s.Every, s.First)
}
