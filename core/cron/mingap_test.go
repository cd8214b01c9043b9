package cron_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

func TestMinGap(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		expr string
		want time.Duration
	}{
		{"* * * * * *", time.Second},
		{"*/7 * * * * *", 4 * time.Second},
		{"0,59 * * * * *", time.Second},
		{"30 * * * * *", time.Minute},
		{"10,20 0 0 1 1 *", 10 * time.Second},
		{"* * * * *", time.Minute},
		{"0,1 0 * * *", time.Minute},
		{"*/7 * * * *", 4 * time.Minute},
		{"*/60 * * * *", time.Hour},
		{"0 * * * *", time.Hour},
		{"0,30 */5 * * *", 30 * time.Minute},
		{"0 */5 * * *", 4 * time.Hour},
		{"0 0,23 * * *", time.Hour},
		{"0,50 0,23 * * *", 10 * time.Minute},
		{"0,50 1,2 * * *", 10 * time.Minute},
		{"0,50 0,23 1 * *", 50 * time.Minute},
		{"0 0,23 1,15 * *", 23 * time.Hour},
		{"30 2 * * *", day},
		{"0 0 * * MON-FRI", day},
		{"0 0 * * MON", 7 * day},
		{"0 0 * * MON,THU", 3 * day},
		{"0 0 1 * *", 28 * day},
		{"0 0 1,31 * *", day},
		{"0 0 31 * *", 31 * day},
		{"0 0 30,31 1 *", day},
		{"0 0 1 1,7 *", 181 * day},
		{"0 0 1 4,7,12 *", 91 * day},
		{"0 0 L * *", 28 * day},
		{"0 0 1,L * *", day},
		{"0 0 1W * *", 28 * day},
		{"0 0 1 1 *", 365 * day},
		{"0 0 29 2 *", 1461 * day},
		{"0 0 * 2 MON#5", 4382 * day}, // 12 years, over a century without a leap day
		{"0 0 * * MON#5", 63 * day},
		{"0 0 13 * FRI", day},
		{"0 0 1 1 MON#1", day},     // only where 2 January is a Monday
		{"0 0 1 1 SUN#2", 7 * day}, // only where 1 January is a Sunday
		{"0 0 1W,LW 1,12 *", day},
		{"0 0 * 2,3 MON#5,TUE#1", day}, // only where 29 February is a Monday: 2016, 2044
	} {
		s := cron.MustParse(c.expr, time.UTC)
		if got := s.MinGap(); got != c.want {
			t.Errorf("%q: MinGap is %s, want %s", c.expr, got, c.want)
		}
		years := int32(60)
		if c.want > 4*365*day {
			years = 440
		}
		if got := bruteGap(newOracle(c.expr), years); got != c.want {
			t.Errorf("%q: the oracle says %s, want %s", c.expr, got, c.want)
		}
	}
}

func TestMinGapAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seed, 1))
	for range 25 {
		near := time.Unix(rng.Int64N(1<<31), 0).UTC()
		expr := randomExpr(rng, near, rng.IntN(4) == 0)
		if got, want := cron.MustParse(expr, time.UTC).MinGap(), bruteGap(newOracle(expr), 60); got != want {
			t.Errorf("%q: MinGap is %s, the oracle says %s", expr, got, want)
		}
	}
}

// bruteGap looks at all firings of a day and all days of many years.
func bruteGap(o *oracleExpr, years int32) time.Duration {
	first, prev, gap := -1, -1, 0
	closer := func(d int) {
		if gap == 0 || d < gap {
			gap = d
		}
	}
	for s := range 24 * 60 * 60 {
		if !o.hour[s/3600] || !o.min[s/60%60] || !o.sec[s%60] {
			continue
		}
		if first < 0 {
			first = s
		} else {
			closer(s - prev)
		}
		prev = s
	}
	last, prevDay := prev, int32(-1)
	start := int32(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
	shortest := int32(0)
	for day := start; day < start+years*366; day++ {
		if !o.allowsDay(day) {
			continue
		}
		if prevDay >= 0 && (shortest == 0 || day-prevDay < shortest) {
			shortest = day - prevDay
			if shortest == 1 {
				break
			}
		}
		prevDay = day
	}
	between := time.Duration(shortest)*24*time.Hour - time.Duration(last-first)*time.Second
	if inside := time.Duration(gap) * time.Second; gap != 0 && inside < between {
		return inside
	}
	return between
}
