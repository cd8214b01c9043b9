package main

import (
	"testing"
	"time"
)

func TestCount(t *testing.T) {
	first := time.Unix(1_800_000_000, 0)
	at := func(instance, job int, after time.Duration) start {
		return start{Instance: instance, Job: job, At: first.Add(after).UnixMicro()}
	}
	const ms = time.Millisecond
	w := work{jobs: 3, period: 4 * time.Second, slots: 2}
	for _, c := range []struct {
		name   string
		starts []start
		want   counts
	}{
		{"nothing ran", nil, counts{lost: 6}},
		{"each once, of two slots", []start{
			at(0, 0, 1*ms), at(1, 1, 2*ms), at(1, 2, 3*ms),
			at(2, 0, 4001*ms), at(1, 1, 4002*ms), at(0, 2, 4009*ms),
		}, counts{runs: 6, busiest: 3, once: 6, median: 2 * ms, p99: 9 * ms, longest: 9 * ms}},
		{"twice: the first start counts, in whatever order they are told", []start{
			at(0, 0, 60*ms), at(1, 0, 10*ms), at(2, 0, 30*ms), at(0, 1, 5*ms),
		}, counts{runs: 4, busiest: 2, once: 1, more: 1, lost: 4, median: 10 * ms, p99: 10 * ms, longest: 10 * ms}},
		{"outside of the measured slots", []start{at(0, 0, -1*ms), at(0, 0, 8*time.Second), at(0, 1, 7999*ms)},
			counts{runs: 1, busiest: 1, once: 1, lost: 5, median: 3999 * ms, p99: 3999 * ms, longest: 3999 * ms}},
		{"told for which slot: later than the next one, before its time, for another", []start{
			{0, 0, first.Add(4500 * ms).UnixMicro(), first.UnixMicro()},
			{0, 1, first.Add(-1 * ms).UnixMicro(), first.UnixMicro()},
			{0, 2, first.Add(1 * ms).UnixMicro(), first.Add(-4000 * ms).UnixMicro()},
			{0, 2, first.Add(1 * ms).UnixMicro(), first.Add(8000 * ms).UnixMicro()},
		}, counts{runs: 2, busiest: 2, once: 2, lost: 4, median: 4500 * ms, p99: 4500 * ms, longest: 4500 * ms}},
	} {
		if got := count(c.starts, w, first); got != c.want {
			t.Errorf("%s: %+v; want %+v", c.name, got, c.want)
		}
	}
}

func TestQuantiles(t *testing.T) {
	first := time.Unix(1_800_000_000, 0)
	var starts []start
	for job := range 1000 {
		starts = append(starts, start{Job: job, At: first.Add(time.Duration(job) * time.Millisecond).UnixMicro()})
	}
	got := count(starts, work{1000, 4 * time.Second, 1}, first)
	if got.median != 500*time.Millisecond || got.p99 != 990*time.Millisecond || got.longest != 999*time.Millisecond {
		t.Errorf("median %v, p99 %v, longest %v", got.median, got.p99, got.longest)
	}
}
