package cron_test

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

// TestDays compares L, W, #, their mixtures and the OR rule with the oracle's reading of each day of 1999 to 2027: all 14 kinds of year.
func TestDays(t *testing.T) {
	exprs := []string{
		"0 0 L * *", "0 0 L-1 * *", "0 0 L-27 * *", "0 0 L-28 * *", "0 0 L-30 * *",
		"0 0 1W * *", "0 0 2W * *", "0 0 15W * *", "0 0 28W * *", "0 0 29W * *", "0 0 30W * *", "0 0 31W * *", "0 0 LW * *",
		"0 0 * * 0L", "0 0 * * 5L", "0 0 * * SATL", "0 0 * * 7#1", "0 0 * * 0#5", "0 0 * * MON#2,MON#4", "0 0 * * 6#5",
		"0 0 1,L,15W * *", "0 0 L,LW,L-2 2 *", "0 0 13 * FRI", "0 0 L * FRIL", "0 0 */2 * 1", "0 0 */2 * */3", "0 0 1-7 * SAT",
		"0 0 ? * 1#1,5L", "0 0 31 * ?", "0 0 29 2 *", "0 0 25-5 * *", "0 0 * 11-2 FRI-MON", "0 0 */10 */5 *", "0 0 28-3/2 * SAT-MON/2",
	}
	from := time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	to := time.Date(2028, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, expr := range exprs {
		s, o := cron.MustParse(expr, time.UTC), newOracle(expr)
		next, prev := s.Next(from.Add(-1)), time.Time{}
		for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
			if want := o.allowsDay(int32(day.Unix() / (24 * 60 * 60))); want != next.Equal(day) {
				t.Errorf("%q: fires next on %s, the oracle says %t for %s", expr, next, want, day)
				break
			} else if want {
				prev, next = day, s.Next(day)
			}
			if got := s.Prev(day); !prev.IsZero() && !got.Equal(prev) {
				t.Errorf("%q: Prev(%s) = %s, want %s", expr, day, got, prev)
				break
			}
		}
	}
}
