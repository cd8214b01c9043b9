package redisstore

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/budget"
)

type claimFunc func(context.Context, store.ClaimRequest) (store.ClaimAnswer, error)

// budgetServer is a server to measure with: in a container, called through the
// port that the engine publishes. A round trip through the engine's proxy takes
// some tenths of a millisecond, as on a network; the budgets are meant for that.
func budgetServer(t testing.TB) options {
	t.Helper()
	openHouse(t)
	return freshOn(t, "redis://"+house.c.Addr())
}

// What the plugin reaches, against what the server can do at most and against a
// driver in process that sends each claim by itself.
func TestThroughputBudget(t *testing.T) {
	budget.Only(t)
	o := budgetServer(t)
	direct, plugin := open(t, o), openPlugin(t, o)
	l := newLoad(t, direct)
	url := o["url"].(string)
	client := driver(t, url)

	const callers, span = 256, 1500 * time.Millisecond
	var raw, through, unbatched []float64
	var server, host time.Duration // work per claim, through the plugin
	for range 3 {
		for _, conns := range []int{1, 2} {
			raw = append(raw, l.raw(t, direct, url, conns, 64, 1000/conns, span))
		}
		_, server0 := spent(t, client)
		host0 := ownWork(t)
		rate := l.callers(t, callers, span, plugin.Claim)
		claims := time.Duration(rate * span.Seconds())
		_, server1 := spent(t, client)
		server, host = (server1-server0)/claims, (ownWork(t)-host0)/claims
		through = append(through, rate)
		unbatched = append(unbatched, l.callers(t, 64, span, direct.Claim))
	}
	budget.Row(t, "redis", fmt.Sprintf("claims/s through the plugin, %d callers, to the server's limit of the same script", callers),
		budget.Best(through)/budget.Best(raw), "×", budget.AtLeast(0.9),
		fmt.Sprintf("%.0f to %.0f claims/s; a claim takes %v of the server's core and %v of the host's", budget.Best(through), budget.Best(raw), server, host))
	budget.Row(t, "redis", fmt.Sprintf("claims/s through the plugin, %d callers, to a driver in process without batches", callers),
		budget.Best(through)/budget.Best(unbatched), "×", budget.AtLeast(3),
		fmt.Sprintf("%.0f to %.0f claims/s", budget.Best(through), budget.Best(unbatched)))
}

// One claim alone: what the way through the plugin adds.
func TestLatencyBudget(t *testing.T) {
	budget.Only(t)
	o := budgetServer(t)
	direct, plugin := open(t, o), openPlugin(t, o)
	l := newLoad(t, direct)
	alone := func(claim claimFunc) float64 {
		took := make([]float64, 500)
		for i := range took {
			q := l.claim()
			begin := time.Now()
			if _, err := claim(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			took[i] = time.Since(begin).Seconds() * 1000
		}
		return budget.Median(took)
	}
	var inside, outside []float64
	for range 5 {
		inside, outside = append(inside, alone(direct.Claim)), append(outside, alone(plugin.Claim))
	}
	budget.Row(t, "redis", "one claim alone through the plugin, to the same in process, medians",
		budget.Least(outside)/budget.Least(inside), "×", budget.AtMost(2),
		fmt.Sprintf("%.3f ms to %.3f ms", budget.Least(outside), budget.Least(inside)))
}

// ownWork is the time that this process, which is the host, used of a core so far.
func ownWork(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
