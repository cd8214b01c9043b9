package hosttest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/history"
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
	record *history.Recorder

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
	}{
		{"sqlite", func(t *testing.T) storekit.Plugin { return sqlite(newFile(t)) }},
		{"redis", redis},
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
			killUnderLoad(t, p, probe, kills)
		})
	}
}

func killUnderLoad(t *testing.T, p storekit.Plugin, probe store.Store, kills int) {
	r := history.NewRecorder("plugins are killed", store.KindLease)
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
			store: func() store.Store { return r.Store(fmt.Sprint("host ", i%killHosts), h.current()) },
			job:   func() string { return fmt.Sprintf("job %d, part %d", i/killHosts%killJobs, r.Elapsed()/killEpisode) },
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
	jobs := map[string]bool{}
	for _, o := range r.History().Ops {
		jobs[o.Jobs()[0]] = true
	}
	// What the calls without an answer did can be told from what they left behind.
	last := r.Store("probe", probe)
	for job := range jobs {
		if _, err := last.History(t.Context(), store.HistoryRequest{Job: job, Limit: store.MaxHistory}); err != nil {
			t.Fatal(err)
		}
	}
	h := r.History()
	s := h.Stats()
	t.Logf("%d kills in %v, %d jobs: %v", kills, r.Elapsed().Round(time.Second), len(jobs), s)
	if s.Calls < 10*kills || s.Lost == 0 || s.Takeovers == 0 || s.Contended == 0 {
		t.Error("too little happened for the kills to prove anything")
	}
	begin := time.Now()
	if j := history.Judge(h, 0); j.Verdict != history.Legal {
		t.Errorf("%v: %s", j.Verdict, j.Reason)
		if j.Culprit != nil {
			least, steps := history.Minimise(j.Culprit, 0, time.Now().Add(30*time.Second))
			t.Logf("what is left, without %q:\n%s", steps, history.Ladder(least))
		}
	}
	t.Logf("judged in %v", time.Since(begin).Round(time.Millisecond))
}
