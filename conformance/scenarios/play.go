package scenarios

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/hostprog"
	"github.com/anarchon-go/anarchon/internal/sigstop"
	"github.com/anarchon-go/anarchon/storekit"
)

// Play is one performance on a store: the instances' processes and all that they
// say. Steps are done one after the other; the instances speak meanwhile.
type Play struct {
	ctx    context.Context
	timing Timing
	jobs   []hostprog.Job
	set    func(lane string, c *hostprog.Config)
	stage  *Stage
	plugin storekit.Plugin // as the instances open it, but for their proxies
	probe  *storekit.Client
	kind   store.Kind
	dir    string // where the instances' sockets lie
	zero   time.Time

	hosts   map[string]*host  // by lane, the newest
	proxies map[string]*proxy // by lane
	starts  map[string]int    // by lane

	mu      sync.Mutex
	rec     Record
	plugins map[int]string // process ids of all plugins there were, by name of their instance
	news    chan struct{}  // closed when something was said
}

// errTooSlow: the instances were not up before time zero; the play proves nothing.
var errTooSlow = errors.New("the instances were not up in time")

// open prepares a play: a namespace of its own, time zero in lead from now.
func (st *Stage) open(ctx context.Context, jobs []hostprog.Job, t Timing, set func(string, *hostprog.Config), links bool, lead time.Duration) (*Play, error) {
	dir, err := os.MkdirTemp("", "play")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	p := &Play{
		ctx: ctx, timing: t, set: set, stage: st, dir: dir,
		plugin:  st.plugin.Launch("scene_"+store.NewClaimID().String()[:12], map[string]string{st.plugin.Data(): data}),
		hosts:   map[string]*host{},
		starts:  map[string]int{},
		proxies: map[string]*proxy{},
		plugins: map[int]string{},
		news:    make(chan struct{}),
		// A whole second, so that pictures and logs are easy to read together.
		zero: time.Now().Add(lead).Truncate(time.Second).Add(time.Second),
	}
	if p.probe, err = storekit.Open(ctx, p.plugin); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	desc, err := p.probe.Describe(ctx)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	p.kind = desc.Kind
	p.rec = Record{Store: desc, Timing: t, Zero: p.zero, Roles: map[string]string{}, Probes: map[string]string{}}
	for _, j := range jobs {
		j.First += p.zero.UnixMilli()
		p.jobs = append(p.jobs, j)
	}
	if links {
		for _, lane := range lanes {
			if p.proxies[lane], err = newProxy(st.server.Addr()); err != nil {
				return nil, errors.Join(err, p.close())
			}
		}
	}
	return p, nil
}

// lanes are the names that instances have.
var lanes = []string{"A", "B", "C", "D", "E"}

func (p *Play) close() error {
	for _, proxy := range p.proxies {
		proxy.close()
	}
	return errors.Join(p.probe.Close(), os.RemoveAll(p.dir))
}

// start starts an instance, again if its lane had one.
func (p *Play) start(lane string) error {
	if h := p.hosts[lane]; h != nil && !h.isGone(0) {
		return fmt.Errorf("%s runs already", lane)
	}
	p.starts[lane]++
	name := lane
	if n := p.starts[lane]; n > 1 {
		name += "." + strconv.Itoa(n)
	}
	plugin := p.plugin
	if proxy := p.proxies[lane]; proxy != nil {
		plugin.Config = replaceAddress(plugin.Config, p.stage.server.Addr(), proxy.addr())
	}
	c := hostConfig{Path: plugin.Path, Options: plugin.Config, Config: hostprog.Config{
		Name: name, Jobs: p.jobs,
		Lease: p.timing.Lease, Heartbeat: p.timing.Heartbeat, Jitter: p.timing.Jitter, Stop: p.timing.Stop,
	}}
	if p.set != nil {
		p.set(lane, &c.Config)
	}
	cmd := p.stage.host()
	cmd.Env = append(cmd.Environ(), "RUNTIME_DIRECTORY="+p.dir)
	p.did(lane, "start")
	h, err := startHost(cmd, c, p.said)
	if err != nil {
		return err
	}
	p.hosts[lane] = h
	go func() {
		<-h.gone
		p.did(lane, "ended")
	}()
	return nil
}

// said takes an instance's line.
func (p *Play) said(l hostprog.Line) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.Lines = append(p.rec.Lines, l)
	if l.What == "plugin" && l.PID != 0 {
		p.plugins[l.PID] = l.Instance
	}
	p.tellNews()
}

// did notes an act.
func (p *Play) did(lane, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.Acts = append(p.rec.Acts, Act{time.Now(), lane, what})
	p.tellNews()
}

func (p *Play) tellNews() {
	close(p.news)
	p.news = make(chan struct{})
}

// await waits until an instance has said a line that matches; it may have done so
// before. The error says what was waited for.
func (p *Play) await(what string, within time.Duration, match func(hostprog.Line) bool) (hostprog.Line, error) {
	return p.awaitIn(p.ctx, what, within, match)
}

