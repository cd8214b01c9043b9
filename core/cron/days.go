package cron

// A dayTable holds the days of the month on which a schedule fires, as bits 1 to 31. Whatever the two day fields say, L, W and #
// included, depends only on how long a month is (28 to 31 days) and on which weekday it begins, so 28 masks say it all.
type dayTable [4][7]uint32

// everyDay is shared by all schedules that do not restrict the day.
var everyDay = func() *dayTable {
	t := new(dayTable)
	for length := 28; length <= 31; length++ {
		for w := range 7 {
			t[length-28][w] = validDays(length)
		}
	}
	return t
}()

// validDays gives bits 1 to length.
func validDays(length int) uint32 { return uint32(uint64(1)<<(length+1) - 2) }

// dayRule is what the day-of-month and the day-of-week field ask for.
type dayRule struct {
	anyDom, anyDow bool // a plain * or ?

	dom     uint32 // days, bits 1 to 31
	last    uint32 // bit n: L-n, the n-th day before the last; bit 0: L
	near    uint32 // bit n: nW
	lastBiz bool   // LW

	dow     uint32    // weekdays, bits 0 to 6
	lastDow uint32    // bit n: nL
	nthDow  [5]uint32 // nthDow[k] bit n: n#k+1
}

// table applies the rule of POSIX and Vixie cron: if both day fields are restricted a day needs to match only one of them.
func (r *dayRule) table() *dayTable {
	if r.anyDom && r.anyDow {
		return everyDay
	}
	t := new(dayTable)
	for length := 28; length <= 31; length++ {
		for w := range 7 {
			var days uint32
			if !r.anyDom {
				days |= r.byDate(length, w)
			}
			if !r.anyDow {
				days |= r.byWeekday(length, w)
			}
			t[length-28][w] = days & validDays(length)
		}
	}
	return t
}

// byDate gives the days that the day-of-month field asks for; w is the weekday of the 1st.
func (r *dayRule) byDate(length, w int) uint32 {
	days := r.dom
	if r.last|r.near != 0 {
		for n := range 32 {
			if r.last>>n&1 != 0 && n < length {
				days |= 1 << (length - n)
			}
			if r.near>>n&1 != 0 && n <= length {
				days |= 1 << nearestWorkday(n, length, w)
			}
		}
	}
	if r.lastBiz {
		days |= 1 << nearestWorkday(length, length, w)
	}
	return days
}

// nearestWorkday gives the day from Monday to Friday that is nearest to a day, within the same month.
func nearestWorkday(day, length, w int) int {
	switch (w + day - 1) % 7 {
	case 6: // Saturday
		if day == 1 {
			return 3
		}
		return day - 1
	case 0: // Sunday
		if day == length {
			return day - 2
		}
		return day + 1
	}
	return day
}

// byWeekday gives the days that the day-of-week field asks for.
func (r *dayRule) byWeekday(length, w int) uint32 {
	const weekly = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28
	days := uint32(uint64(rotate(r.dow, w)) * weekly << 1)
	for k, set := range r.nthDow {
		days |= uint32(uint64(rotate(set, w)) << (1 + 7*k))
	}
	days |= rotate(r.lastDow, (w+length)%7) << (length - 6) // the last seven days begin on the weekday that would follow the month
	return days
}

// rotate turns a set of weekdays into a set of days of a week that begins on weekday w.
func rotate(set uint32, w int) uint32 { return (set>>w | set<<(7-w)) & 0x7f }

// fires says whether there is any month of the set in which the table has a day.
func (t *dayTable) fires(months uint16) bool {
	for month := 1; month <= 12; month++ {
		if months>>month&1 == 0 {
			continue
		}
		for _, year := range [2]int{2000, 2001} { // one leap, one not
			for w := range 7 {
				if t[lengthOf(year, month)-28][w] != 0 {
					return true
				}
			}
		}
	}
	return false
}
