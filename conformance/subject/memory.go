package subject

import (
	"context"
	"time"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

// Memory is a subject that runs inside this process: for the kit's own tests,
// and for the author of a store who wants to look at a failing check with a
// debugger. It proves less than processes do.
type Memory struct {
	Name string
	// Process opens the store as one more process does, in a namespace; an empty one
	// is the default. A store that has the method End() is told when its process
	// is closed or killed, and one that has Frozen(bool) when it is stopped and goes on;
	// one that has Connections() int is asked how many it has.
	Process func(namespace string) store.Store
	// Lag, if not nil, is how long each call takes before, and again after, the
	// store's step. A call that is cut off before it is surely not applied; one
	// that is cut off after it is unknown.
	Lag func() time.Duration
	// Front, if not nil, is what a process makes of the answers that reach it over its
	// link, as a plugin's own code does.
	Front func(behind store.Store) store.Store
	// Orphans makes a host's plugin go on when the host was killed.
	Orphans bool
	// Crash, if not nil, makes the store lose what it loses when its server is killed.
	Crash func()
	// Full, if not nil, is what the store does when its server is full, instead of
	// refusing to write.
	Full func()
	// Fresh are stores that can be tampered with; nil: there are none.
	Fresh FreshStores

	server memoryServer
}

// FreshStores are stores by name, made when they are first opened.
type FreshStores interface {
	Open(name string) (store.Store, error)
	Tamper(name string, what kit.Tampering) ([]string, error)
}

// About names the store.
func (m *Memory) About() kit.About {
	return kit.About{Plugin: m.Name, Version: "in process", Variant: "default"}
}

// Lacks says what can't be done to the store.
func (m *Memory) Lacks(need kit.Needs) string {
	if (need == kit.NeedFresh || need == kit.NeedTamper || need == kit.NeedDamage) && m.Fresh == nil {
		return "not covered: the store in memory has no format"
	}
	return ""
}

// Open opens the store once more.
func (m *Memory) Open(_ context.Context, namespace string) (kit.Process, error) {
	if err := m.server.accept(); err != nil {
		return nil, err
	}
	return m.open(m.Process(namespace)), nil
}

func (m *Memory) open(s store.Store) *local {
	life, end := context.WithCancelCause(context.Background())
	l := &local{store: s, server: &m.server, lag: m.Lag, life: life, end: end}
	l.link = newMemoryLink(l.connections, m.server.accept)
	l.outer = behind{l}
	if m.Front != nil {
		l.outer = m.Front(behind{l})
	}
	return l
}

// OpenLinked opens the store once more, over a link.
func (m *Memory) OpenLinked(_ context.Context, namespace string) (kit.Process, kit.Link, error) {
	l := m.open(m.Process(namespace))
	return l, l.link, nil
}

// OpenFresh opens a store of its own.
func (m *Memory) OpenFresh(_ context.Context, name string) (kit.Process, error) {
	s, err := m.Fresh.Open(name)
	if err != nil {
		return nil, err
	}
	return m.open(s), nil
}

// Tamper changes a store of its own.
func (m *Memory) Tamper(_ context.Context, name string, what kit.Tampering) ([]string, error) {
	return m.Fresh.Tamper(name, what)
}

// Server is the store, as a process.
func (m *Memory) Server() kit.Server {
	m.server.crash = m.Crash
	return &m.server
}

// OpenSmall opens the store once more.
func (m *Memory) OpenSmall(ctx context.Context) (kit.Process, error) { return m.Open(ctx, "") }

// Exhaust makes the server refuse to write, or to accept connections.
func (m *Memory) Exhaust(_ context.Context, what kit.Needs) (func(context.Context) error, error) {
	if what == kit.NeedSpace && m.Full != nil {
		m.Full()
		return func(context.Context) error { return nil }, nil
	}
	m.server.lack(what, true)
	return func(context.Context) error { m.server.lack(what, false); return nil }, nil
}

// StartHost starts a host that is none: a process whose plugin can outlive it.
func (m *Memory) StartHost(ctx context.Context, namespace string, req store.ClaimRequest) (kit.Host, error) {
	l := m.open(m.Process(namespace))
	a, err := l.Claim(ctx, req)
	if err != nil {
		return nil, err
	}
	return &memoryHost{local: l, claimed: a, orphans: m.Orphans}, nil
}

type memoryHost struct {
	*local
	claimed store.ClaimAnswer
	orphans bool
}

func (h *memoryHost) Claimed() store.ClaimAnswer { return h.claimed }
func (h *memoryHost) PluginLives() bool          { return h.life.Err() == nil }
func (h *memoryHost) Close() error               { return h.local.Kill() }

func (h *memoryHost) Kill() error {
	if h.orphans {
		return nil
	}
	return h.local.Kill()
}