func (p *Play) awaitIn(ctx context.Context, what string, within time.Duration, match func(hostprog.Line) bool) (hostprog.Line, error) {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	for seen := 0; ; {
		p.mu.Lock()
		lines, news := p.rec.Lines, p.news
		p.mu.Unlock()
		for ; seen < len(lines); seen++ {
			if match(lines[seen]) {
				return lines[seen], nil
			}
		}
		select {
		case <-news:
		case <-ctx.Done():
			return hostprog.Line{}, context.Cause(ctx)
		case <-deadline.C:
			return hostprog.Line{}, fmt.Errorf("waited %v in vain for this: %s", within, what)
		}
	}
}

// sleep waits until a time.
func (p *Play) sleep(until time.Time) error {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// role returns the instance that plays a role; a lane's name is a role too.
func (p *Play) role(role string) (*host, error) {
	name, ok := p.rec.Roles[role]
	if !ok {
		name = role
	}
	for _, h := range p.hosts {
		if h.name == name || h.lane == name {
			return h, nil
		}
	}
	return nil, fmt.Errorf("there is no %s", role)
}

// pluginOf returns the process id of an instance's plugin, 0 if none is known.
func (p *Play) pluginOf(h *host) (pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.rec.Lines {
		if l.What == "plugin" && l.Instance == h.name {
			pid = l.PID
		}
	}
	return pid
}

// kill ends an instance as kill -9 does.
func (p *Play) kill(h *host) error {
	p.did(h.lane, "kill -9")
	if err := h.signal(syscall.SIGKILL); err != nil {
		return err
	}
	if !h.isGone(patience) {
		return fmt.Errorf("%s is still there %v after kill -9", h.name, patience)
	}
	return nil
}

// freeze stops an instance and its plugin, as a machine that is suspended.
func (p *Play) freeze(h *host) error {
	p.did(h.lane, "SIGSTOP")
	h.frozen = true
	err := sigstop.Freeze(h.cmd.Process.Pid)
	if pid := p.pluginOf(h); pid != 0 {
		_ = sigstop.Freeze(pid) // it may just have died
	}
	return err
}

// thaw lets a frozen instance go on.
func (p *Play) thaw(h *host) error {
	p.did(h.lane, "SIGCONT")
	h.frozen = false
	if pid := p.pluginOf(h); pid != 0 {
		_ = sigstop.Thaw(pid)
	}
	return sigstop.Thaw(h.cmd.Process.Pid)
}

// stop asks an instance to stop gracefully.
func (p *Play) stop(h *host) error {
	p.did(h.lane, "SIGTERM")
	return h.signal(syscall.SIGTERM)
}

// patience is how long things may take that take no time on a quiet machine.
const patience = 20 * time.Second

// end stops all instances and returns the record. The error says what was left
// behind.
func (p *Play) end() (*Record, error) {
	done := time.Now()
	var errs []error
	for _, lane := range slices.Sorted(maps.Keys(p.hosts)) {
		h := p.hosts[lane]
		if h.isGone(0) {
			continue
		}
		if h.frozen {
			errs = append(errs, p.thaw(h))
		}
		errs = append(errs, p.stop(h))
	}
	for _, h := range p.hosts {
		if !h.isGone(p.timing.Stop + patience) {
			_ = h.signal(syscall.SIGKILL)
			<-h.gone
			errs = append(errs, fmt.Errorf("%s did not stop within %v\n%s", h.name, p.timing.Stop+patience, h.words))
		}
	}
	errs = append(errs, p.recall(), p.orphans())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rec.Done = done
	slices.SortStableFunc(p.rec.Lines, func(a, b hostprog.Line) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(p.rec.Acts, func(a, b Act) int { return a.At.Compare(b.At) })
	return &p.rec, errors.Join(errs...)
}

// orphans finds the plugins that outlived their instances.
func (p *Play) orphans() error {
	p.mu.Lock()
	left := maps.Clone(p.plugins)
	p.mu.Unlock()
	for deadline := time.Now().Add(patience); len(left) > 0; time.Sleep(10 * time.Millisecond) {
		maps.DeleteFunc(left, func(pid int, _ string) bool { return !runs(pid) || !p.isPlugin(pid) })
		if time.Now().After(deadline) {
			return fmt.Errorf("these plugins outlived their instances: %v", left)
		}
	}
	return nil
}

// isPlugin reports whether a process is one of the plugin's program, where the system
// tells: process ids are used again.
func (p *Play) isPlugin(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err != nil || exe == p.plugin.Path
}

// runs reports whether a process is there and no zombie.
func runs(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, os.ErrNotExist) // where there is no /proc, the signal decides
	}
	for i := len(stat) - 1; i > 1; i-- { // the name in parentheses may hold anything
		if stat[i] == ')' {
			return i+2 >= len(stat) || stat[i+2] != 'Z'
		}
	}
	return true
}
