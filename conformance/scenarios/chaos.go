package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// chaosJobs is how many jobs the instances share.
const chaosJobs = 50

// Chaos breaks things at random for so long: instances are killed, frozen, stopped
// and started again, their plugins killed, their links cut, the store killed and
// started again. Then all stop, one starts, and what happened is judged by rules. The
// seed decides what is done and when, as far as real processes can be told. The stage
// must not be played on by others meanwhile. The error says that it could not be
// played to its end.
func (st *Stage) Chaos(ctx context.Context, t Timing, length time.Duration, seed uint64) (*ChaosResult, error) {
	c := &chaos{rng: rand.New(rand.NewPCG(seed, 0)), length: length}
	c.hosts = lanes[:3+c.rng.IntN(3)]
	set := func(_ string, h *hostprog.Config) { h.History = store.MaxHistory }
	var err error
	if c.Play, err = st.open(ctx, c.jobs(), t, set, st.server != nil, 3*time.Second); err != nil {
		return nil, err
	}
	err = c.rage()
	late, endErr := c.calm()
	r := &ChaosResult{Backend: st.Name, Seed: seed, Length: length, Hosts: len(c.hosts)}
	r.Record, r.Err = c.Play.end()
	r.judge(c.Play, late)
	return r, errors.Join(err, endErr, c.Play.close())
}

type chaos struct {
	*Play
	rng    *rand.Rand
	length time.Duration
	hosts  []string
	undo   []undoing
	store  time.Time // when it may be killed next
}

// undoing is something that was broken and is mended later.
type undoing struct {
	at time.Time
	do func() error
}

// jobs are due every 1 to 10 seconds, and end before a lease does, so that after two
// leases without new slots nothing runs.
func (c *chaos) jobs() []hostprog.Job {
	var jobs []hostprog.Job
	for i := range chaosJobs {
		every := time.Duration(1+c.rng.IntN(10)) * time.Second
		jobs = append(jobs, hostprog.Job{
			Name: fmt.Sprintf("job %02d", i), Every: every, Count: max(int(c.length/every), 1),
			Takes:   100*time.Millisecond + time.Duration(c.rng.Int64N(int64(2400*time.Millisecond))),
			Overlap: pick(i%5 == 0, "allow", "skip"),
		})
	}
	return jobs
}

// between is a random duration.
func (c *chaos) between(least, most time.Duration) time.Duration {
	return least + time.Duration(c.rng.Int64N(int64(most-least)))
}

// rage breaks things until the time is over.
func (c *chaos) rage() error {
	for _, lane := range c.hosts {
		if err := c.start(lane); err != nil {
			return err
		}
	}
	if err := c.sleep(c.zero); err != nil {
		return err
	}
	c.store = c.zero.Add(10 * time.Second)
	next := time.Now()
	for end := c.zero.Add(c.length); time.Now().Before(end); {
		now := time.Now()
		for i := 0; i < len(c.undo); i++ {
			if u := c.undo[i]; now.After(u.at) {
				c.undo = append(c.undo[:i], c.undo[i+1:]...)
				i--
				if err := u.do(); err != nil {
					return err
				}
			}
		}
		if now.After(next) {
			if err := c.strike(c.hosts[c.rng.IntN(len(c.hosts))]); err != nil {
				return err
			}
			next = now.Add(c.between(200*time.Millisecond, 1500*time.Millisecond))
		}
		if err := c.sleep(now.Add(20 * time.Millisecond)); err != nil {
			return err
		}
	}
	return nil
}

func (c *chaos) later(after time.Duration, do func() error) {
	c.undo = append(c.undo, undoing{time.Now().Add(after), do})
}

// strike does something to an instance, or to the store. One that is dead is started.
func (c *chaos) strike(lane string) error {
	h := c.Play.hosts[lane]
	if h.isGone(0) {
		return c.start(lane)
	}
	if h.frozen {
		return nil
	}
	switch n := c.rng.IntN(100); {
	case n < 20:
		return c.kill(h)
	case n < 45:
		c.later(c.between(200*time.Millisecond, 2*c.timing.Lease), func() error { return c.thawIfThere(h) })
		return c.freeze(h)
	case n < 60:
		return c.stop(h)
	case n < 72:
		if pid := c.pluginOf(h); pid != 0 {
			c.did(lane, "kill -9 plugin")
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have died
		}
	case n < 87 && c.proxies[lane] != nil:
		c.did(lane, "cut")
		c.proxies[lane].cut()
		c.later(c.between(200*time.Millisecond, 2*c.timing.Lease), func() error {
			c.did(lane, "mended")
			c.proxies[lane].mend()
			return nil
		})
	case n < 92 && c.stage.server != nil && time.Now().After(c.store):
		return c.restartStore()
	}
	return nil
}

func (c *chaos) restartStore() error {
	c.did("store", "down")
	if err := c.stage.server.Kill(c.ctx); err != nil {
		return err
	}
	if err := c.sleep(time.Now().Add(c.between(0, c.timing.Lease))); err != nil {
		return err
	}
	err := c.stage.server.Again(c.ctx)
	c.did("store", "up")
	c.store = time.Now().Add(20 * time.Second)
	return err
}

func (c *chaos) thawIfThere(h *host) error {
	if h.isGone(0) {
		return nil
	}
	return c.thaw(h)
}

// calm mends everything, stops all, starts one, and waits two leases, and the margin
// if need be. Late are the runs that are unfinished then.
func (c *chaos) calm() (late []store.UnfinishedRun, err error) {
	var errs []error
	for _, u := range c.undo {
		errs = append(errs, u.do())
	}
	for _, lane := range c.hosts {
		if h := c.Play.hosts[lane]; h != nil && !h.isGone(0) {
			errs = append(errs, c.stop(h))
		}
	}
	for _, lane := range c.hosts {
		if h := c.Play.hosts[lane]; h != nil && !h.isGone(c.timing.Stop+patience) {
			errs = append(errs, fmt.Errorf("%s does not stop\n%s", h.name, h.words), c.kill(h))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if err := start("A").Do(c.Play); err != nil {
		return nil, err
	}
	began := time.Now()
	for until := time.Now().Add(2 * c.timing.Lease); ; until = time.Now().Add(200 * time.Millisecond) {
		if err := c.sleep(until); err != nil || c.kind != store.KindLease {
			return nil, err
		}
		if late, err = c.unfinished(); err != nil {
			return nil, err
		}
		if len(late) == 0 || time.Since(began) > 2*c.timing.Lease+c.timing.Margin {
			return late, nil
		}
	}
}

// sockets are the directories of plugins' sockets that are left in the play's own.
func (p *Play) sockets() (left []string) {
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "anarchon") {
			left = append(left, e.Name())
		}
	}
	return left
}
