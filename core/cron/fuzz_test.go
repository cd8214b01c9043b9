package cron_test

import (
	"errors"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

var fuzzZones = []string{"UTC", "America/New_York", "Europe/Athens", "Europe/Dublin", "Australia/Lord_Howe", "Pacific/Apia", "Africa/Casablanca", "Asia/Tokyo"}

// FuzzParse: any text gives a ParseError or a schedule that keeps all promises.
func FuzzParse(f *testing.F) {
	for _, c := range readCases(f) {
		f.Add(c.expr, uint8(0), c.from.Unix())
	}
	for i, expr := range refused {
		f.Add(expr, uint8(i), int64(i)*1e7)
	}
	for i, expr := range []string{"*/2 * * * * *", "55-5/2 22-2 25-5 NOV-FEB FRI-MON", "0 0 L,LW,15W,L-3 * 5L,FRI#3", "@hourly", "0 0 * 2 MON#5", "59 59 23 31 12 ?"} {
		f.Add(expr, uint8(i), int64(1710054000))
	}
	locs := loadAll(f, fuzzZones)
	f.Fuzz(func(t *testing.T, expr string, zone uint8, unix int64) {
		loc := locs[int(zone)%len(locs)]
		callOff := hurry("parsing %q", expr)
		s, err := cron.Parse(expr, loc)
		callOff()
		if err != nil {
			var parseErr *cron.ParseError
			if s != nil || !errors.As(err, &parseErr) || parseErr.Column < 1 || parseErr.Column > len(parseErr.Expr)+1 || parseErr.Msg == "" || parseErr.Hint == "" {
				t.Fatalf("%q: %#v, %v", expr, s, err)
			}
			if len(err.Error()) > 700 {
				t.Fatalf("%q: a message of %d bytes", expr, len(err.Error()))
			}
			return
		}
		checkNormal(t, s, loc)
		if s.MinGap() < time.Second {
			t.Fatalf("%s: MinGap is %s", s, s.MinGap())
		}
		at := time.Unix(unix, 0)
		for range 5 {
			checkSchedule(t, s, at)
			if at = s.Next(at); at.IsZero() {
				break
			}
		}
	})
}

// FuzzNext: any instant, from the smallest to the greatest that time.Time holds, gets a right answer or none.
func FuzzNext(f *testing.F) {
	exprs := []string{"* * * * * *", "*/5 * * * *", "30 2 * * *", "0 0 1 * *", "0 0 29 2 *", "*/30 1,2,3 * * *", "15 0-3 * * SUN", "0 12 L * 5L", "0 0 * 2 MON#5", "7 */9 LW 1-3 *"}
	for i, unix := range []int64{0, -1, -62135596800, -62167219200, 253402300799, 1710054000, 1730613600, 1325242800, 1735603200, 1861876800, 16725225600, 1 << 40, -1 << 40, 1<<63 - 1, -1 << 63} {
		f.Add(uint8(i), uint8(i), unix, int32(i)*1000)
	}
	var schedules []*cron.Schedule
	for _, loc := range loadAll(f, fuzzZones) {
		for _, expr := range exprs {
			schedules = append(schedules, cron.MustParse(expr, loc))
		}
	}
	f.Fuzz(func(t *testing.T, zone, expr uint8, unix int64, nsec int32) {
		s := schedules[(int(zone)*len(exprs)+int(expr)%len(exprs))%len(schedules)]
		checkSchedule(t, s, time.Unix(unix, int64(nsec)))
	})
}
