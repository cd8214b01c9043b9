package core_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/internal/budget"
)

// wins lets three instances, whose clocks are ahead by these, share 3000 slots,
// and counts how many each one won.
func wins(t *testing.T, ahead [3]time.Duration) (n [3]int) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, model.Options{})
		at(5 * time.Second)
		var all [3]*instance
		for i := range all {
			all[i] = w.start(core.Options{Now: func() time.Time { return time.Now().Add(ahead[i]) }}, core.Job{
				Name: "tick", Schedule: core.Every(10 * time.Second), Handler: w.working(0),
				Timing: core.Timing{CatchUp: core.Disabled},
			})
		}
		at(30_000*time.Second + 5*time.Second)
		ran := map[int64]int{}
		for _, r := range w.ran() {
			ran[r.Slot]++
		}
		for slot := 10 * time.Second; slot <= 30_000*time.Second; slot += 10 * time.Second {
			if n := ran[midnight.Add(slot).UnixMilli()]; n != 1 {
				t.Errorf("slot %v ran %d times", slot, n)
			}
		}
		for i, in := range all {
			n[i] = len(told[core.Succeeded](in))
			if s := told[core.Skipped](in); len(s) > 0 {
				t.Errorf("instance %d skipped %+v", i, s[0])
			}
		}
	})
	return n
}

// TestWinnerIsNearlyRandom: chi-square over three instances with equal clocks. Of
// random winners one in a million gives more than 27.6 (2 degrees of freedom).
func TestWinnerIsNearlyRandom(t *testing.T) {
	n, chi := chiSquare(t)
	t.Logf("wins %v, chi-square %.2f", n, chi)
	if chi > mostChi {
		t.Errorf("wins %v: chi-square is %.1f", n, chi)
	}
}

const mostChi = 27.6

func chiSquare(t *testing.T) (n [3]int, chi float64) {
	n = wins(t, [3]time.Duration{})
	for _, won := range n {
		chi += float64((won-1000)*(won-1000)) / 1000
	}
	return n, chi
}

// TestBudgetWinner puts the same figure into the table of make bench.
func TestBudgetWinner(t *testing.T) {
	budget.Only(t)
	n, chi := chiSquare(t)
	budget.Row(t, "core", "random winner, 3 instances, 3 000 slots: chi-square", chi, "", budget.AtMost(mostChi), fmt.Sprintf("wins %v; random winners pass it once in a million", n))
}

// TestClockAheadWinsMoreOften, and no slot is lost or run twice: with a jitter of
// 2 s, half a second ahead of two others wins 57.8 % (the integral over its own
// delay of the chance that both others draw a later one). Six standard
// deviations are 5.4 %.
func TestClockAheadWinsMoreOften(t *testing.T) {
	n := wins(t, [3]time.Duration{500 * time.Millisecond, 0, 0})
	t.Logf("wins %v", n)
	if share := float64(n[0]) / 3000; share < 0.524 || share > 0.632 {
		t.Errorf("the one ahead won %.1f %%, want 57.8 %%", share*100)
	}
}

// TestSkewedClocks: far apart they still run each slot once. What is too early for
// the store is asked again, and so one fast clock does not take the slots away
// from all the others.
func TestSkewedClocks(t *testing.T) {
	n := wins(t, [3]time.Duration{-8 * time.Second, 0, 13 * time.Second})
	t.Logf("wins %v", n)
	// The one behind comes after all the others. The one ahead is as good as any:
	// half of 3000 within six standard deviations.
	if n[0] > 1 || n[2] < 1336 || n[2] > 1664 {
		t.Errorf("wins %v", n)
	}
}
