package cron

// Calendar arithmetic on plain integers. A day is counted from 1970-01-01 in the proleptic Gregorian calendar, a civil second
// is what a clock on the wall shows, counted from midnight of that day: it knows no zone.

const secondsPerDay = 24 * 60 * 60

// splitDay gives the day and the second of the day of a civil second, also before 1970.
func splitDay(civil int64) (day, second int) {
	d, s := civil/secondsPerDay, civil%secondsPerDay
	if s < 0 {
		d, s = d-1, s+secondsPerDay
	}
	return int(d), int(s)
}

// The calendar is computed in years that begin on 1 March, so that the leap day is a year's last; 400 of them (an era) are
// always 146097 days. These are the formulas of Howard Hinnant's "chrono-compatible low-level date algorithms".
const (
	daysPerEra   = 146097
	eraOffset    = 719468 // days from 0000-03-01 to 1970-01-01
	yearsPerEra  = 400
	cycleSeconds = daysPerEra * secondsPerDay
)

// dateOf gives year, month (1 to 12) and day of the month of a day.
func dateOf(day int) (year, month, dom int) {
	z := day + eraOffset
	era := z / daysPerEra
	if z < 0 {
		era = (z - daysPerEra + 1) / daysPerEra
	}
	doe := uint32(z - era*daysPerEra)
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	dom = int(doy-(153*mp+2)/5) + 1
	year = int(yoe) + era*yearsPerEra
	if mp < 10 {
		return year, int(mp) + 3, dom
	}
	return year + 1, int(mp) - 9, dom
}

// firstOf gives the day on which a month begins.
func firstOf(year, month int) int {
	m := uint32(month + 9)
	if month <= 2 {
		year--
	} else {
		m -= 12
	}
	era := year / yearsPerEra
	if year < 0 {
		era = (year - yearsPerEra + 1) / yearsPerEra
	}
	yoe := uint32(year - era*yearsPerEra)
	doe := yoe*365 + yoe/4 - yoe/100 + (153*m+2)/5
	return era*daysPerEra + int(doe) - eraOffset
}

// weekdayOf gives the weekday of a day, 0 = Sunday.
func weekdayOf(day int) int {
	w := (day + 4) % 7 // 1970-01-01 was a Thursday
	if w < 0 {
		w += 7
	}
	return w
}

func isLeap(year int) bool {
	return year%4 == 0 && (year%100 != 0 || year%400 == 0)
}

// lengthOf gives the number of days of a month.
func lengthOf(year, month int) int {
	if month == 2 {
		if isLeap(year) {
			return 29
		}
		return 28
	}
	return 30 + (month+month>>3)&1
}
