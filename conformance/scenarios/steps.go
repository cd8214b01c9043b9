package scenarios

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
)

// start starts instances at once and waits until they are up.
func start(lanes ...string) Step {
	return Step{Says: "start " + strings.Join(lanes, ", "), Do: func(p *Play) error {
		for _, lane := range lanes {
			if err := p.start(lane); err != nil {
				return err
			}
		}
		for _, lane := range lanes {
			if err := p.awaitUp(p.hosts[lane]); err != nil {
				return err
			}
		}
		return nil
	}}
}

// awaitUp waits until an instance is up. That it ended instead is an error.
func (p *Play) awaitUp(h *host) error {
	ctx, cancel := context.WithCancelCause(p.ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-h.gone:
			cancel(fmt.Errorf("%s ended", h.name))
		case <-ctx.Done():
		}
	}()
	_, err := p.awaitIn(ctx, h.name+" is up", 2*patience, func(l hostprog.Line) bool {
		return l.What == "ready" && l.Instance == h.name
	})
	if err != nil {
		return fmt.Errorf("%w; it said\n%s", err, h.words)
	}
	return nil
}

// startBefore is start, in time for the slot at time zero.
func startBefore(lanes ...string) Step {
	s := start(lanes...)
	do := s.Do
	s.Do = func(p *Play) error {
		if err := do(p); err != nil {
			return fmt.Errorf("%w: %w", errTooSlow, err)
		}
		if time.Until(p.zero) < 300*time.Millisecond {
			return errTooSlow
		}
		return nil
	}
	return s
}

// awaitRun waits until an attempt of a job begins; who runs it gets the role.
func awaitRun(job string, attempt int, role string) Step {
	return Step{Says: fmt.Sprintf("wait until attempt %d of %s begins: its instance is the %s", attempt, job, role), Do: func(p *Play) error {
		within := max(time.Until(p.zero), 0) + skewed + p.timing.over() + p.longest() + patience
		l, err := p.await(fmt.Sprintf("attempt %d of %s begins", attempt, job), within, func(l hostprog.Line) bool {
			return l.What == "started" && l.Job == job && l.Attempt == attempt
		})
		p.cast(role, l.Instance)
		return err
	}}
}

// another gives the role to an instance that is up and does not have the other one.
func another(role, than string) Step {
	return Step{Says: "the " + role + " is an instance that is not the " + than, Do: func(p *Play) error {
		for _, lane := range lanes {
			if h := p.hosts[lane]; h != nil && !h.isGone(0) && h.name != p.rec.Roles[than] {
				p.cast(role, h.name)
				return nil
			}
		}
		return fmt.Errorf("no instance but the %s is up", than)
	}}
}

func (p *Play) cast(role, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.Roles[role] = name
}

// awaitLine waits until somebody of a role (any if empty) says so about a job.
func awaitLine(role, what, job string) Step {
	who := role
	if role == "" {
		who = "an instance"
	}
	return Step{Says: fmt.Sprintf("wait until %s says %q of %s", who, what, job), Do: func(p *Play) error {
		_, err := p.await(who+" says "+what, p.timing.over()+p.longest()+2*patience, func(l hostprog.Line) bool {
			return l.What == what && l.Job == job && (role == "" || l.Instance == p.rec.Roles[role])
		})
		return err
	}}
}

// longest is how long the longest run of a job lasts.
func (p *Play) longest() (most time.Duration) {
	for _, j := range p.jobs {
		most = max(most, j.Takes)
	}
	return most
}

// awaitRefused waits until the store has refused the token of the instance.
func awaitRefused(role, job string) Step {
	return Step{Says: "wait until the store refuses the token of the " + role, Do: func(p *Play) error {
		_, err := p.await("the store refuses a token", p.timing.over()+patience, func(l hostprog.Line) bool {
			return l.Job == job && l.Instance == p.rec.Roles[role] && (l.What == "heartbeat" || l.What == "finish") && l.Answer == "lost"
		})
		return err
	}}
}

// awaitSlot waits until somebody says so about a slot, as seconds from time zero.
func awaitSlot(what, job, slot string) Step {
	return Step{Says: fmt.Sprintf("wait until %s of %s %s", slot, job, what), Do: func(p *Play) error {
		within := max(time.Until(p.zero), 0) + p.timing.over() + p.longest() + 2*patience
		_, err := p.await(fmt.Sprintf("%s of %s %s", slot, job, what), within, func(l hostprog.Line) bool {
			return l.What == what && l.Job == job && p.rec.slot(l.Slot) == slot
		})
		return err
	}}
}

func after(d time.Duration) Step {
	return Step{Says: fmt.Sprintf("%v pass", d), Do: func(p *Play) error { return p.sleep(time.Now().Add(d)) }}
}

// at waits until a time, counted from time zero.
func at(d time.Duration) Step {
	return Step{Says: fmt.Sprintf("it becomes %+gs", d.Seconds()), Do: func(p *Play) error { return p.sleep(p.zero.Add(d)) }}
}

