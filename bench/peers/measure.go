package main

import (
	"context"
	"fmt"
	"os"
	"time"
)

const (
	instances = 3
	// before is how long before a slot the figures are taken.
	before = 400 * time.Millisecond
	// warming is how many slots may pass until jobs run: until a leader is elected, and the like.
	warming = 10
)

// work is how much is asked of every subject.
type work struct {
	jobs   int
	period time.Duration
	slots  int
}

// result is what a subject did.
type result struct {
	subject
	counts
	store     load  // from slot to slot
	instances usage // processor time of all three, from slot to slot; memory of one, on average
}

// measure lets a subject do the work.
func measure(ctx context.Context, i int, w work) (r result, err error) {
	r.subject = subjects[i]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := serve(ctx, r.subject.store)
	if err != nil {
		return r, err
	}
	defer s.close()
	g, err := launchAll(ctx, i, s.Addr(), w)
	defer func() {
		g.stop()
		if r.counts.lost > 0 {
			g.explain(r.counts.lost)
		}
	}()
	if err != nil {
		return r, err
	}
	if err := g.warm(w); err != nil {
		return r, err
	}
	// The last answer was taken before a slot, and so are both of these.
	load0, usage0, err := g.look(ctx, s)
	if err != nil {
		return r, err
	}
	first := time.Now().Truncate(w.period).Add(w.period)
	sleepUntil(first.Add(time.Duration(w.slots)*w.period - before))
	load1, usage1, err := g.look(ctx, s)
	if err != nil {
		return r, err
	}
	if r.counts, err = g.count(w, first); err != nil {
		return r, err
	}
	r.store = load1.minus(load0)
	r.instances = usage{usage1.cpu - usage0.cpu, usage1.rss / instances}
	return r, nil
}

// group is the instances of a subject.
type group []*process

func launchAll(ctx context.Context, subject int, addr string, w work) (g group, err error) {
	for i := range instances {
		p, err := launch(ctx, order{Subject: subject, Instance: instance{Index: i, Store: subjects[subject].store, Addr: addr, Jobs: w.jobs, Period: w.period}})
		if err != nil {
			return g, err
		}
		g = append(g, p)
	}
	for _, p := range g {
		var r ready
		if err := p.read(&r); err != nil {
			return g, err
		}
		p.pids = r.PIDs
	}
	return g, nil
}

// warm returns shortly before a slot, when most jobs ran at the slot before. Not all: there are schedulers that lose some.
func (g group) warm(w work) error {
	for range warming {
		next := time.Now().Add(before).Truncate(w.period).Add(w.period)
		sleepUntil(next.Add(-before))
		starts, err := g.starts()
		if err != nil {
			return err
		}
		if c := count(starts, work{w.jobs, w.period, 1}, next.Add(-w.period)); c.lost < w.jobs/2 {
			return nil
		}
	}
	return fmt.Errorf("in %d slots there was none at which most jobs ran", warming)
}

// look takes the figures.
func (g group) look(ctx context.Context, s *server) (l load, u usage, err error) {
	for _, p := range g {
		for _, pid := range p.pids {
			one, err := used(pid)
			if err != nil {
				return l, u, err
			}
			u = u.plus(one)
		}
	}
	l, err = s.load(ctx)
	return l, u, err
}

// starts returns those of all instances since the last call.
func (g group) starts() (all []start, err error) {
	for _, p := range g {
		s, err := p.starts()
		if err != nil {
			return nil, err
		}
		all = append(all, s...)
	}
	return all, nil
}

// count judges the slots from first on. For starts that are still to come it waits for a period more.
func (g group) count(w work, first time.Time) (c counts, err error) {
	var all []start
	for end := time.Now().Add(w.period); ; time.Sleep(time.Second) {
		starts, err := g.starts()
		if err != nil {
			return c, err
		}
		all = append(all, starts...)
		if c = count(all, w, first); c.lost == 0 || time.Now().After(end) {
			return c, nil
		}
	}
}

func (g group) stop() {
	for _, p := range g {
		p.in.Close()
	}
	for _, p := range g {
		p.stop()
	}
}

// explain shows what the instances, which have ended, said last.
func (g group) explain(lost int) {
	const most = 4096
	for i, p := range g {
		said := p.errors.String()
		fmt.Fprintf(os.Stderr, "%d slots did not run; the end of what instance %d said:\n%s\n", lost, i, said[max(0, len(said)-most):])
	}
}

func sleepUntil(t time.Time) { time.Sleep(time.Until(t)) }

// await lets jobs wait in one process, and returns what it costs.
func await(ctx context.Context, i, jobs int) (w waits, err error) {
	addr := ""
	if store := waiters[i].store; store != "" {
		s, err := serve(ctx, store)
		if err != nil {
			return w, err
		}
		defer s.close()
		addr = s.Addr()
	}
	p, err := launch(ctx, order{Subject: i, Waiting: true, Instance: instance{Store: waiters[i].store, Addr: addr, Jobs: jobs}})
	if err != nil {
		return w, err
	}
	defer p.stop()
	return w, p.read(&w)
}
