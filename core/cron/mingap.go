package cron

import (
	"math/bits"
	"time"
)

// MinGap gives the smallest time between two consecutive firings, as the calendar has it: clock changes are ignored, so around one
// of them two firings may be closer. It is exact over the whole 400-year cycle of the calendar ("0 0 29 2 *" gives 1461 days)
// and costs nothing: Parse has computed it.
func (s *Schedule) MinGap() time.Duration { return s.minGap }

// nominalGap computes MinGap. Two consecutive firings are neighbours in exactly one of four ways: in the same minute, in the same
// hour, on the same day, or from the last of a day to the first of the next day that fires. In each way the smallest gap is
// the one between the closest neighbours of that field.
func (s *Schedule) nominalGap() time.Duration {
	const none = int(^uint(0) >> 1)
	gap := none
	spanSeconds := span(s.seconds)
	spanMinutes := span(s.minutes)*60 + spanSeconds
	if n := closest(s.seconds); n > 0 {
		gap = n
	}
	if n := closest(s.minutes); n > 0 {
		gap = min(gap, n*60-spanSeconds)
	}
	if n := closest(uint64(s.hours)); n > 0 {
		gap = min(gap, n*3600-spanMinutes)
	}
	if between := secondsPerDay - (s.lastTime - s.firstTime); gap > between {
		// Only then can the step from day to day be the smallest, as no two days are closer than one.
		if days := s.closestDays(); gap == none || int64(days)*secondsPerDay-int64(s.lastTime-s.firstTime) < int64(gap) {
			return time.Duration(int64(days)*secondsPerDay-int64(s.lastTime-s.firstTime)) * time.Second
		}
	}
	return time.Duration(gap) * time.Second
}

// closest gives the smallest distance between two neighbours of a set, 0 if there are no two.
func closest(set uint64) int {
	if set&(set>>1) != 0 {
		return 1
	}
	gap := 0
	for rest := set & (set - 1); rest != 0; rest, set = rest&(rest-1), rest {
		if d := bits.TrailingZeros64(rest) - bits.TrailingZeros64(set); gap == 0 || d < gap {
			gap = d
		}
	}
	return gap
}

// span gives the distance between the first and the last of a set.
func span(set uint64) int { return bits.Len64(set) - 1 - bits.TrailingZeros64(set) }

// closestDays gives the smallest distance between two days that fire, over all 400 years of the calendar's cycle.
//
// A year is one of 14 kinds (leap or not, weekday of 1 January), so each kind is looked at once. Years are then put side by side:
// 28 in a row without a century hold each kind followed by each kind that can follow it, which is enough if every year
// fires. Else it takes the cycle, and 40 years of the next one, so that the step from the last day of a cycle to the first of the next counts.
func (s *Schedule) closestDays() int {
	type kind struct {
		known       bool
		first, last int // days of the year, 0-based; last < 0: none
	}
	var kinds [2][7]kind
	gap, prev := daysPerEra, -daysPerEra
	everyYear := true
	start := firstOf(2001, 1)
	for year := 2001; gap > 1 && (year <= 2001+28 || !everyYear && year <= 2001+yearsPerEra+40); year++ {
		leap := lengthOf(year, 2) - 28
		w := weekdayOf(start)
		k := &kinds[leap][w]
		if !k.known {
			var inside int
			k.first, k.last, inside = s.daysInYear(leap, w)
			k.known = true
			gap = min(gap, inside)
		}
		if k.last >= 0 {
			gap = min(gap, start+k.first-prev)
			prev = start + k.last
		} else {
			everyYear = false
		}
		start += 365 + leap
	}
	return gap
}

// daysInYear gives the first and the last day that fire in a year of 365+leap days that begins on weekday w (0-based; last < 0 if none
// does) and the smallest distance between two.
func (s *Schedule) daysInYear(leap, w int) (first, last, gap int) {
	first, last, gap = -1, -1, daysPerEra
	start := 0
	for month := 1; month <= 12 && gap > 1; month++ {
		length := lengthOf(2000+1-leap, month)
		if days := uint64(s.days[length-28][(w+start)%7]); days != 0 && s.months>>month&1 != 0 {
			if n := closest(days); n > 0 {
				gap = min(gap, n)
			}
			if head := start + bits.TrailingZeros64(days) - 1; first < 0 {
				first = head
			} else {
				gap = min(gap, head-last)
			}
			last = start + bits.Len64(days) - 2
		}
		start += length
	}
	return first, last, gap
}