// onRole does something to the instance of a role.
func onRole(says, role string, do func(*Play, *host) error) Step {
	return Step{Says: says + " the " + role, Do: func(p *Play) error {
		h, err := p.role(role)
		if err != nil {
			return err
		}
		return do(p, h)
	}}
}

func kill(role string) Step   { return onRole("kill -9", role, (*Play).kill) }
func freeze(role string) Step { return onRole("freeze (SIGSTOP)", role, (*Play).freeze) }
func thaw(role string) Step   { return onRole("thaw (SIGCONT)", role, (*Play).thaw) }
func stop(role string) Step   { return onRole("stop (SIGTERM)", role, (*Play).stop) }

func awaitGone(role string) Step {
	return onRole("wait for the end of", role, func(p *Play, h *host) error {
		if !h.isGone(p.timing.Stop + patience) {
			return fmt.Errorf("%s has not stopped", h.name)
		}
		return nil
	})
}

func restart(role string) Step {
	return onRole("start again", role, func(p *Play, h *host) error {
		p.cast(role, fmt.Sprintf("%s.%d", h.lane, p.starts[h.lane]+1))
		return start(h.lane).Do(p)
	})
}

func killAll() Step {
	return Step{Says: "kill -9 all", Do: func(p *Play) error {
		for _, h := range p.hosts {
			p.did(h.lane, "kill -9")
			if err := h.signal(syscall.SIGKILL); err != nil {
				return err
			}
		}
		for _, h := range p.hosts {
			if !h.isGone(patience) {
				return fmt.Errorf("%s is still there", h.name)
			}
		}
		return nil
	}}
}

func stopAll() Step {
	return Step{Says: "stop all (SIGTERM)", Do: func(p *Play) error {
		for _, h := range p.hosts {
			if err := p.stop(h); err != nil {
				return err
			}
		}
		for _, h := range p.hosts {
			if !h.isGone(p.timing.Stop + patience) {
				return fmt.Errorf("%s has not stopped", h.name)
			}
		}
		return nil
	}}
}

// killPlugin kills the plugin of the instance of a role.
func killPlugin(role string) Step {
	return onRole("kill -9 the plugin of", role, func(p *Play, h *host) error {
		pid := p.pluginOf(h)
		if pid == 0 {
			return fmt.Errorf("the plugin of %s is not known", h.name)
		}
		p.did(h.lane, "kill -9 plugin")
		return syscall.Kill(pid, syscall.SIGKILL)
	})
}

func cut(role string) Step {
	return onRole("cut off from the store", role, func(p *Play, h *host) error {
		p.did(h.lane, "cut")
		p.proxies[h.lane].cut()
		return nil
	})
}

func mend(role string) Step {
	return onRole("mend the link of", role, func(p *Play, h *host) error {
		p.did(h.lane, "mended")
		p.proxies[h.lane].mend()
		return nil
	})
}

func storeDown() Step {
	return Step{Says: "kill -9 the store", Do: func(p *Play) error {
		p.did("store", "down")
		return p.stage.server.Kill(p.ctx)
	}}
}

func storeUp() Step {
	return Step{Says: "start the store again", Do: func(p *Play) error {
		err := p.stage.server.Again(p.ctx)
		p.did("store", "up")
		return err
	}}
}

// staleFinish sends a finish with the token of an attempt that was taken over.
func staleFinish(job string, attempt int, probe string) Step {
	return Step{Says: fmt.Sprintf("a finish with the token of attempt %d is sent", attempt), Kind: store.KindLease, Do: func(p *Play) error {
		l, err := p.await("the grant of attempt", patience, func(l hostprog.Line) bool {
			return l.What == "claim" && l.Answer == "won" && l.Job == job && l.Attempt == attempt
		})
		if err != nil {
			return err
		}
		return p.ask(func(ctx context.Context) error {
			ans, err := p.probe.Finish(ctx, store.FinishRequest{Job: job, Slot: l.Slot, Token: store.Token(l.Token), Outcome: store.OutcomeSuccess})
			p.probed(probe, pick(ans.Recorded, "recorded", "lost"))
			return err
		})
	}}
}

// countAttempts asks the store how many attempts of the unfinished run of a job
// count.
func countAttempts(job, probe string) Step {
	return Step{Says: "the store is asked how many attempts count", Kind: store.KindLease, Do: func(p *Play) error {
		runs, err := p.unfinished()
		if err != nil {
			return err
		}
		for _, r := range runs {
			p.probed(probe, fmt.Sprintf("attempt %d, %d counted", r.Attempt, r.Counted))
		}
		return nil
	}}
}

func (p *Play) probed(name, answer string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.Probes[name] = answer
}

// on restricts steps to one kind of backend.
func on(k store.Kind, steps ...Step) []Step {
	for i := range steps {
		steps[i].Kind = k
	}
	return steps
}

func script(parts ...any) []Step {
	var steps []Step
	for _, p := range parts {
		switch p := p.(type) {
		case Step:
			steps = append(steps, p)
		case []Step:
			steps = append(steps, p...)
		default:
			panic(fmt.Sprintf("a script holds steps, not %T", p))
		}
	}
	return steps
}

func pick[T any](yes bool, a, b T) T {
	if yes {
		return a
	}
	return b
}
