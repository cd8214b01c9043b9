package history

import (
	"math"
	"time"
)

// narrow returns when each call of a lease store can have had its effect, where
// calls are slow a much shorter time than from call to return: what changes a job
// does so in the order of its nows, but for clockOrder, as long as the clock rises.
// So two changes whose nows are far apart are given times that do not overlap.
//
// A step may take effect long after it read the clock, if it is held up while it
// has the lock: no other change then comes in between, and a reading may. So a
// reading that was made while a change was under way counts as made before the
// change's end.
func narrow(ops []*Op) map[*Op][2]time.Duration {
	low, high := int64(math.MinInt64/2), int64(math.MaxInt64/2) // the store's clock minus ours, in nanoseconds
	const ms = int64(time.Millisecond)
	for _, o := range ops {
		if now := o.Now(); now != 0 && !isPending(o) {
			low, high = max(low, now*ms-int64(o.Return)), min(high, (now+1)*ms-int64(o.Call))
		}
	}
	const slack = (clockOrder + clockSlack) * ms
	windows := map[*Op][2]time.Duration{}
	for _, o := range ops {
		if o.Class != Answered || o.reads() || isPending(o) {
			continue
		}
		from := max(o.Call, time.Duration(o.Now()*ms-high-slack))
		to := min(o.Return, time.Duration((o.Now()+1)*ms-low+slack))
		if from > to {
			return nil // the clock is not as steady as that
		}
		windows[o] = [2]time.Duration{from, to}
	}
	for _, r := range ops {
		if r.Class != Answered || !r.reads() || isPending(r) {
			continue
		}
		from := r.Call
		for w, window := range windows {
			if !w.reads() && w.Call <= r.Call && w.Return >= r.Call {
				from = min(from, window[1])
			}
		}
		windows[r] = [2]time.Duration{from, r.Return}
	}
	return windows
}
