package subject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/link"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// Options say which plugin to open, and how.
type Options struct {
	Path    string            // its directory, which is built, or its binary; see [Find]
	Variant string            // of its conformance.yaml; empty: the only one, or "default"
	Config  map[string]string // options as a user writes them; they replace those of the variant
	Logger  *slog.Logger      // for the plugins' own words; nil drops them
}

// Plugin is a subject of plugin processes: each one opened is a process of its
// own, of the same binary with the same configuration.
type Plugin struct {
	dir       string // of the settings
	binary    string
	variant   Variant
	config    map[string]any
	about     kit.About
	namespace bool // the plugin has that option
	own       string
	tmp, data string
	servers   servers
	named     []*containers.Container // those that the options name
	logger    *slog.Logger
	foreign   bool // the store is one that the user named

	mu      sync.Mutex
	dropped int   // lines of the plugins' logs
	pids    []int // of all plugins that were started
	links   []*link.Proxy
	tamper  []string
	opened  map[string]map[string]any // all configurations that were opened, by their text
	made    map[string]bool           // stores that were not there before

	small   func() (string, error) // the small file system, which is made once
	mounted string                 // where, if it is there
}

// Load finds a plugin, builds it if it is a directory, and starts it once to ask
// what it is. Close removes what Load made.
func Load(ctx context.Context, o Options) (_ *Plugin, err error) {
	path, err := Find(o.Path)
	if err != nil {
		return nil, err
	}
	dir := path
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		dir = filepath.Dir(path)
	}
	file := filepath.Join(dir, SettingsFile)
	settings, err := ReadSettings(file)
	if err != nil {
		return nil, err
	}
	name, variant, err := settings.Pick(o.Variant)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	tmp, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, err
	}
	p := &Plugin{dir: dir, binary: path, variant: variant, tmp: tmp, logger: o.Logger}
	p.small = sync.OnceValues(p.makeSmall)
	p.servers = servers{specs: settings.Containers, running: map[string]*containers.Container{}}
	if p.logger == nil {
		p.logger = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	p.data = filepath.Join(tmp, "data")
	if err := os.Mkdir(p.data, 0o700); err != nil {
		return nil, err
	}
	switch {
	case !st.IsDir():
	case settings.Program != "":
		p.binary = filepath.Join(dir, settings.Program)
	default:
		if p.binary, err = Build(ctx, dir, tmp); err != nil {
			return nil, err
		}
	}
	config := maps.Clone(variant.Config)
	if config == nil {
		config = map[string]any{}
	}
	for option, value := range o.Config {
		config[option] = value
	}
	values, err := p.servers.start(ctx, config)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		p.named = append(p.named, p.servers.running[name])
	}
	values[tmpName] = p.data
	p.config = expandAll(config, values)
	if p.foreign = len(o.Config) > 0 && len(p.named) == 0; p.foreign {
		p.lookBefore(ctx)
	}
	return p, p.ask(ctx, name)
}

// ask starts the plugin and learns its name and options.
func (p *Plugin) ask(ctx context.Context, variant string) error {
	if _, given := p.config[namespaceOption]; !given {
		// A server may hold the jobs of others, or of an earlier run.
		p.own = "conf_" + store.NewClaimID().String()[:12]
	}
	info, err := p.info(ctx, p.own)
	if err != nil && p.own != "" {
		// Perhaps it knows no namespaces; the suite will say so.
		var errWithout error
		if info, errWithout = p.info(ctx, ""); errWithout != nil || hasNamespace(info) {
			return err
		}
		p.own = ""
	} else if err != nil {
		return err
	}
	hash, err := hashFile(p.binary)
	if err != nil {
		return err
	}
	p.about = kit.About{Plugin: info.Name, Version: info.Version, Variant: variant, Hash: hash}
	p.namespace = hasNamespace(info)
	return nil
}

// info starts the plugin in a namespace, or in none, and asks what it is.
func (p *Plugin) info(ctx context.Context, namespace string) (storekit.Info, error) {
	c, err := p.open(ctx, p.in(namespace))
	if err != nil {
		return storekit.Info{}, err
	}
	return c.Info(), c.Close()
}

func hasNamespace(info storekit.Info) bool {
	return slices.ContainsFunc(info.Options, func(o storekit.Option) bool { return o.Name == namespaceOption })
}

// in is the configuration with another namespace; an empty one leaves it alone.
func (p *Plugin) in(namespace string) map[string]any {
	if namespace == "" {
		return p.config
	}
	return with(p.config, namespaceOption, namespace)
}

// with is a configuration with one option set.
func with(config map[string]any, option string, value any) map[string]any {
	config = maps.Clone(config)
	config[option] = value
	return config
}

const namespaceOption = "namespace"

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// Kind is what the plugin must declare to be, 0 if its settings leave it open.
func (p *Plugin) Kind() store.Kind { return p.variant.Kind }

// About names the plugin.
func (p *Plugin) About() kit.About { return p.about }

// Open starts one more process.
func (p *Plugin) Open(ctx context.Context, namespace string) (kit.Process, error) {
	if namespace == "" {
		namespace = p.own
	} else if !p.namespace {
		return nil, kit.ErrNoNamespace
	}
	c, err := p.open(ctx, p.in(namespace))
	if err != nil {
		return nil, err
	}
	return process{c}, nil
}

func (p *Plugin) open(ctx context.Context, config map[string]any) (*storekit.Client, error) {
	p.remember(config)
	// Until it has said its name, errors call it by its file's.
	return storekit.Open(ctx, storekit.Plugin{Name: p.about.Plugin, Path: p.binary, Config: config, Logger: p.logger, OnEvent: p.note})
}

// note keeps what is wrong with a plugin although its answers are right.
func (p *Plugin) note(e storekit.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e := e.(type) {
	case storekit.Ready:
		p.pids = append(p.pids, e.PID)
	case storekit.LinesDropped:
		p.dropped += e.Lines
	}
}

// Complaints are what is wrong with the plugin although its answers may be right,
// once all its processes are closed.
func (p *Plugin) Complaints() (all []string) {
	all = p.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dropped > 0 {
		all = append(all, fmt.Sprintf("%d lines of the plugin's log were dropped: it writes more than a host can take", p.dropped))
	}
	for _, pid := range p.pids {
		for end := time.Now().Add(5 * time.Second); alive(pid); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				all = append(all, fmt.Sprintf("process %d of the plugin was closed, and still runs", pid))
				break
			}
		}
	}
	return all
}

// Close removes the temporary directory, the proxies and the containers. Processes
// must be closed before.
func (p *Plugin) Close() error {
	errs := []error{p.closeLinks(), p.servers.remove()}
	if p.mounted != "" {
		errs = append(errs, unmount(p.mounted))
	}
	return errors.Join(append(errs, os.RemoveAll(p.tmp))...)
}

// process is one running plugin.
type process struct{ *storekit.Client }

func (p process) Close(context.Context) error {
	err := p.Client.Close()
	if err != nil {
		return fmt.Errorf("closing a plugin: %w", err)
	}
	return nil
}

// Kill ends the plugin's process as kill -9 does. The client would start it
// again at the next call; the caller makes none.
func (p process) Kill() error {
	pid := p.PID()
	if pid <= 0 {
		return errors.New("the plugin does not run")
	}
	proc, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return proc.Kill()
}
