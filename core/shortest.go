package core

import (
	"maps"
	"slices"
	"time"
)

// shortest is the shortest of the durations that are in it; most are alike.
type shortest struct {
	least time.Duration // 0: none is in it
	count map[time.Duration]int
}

func (s *shortest) add(d time.Duration) {
	if s.count == nil {
		s.count = make(map[time.Duration]int)
	}
	if s.count[d]++; s.least == 0 || d < s.least {
		s.least = d
	}
}

func (s *shortest) remove(d time.Duration) {
	if s.count[d]--; s.count[d] > 0 {
		return
	}
	delete(s.count, d)
	if len(s.count) == 0 {
		s.least = 0
	} else if d == s.least {
		s.least = slices.Min(slices.Collect(maps.Keys(s.count)))
	}
}
