package cron

import (
	"math/bits"
	"time"
)

const (
	// searchSpan bounds every search. The rarest thing that can be written is 29 February on a given weekday, as in
	// "0 0 * 2 MON#5": it comes after 12, 28 or 40 years.
	searchSpan = int64(40*366) * secondsPerDay

	// Times outside are neither taken nor given; inside no sum in this package can overflow.
	maxUnix = int64(1) << 40 // about the year 36 800
	minUnix = -maxUnix       // about the year -32 800
)

// Next gives the first firing strictly after a time, in the schedule's location, at a whole second.
//
// It gives the zero time if there is none in the 40 years that follow, which needs a zone whose rules swallow every firing (Parse
// refuses what does so from 2025 on), or if after is some 30 000 years away. It does not allocate.
func (s *Schedule) Next(after time.Time) time.Time {
	unix := after.Unix()
	if s.zone == nil || unix >= maxUnix || unix <= minUnix {
		return time.Time{}
	}
	if next, ok := s.next(unix + 1); ok && next < maxUnix {
		return time.Unix(next, 0).In(s.loc)
	}
	return time.Time{}
}

// Prev gives the latest firing at or before a time, in the schedule's location: the newest slot that is due at that time. So
// Prev(Next(t)) equals Next(t). It gives the zero time where [Schedule.Next] would, looking back. It does not allocate.
func (s *Schedule) Prev(at time.Time) time.Time {
	unix := at.Unix()
	if s.zone == nil || unix >= maxUnix || unix <= minUnix {
		return time.Time{}
	}
	if prev, ok := s.prev(unix); ok && prev > minUnix {
		return time.Unix(prev, 0).In(s.loc)
	}
	return time.Time{}
}

// next gives the first firing at or after an instant.
//
// A fixed job is searched on the civil line: find the first civil second that an instant >= unix could stand for, the next civil
// second that matches, and the instant at which that one runs. An interval job is searched in real time, segment by segment.
func (s *Schedule) next(unix int64) (int64, bool) {
	g := s.zone.at(unix)
	if s.fixed {
		from := max(unix+g.offset, g.from)
		if unix == g.start {
			from = g.from // this instant stands for the whole gap before it
		}
		civil, ok := s.nextCivil(from, from+searchSpan)
		if !ok {
			return 0, false
		}
		return s.zone.instant(civil, g), true
	}
	for limit := unix + searchSpan; ; g = s.zone.at(unix) {
		if civil, ok := s.nextCivil(unix+g.offset, min(g.end-1, limit)+g.offset); ok {
			return civil - g.offset, true
		}
		if g.end > limit {
			return 0, false
		}
		unix = g.end
	}
}

// prev gives the last firing at or before an instant; the mirror of next.
func (s *Schedule) prev(unix int64) (int64, bool) {
	g := s.zone.at(unix)
	if s.fixed {
		from := max(unix+g.offset, g.from-1)
		civil, ok := s.prevCivil(from, from-searchSpan)
		if !ok {
			return 0, false
		}
		return s.zone.instant(civil, g), true
	}
	for limit := unix - searchSpan; ; g = s.zone.at(unix) {
		if civil, ok := s.prevCivil(unix+g.offset, max(g.start, limit)+g.offset); ok {
			return civil - g.offset, true
		}
		if g.start <= limit {
			return 0, false
		}
		unix = g.start - 1
	}
}

// nextCivil gives the first civil second in [from, limit] that matches.
func (s *Schedule) nextCivil(from, limit int64) (int64, bool) {
	day, second := splitDay(from)
	year, month, dom := dateOf(day)
	first := day - dom + 1
	if s.daysOf(year, month, first)>>dom&1 != 0 {
		if t, ok := s.timeFrom(second); ok {
			civil := int64(day)*secondsPerDay + int64(t)
			return civil, civil <= limit
		}
	}
	lastDay, _ := splitDay(limit)
	for later := dom + 1; ; later = 1 {
		// A day that the month does not have is in no mask, so later may be one too many.
		if rest := s.daysOf(year, month, first) >> later; rest != 0 {
			day = first + later - 1 + bits.TrailingZeros32(rest)
			civil := int64(day)*secondsPerDay + int64(s.firstTime)
			return civil, civil <= limit
		}
		if ahead := s.months >> (month + 1); ahead != 0 {
			month += 1 + bits.TrailingZeros16(ahead)
		} else {
			year, month = year+1, bits.TrailingZeros16(s.months)
		}
		if first = firstOf(year, month); first > lastDay {
			return 0, false
		}
	}
}

// prevCivil gives the last civil second in [limit, from] that matches.
func (s *Schedule) prevCivil(from, limit int64) (int64, bool) {
	day, second := splitDay(from)
	year, month, dom := dateOf(day)
	first := day - dom + 1
	if s.daysOf(year, month, first)>>dom&1 != 0 {
		if t, ok := s.timeUpTo(second); ok {
			civil := int64(day)*secondsPerDay + int64(t)
			return civil, civil >= limit
		}
	}
	firstDay, _ := splitDay(limit)
	for earlier := uint32(1)<<dom - 1; ; earlier = ^uint32(0) {
		if rest := s.daysOf(year, month, first) & earlier; rest != 0 {
			day = first + bits.Len32(rest) - 2
			civil := int64(day)*secondsPerDay + int64(s.lastTime)
			return civil, civil >= limit
		}
		if first <= firstDay {
			return 0, false
		}
		if behind := s.months & (1<<month - 1); behind != 0 {
			month = bits.Len16(behind) - 1
		} else {
			year, month = year-1, bits.Len16(s.months)-1
		}
		first = firstOf(year, month)
	}
}

// daysOf gives the days of a month on which the schedule fires, as bits 1 to 31.
func (s *Schedule) daysOf(year, month, first int) uint32 {
	if s.months>>month&1 == 0 {
		return 0
	}
	return s.days[lengthOf(year, month)-28][weekdayOf(first)]
}

// timeFrom gives the first second of the day at or after one that matches.
func (s *Schedule) timeFrom(second int) (int, bool) {
	h, m, sec := second/3600, second/60%60, second%60
	if s.hours>>h&1 != 0 {
		if s.minutes>>m&1 != 0 {
			if rest := s.seconds >> sec; rest != 0 {
				return second + bits.TrailingZeros64(rest), true
			}
		}
		if rest := s.minutes >> (m + 1); rest != 0 {
			return h*3600 + (m+1+bits.TrailingZeros64(rest))*60 + bits.TrailingZeros64(s.seconds), true
		}
	}
	if rest := s.hours >> (h + 1); rest != 0 {
		return (h+1+bits.TrailingZeros32(rest))*3600 + s.firstTime%3600, true
	}
	return 0, false
}

// timeUpTo gives the last second of the day at or before one that matches.
func (s *Schedule) timeUpTo(second int) (int, bool) {
	h, m, sec := second/3600, second/60%60, second%60
	if s.hours>>h&1 != 0 {
		if s.minutes>>m&1 != 0 {
			if rest := s.seconds & (1<<(sec+1) - 1); rest != 0 {
				return second - sec + bits.Len64(rest) - 1, true
			}
		}
		if rest := s.minutes & (1<<m - 1); rest != 0 {
			return h*3600 + (bits.Len64(rest)-1)*60 + bits.Len64(s.seconds) - 1, true
		}
	}
	if rest := s.hours & (1<<h - 1); rest != 0 {
		return (bits.Len32(rest)-1)*3600 + s.lastTime%3600, true
	}
	return 0, false
}
