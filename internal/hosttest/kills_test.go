package hosttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

const (
	killHosts   = 3 // services, each with a plugin of its own
	killWorkers = 8 // of each
	killJobs    = 6
	killEpisode = 2 * time.Second        // then the jobs have other names: short histories are judged fast
	killEvery   = 250 * time.Millisecond // at most
	killRow     = 3                      // kills of a plugin until its host is opened anew, or pauses get long
)

// host is a service's end of its plugin.
type host struct {
	plugin storekit.Plugin
	record *record

	mu     sync.Mutex
	client *storekit.Client
	kills  int
}

func (h *host) open(t *testing.T) {
	c, err := storekit.Open(context.Background(), h.plugin)
	if err != nil {
		t.Fatal(err)
	}
	// As a scheduler does: then the host judges the grants, too.
	if _, err := c.Describe(context.Background()); err != nil {
		t.Error(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.client, h.kills = c, 0
}

func (h *host) current() *storekit.Client {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.client
}

// kill kills the plugin, and opens the host anew when that has been often. It
// reports whether there was a process.
func (h *host) kill(t *testing.T) bool {
	c := h.current()
	pid := c.PID()
	if pid == 0 {
		return false
	}
	syscall.Kill(pid, syscall.SIGKILL)
	h.mu.Lock()
	h.kills++
	often := h.kills >= killRow
	h.mu.Unlock()
	if often {
		go c.Close() // calls in flight may still use it
		h.open(t)
	}
	return true
}

// Plugins are killed at random moments under load, and no answer is ever wrong:
// what callers saw is judged by the model of the protocol. By default there are 50
// kills, with -full 1 000.
func TestRandomKills(t *testing.T) {
	t.Parallel()
	for _, backend := range []struct {
		name   string
		plugin func(*testing.T) storekit.Plugin
		late   time.Duration // a request that has left a killed plugin is still executed
	}{
		{"sqlite", func(t *testing.T) storekit.Plugin { return sqlite(newFile(t)) }, 0},
		{"redis", redis, 500 * time.Millisecond},
	} {
		t.Run(backend.name, func(t *testing.T) {
			t.Parallel()
			kills := 50
			if *full {
				kills = 1000
			}
			p := backend.plugin(t)
			p.Logger = quietLogger()
			probe := open(t, p) // also skips where the plugin can't run
			killUnderLoad(t, p, probe, kills, backend.late)
		})
	}
}

func killUnderLoad(t *testing.T, p storekit.Plugin, probe store.Store, kills int, late time.Duration) {
	r := newRecord()
	r.late = late
	hosts := make([]*host, killHosts)
	for i := range hosts {
		hosts[i] = &host{plugin: p, record: r}
		hosts[i].open(t)
		defer func() { hosts[i].current().Close() }()
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	errs := make(chan error, killHosts*killWorkers)
	for i := range cap(errs) {
		h := hosts[i%killHosts]
		w := &worker{
			name: fmt.Sprint("w", i), rng: rand.New(rand.NewPCG(rand.Uint64(), uint64(i))), lease: workLease,
			store: func() store.Store { return recorded{h.current(), r} },
			job:   func() string { return fmt.Sprintf("job %d, part %d", i%killJobs, time.Since(r.begin)/killEpisode) },
		}
		go func() { errs <- w.run(ctx) }()
	}
	for done := 0; done < kills; {
		time.Sleep(rand.N(killEvery))
		if hosts[rand.IntN(killHosts)].kill(t) {
			done++
		}
	}
	stop()
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	all, unknown, notApplied, takeovers := r.count()
	t.Logf("%d kills in %v: %d calls about %d jobs, %d unknown, %d surely not applied, %d takeovers",
		kills, time.Since(r.begin).Round(time.Second), all, len(r.ops), unknown, notApplied, takeovers)
	if all < 10*kills || unknown == 0 || takeovers == 0 {
		t.Error("too little happened for the kills to prove anything")
	}
	begin := time.Now()
	if err := judge(t.Context(), r, probe, 20*time.Second); err != nil {
		t.Error(err)
	}
	t.Logf("judged in %v", time.Since(begin).Round(time.Millisecond))
}
