package main

import (
	"slices"
	"time"
)

// counts is what became of the slots.
type counts struct {
	runs    int           // handlers that were started
	busiest int           // of these, those on the instance that had the most
	once    int           // (job, slot) that ran once
	more    int           // (job, slot) that ran several times
	lost    int           // (job, slot) that did not run
	median  time.Duration // from the slot to its first start
	p99     time.Duration
	longest time.Duration
}

// count judges the starts of w.slots slots, of which first is the first. A start whose scheduler does not say for which slot it is
// belongs to the slot before it.
func count(starts []start, w work, first time.Time) (c counts) {
	type run struct{ job, slot int }
	times := map[run]int{}
	share := map[int]int{}
	firsts := map[run]time.Duration{}
	for _, s := range starts {
		at := time.UnixMicro(s.At)
		slot := at.Truncate(w.period)
		if s.Slot != 0 {
			slot = time.UnixMicro(s.Slot)
		}
		r := run{s.Job, int(slot.Sub(first) / w.period)}
		if slot.Before(first) || r.slot >= w.slots {
			continue
		}
		c.runs++
		share[s.Instance]++
		c.busiest = max(c.busiest, share[s.Instance])
		times[r]++
		late := at.Sub(slot)
		if earliest, ok := firsts[r]; !ok || late < earliest {
			firsts[r] = late
		}
	}
	var lates []time.Duration
	for r, n := range times {
		lates = append(lates, firsts[r])
		if n == 1 {
			c.once++
		} else {
			c.more++
		}
	}
	c.lost = w.jobs*w.slots - len(times)
	if len(lates) == 0 {
		return c
	}
	slices.Sort(lates)
	c.median, c.p99, c.longest = lates[len(lates)/2], lates[len(lates)*99/100], lates[len(lates)-1]
	return c
}
