package subject

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/link"
	"github.com/anarchon-go/anarchon/internal/sigstop"
)

// Lacks says why something can't be done to the plugin or its store.
func (p *Plugin) Lacks(need kit.Needs) string {
	switch need {
	case kit.NeedLink, kit.NeedPause, kit.NeedCrash, kit.NeedSpace, kit.NeedConnections:
		switch reason := p.variant.Faults[need.String()]; {
		case reason != "":
			return "not covered: " + reason
		case need == kit.NeedSpace && len(p.variant.Small) > 0:
			if _, err := p.small(); err != nil {
				return fmt.Sprintf("not covered: no small file system can be made here, which takes root on Linux: %v", err)
			}
		case len(p.servers.specs) == 0:
			return "not applicable: the plugin's settings name no server: there is none to stop, and no way to it to break"
		case len(p.named) != 1:
			return "not covered: the plugin's options do not name one server that the suite started, and others are left alone; leave them out to have one started"
		case need == kit.NeedSpace && p.named[0].Spec().Space.None(), need == kit.NeedConnections && p.named[0].Spec().Connections.None():
			return fmt.Sprintf("not covered: the plugin's settings don't say how its server runs out of %v", need)
		}
	case kit.NeedFresh:
		if len(p.variant.Fresh) == 0 && !p.namespace {
			return `not covered: the plugin's settings don't say by which options a store is one that nobody has used ("fresh")`
		}
	case kit.NeedDamage:
		switch {
		case p.variant.Damage:
		case len(p.variant.Tamper) > 0:
			return `not covered: the plugin's settings don't say that the program of "tamper" makes what the store holds unreadable when its argument is damage; teach it that, and set "damage: true"`
		default:
			return `not covered: the plugin's settings name no program that makes what its store holds unreadable ("tamper", with "damage: true")`
		}
	case kit.NeedTamper:
		if len(p.variant.Tamper) == 0 {
			return `not covered: the plugin's settings name no program that changes its store past it ("tamper")`
		}
	}
	return ""
}

// OpenLinked starts one more process, over a proxy of its own, which stays until
// the plugin is closed.
func (p *Plugin) OpenLinked(ctx context.Context, namespace string) (kit.Process, kit.Link, error) {
	addr := p.named[0].Addr()
	way, err := link.New(addr)
	if err != nil {
		return nil, nil, err
	}
	p.mu.Lock()
	p.links = append(p.links, way)
	p.mu.Unlock()
	c, err := p.open(ctx, p.Launch(namespace, map[string]string{addr: way.Addr()}).Config)
	if err != nil {
		return nil, nil, err
	}
	return process{c}, way, nil
}

func (p *Plugin) closeLinks() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

// Freeze stops the plugin's process as SIGSTOP does.
func (p process) Freeze() error { return p.running(sigstop.Freeze) }

// Thaw lets it go on. A process that was started in its place is not stopped, and
// does not mind.
func (p process) Thaw() error { return p.running(sigstop.Thaw) }

func (p process) running(do func(pid int) error) error {
	pid := p.PID()
	if pid <= 0 {
		return errors.New("the plugin does not run")
	}
	return do(pid)
}

// Server is the server that the plugin's options name.
func (p *Plugin) Server() kit.Server { return server{p.named[0]} }

type server struct{ *containers.Container }

func (s server) Crash(ctx context.Context) error { return s.Kill(ctx) }

// freshName stands, in the options of a fresh store, for its name.
const freshName = "fresh"

// fresh are the options of a store that is set up anew.
func (p *Plugin) fresh(name string) map[string]any {
	config := p.in("")
	if len(p.variant.Fresh) == 0 {
		return p.in(name)
	}
	values := map[string]string{freshName: name, tmpName: p.data}
	for option, value := range expandAll(p.variant.Fresh, values) {
		config = with(config, option, value)
	}
	return config
}

// OpenFresh opens a store that is set up when it is first opened.
func (p *Plugin) OpenFresh(ctx context.Context, name string) (kit.Process, error) {
	config := p.fresh(name)
	if p.foreign && len(p.variant.Fresh) > 0 {
		p.mu.Lock()
		p.made[storeOf(p.variant, config)] = true
		p.mu.Unlock()
	}
	c, err := p.open(ctx, config)
	if err != nil {
		return nil, err
	}
	return process{c}, nil
}

// workDirVariable tells the program the directory in which the plugin runs, to which
// options that are relative paths refer.
const workDirVariable = "ANARCHON_PLUGIN_WORKDIR"

// Tamper runs the program that the settings name, with what it is to do as its
// last argument and the plugin's options as JSON on its standard input. Its output
// is what it says, line by line.
func (p *Plugin) Tamper(ctx context.Context, name string, what kit.Tampering) ([]string, error) {
	return p.runTamper(ctx, p.fresh(name), what)
}

func (p *Plugin) runTamper(ctx context.Context, config map[string]any, what kit.Tampering) ([]string, error) {
	command, err := p.tamperCommand(ctx)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, command[0], append(slices.Clone(command[1:]), string(what))...)
	cmd.Dir = p.dir
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	cmd.Env = append(os.Environ(), workDirVariable+"="+here)
	return runWithOptions(cmd, config)
}

// tamperCommand is the settings' command; a directory is built, once.
func (p *Plugin) tamperCommand(ctx context.Context) ([]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.tamper == nil {
		command, err := buildCommand(ctx, p.dir, p.tmp, p.variant.Tamper)
		if err != nil {
			return nil, fmt.Errorf("the program that changes the store: %w", err)
		}
		p.tamper = command
	}
	return p.tamper, nil
}
