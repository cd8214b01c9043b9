package natsstore

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/anarchon-go/anarchon/core/store"
)

// cluster is three servers in this process.
func cluster(t *testing.T) []*server.Server {
	t.Helper()
	var ports [3]int
	var routes []string
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = l.Addr().(*net.TCPAddr).Port
		l.Close()
		routes = append(routes, fmt.Sprint("nats://127.0.0.1:", ports[i]))
	}
	// All at once: none is ready without the others.
	var starting sync.WaitGroup
	all := make([]*server.Server, 3)
	errs := make([]error, 3)
	for i := range all {
		o := &server.Options{
			JetStream: true, ServerName: fmt.Sprint("s", i), StoreDir: t.TempDir(),
			Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", Port: ports[i]},
			Routes:  server.RoutesFromStr(strings.Join(routes, ",")),
		}
		starting.Go(func() { all[i], errs[i] = startServer(o) })
	}
	starting.Wait()
	t.Cleanup(func() {
		for _, s := range all {
			if s != nil {
				s.Shutdown()
				s.WaitForShutdown()
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	await(t, "the cluster has a leader", 30*time.Second, func() bool {
		for _, s := range all {
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(all) {
				return true
			}
		}
		return false
	})
	return all
}

// TestCluster: in a cluster every slot has one winner, while leaders change and
// one server goes away.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("long: a cluster of three")
	}
	servers := cluster(t)
	options := func(s *server.Server) map[string]any {
		return map[string]any{"url": s.ClientURL(), "replicas": 3, "callTimeout": "5s"}
	}
	var backends []*Backend
	for _, s := range servers {
		backends = append(backends, open(t, options(s)))
	}
	d, _ := backends[1].Describe(t.Context())
	if w := strings.Join(d.Warnings, "\n"); !strings.Contains(w, "hosts of the cluster") || strings.Contains(w, "on one server") {
		t.Errorf("warnings of a cluster: %s", w)
	}

	t.Run("refused while another is stored", func(t *testing.T) {
		b, seen := backends[0], map[fate]int{}
		for i := range int64(200) {
			subject := b.settings.layout.slot(eraOf(b), "in flight", noon+i)
			var requests []request
			for range 3 {
				q := claimOf("in flight", noon+i)
				requests = append(requests, conditional(subject, 0, b.settings.layout.claims, claimRecord(&q).encode()))
			}
			stored := 0
			for _, p := range b.publish(t.Context(), requests) {
				switch {
				case p.err != nil:
					t.Fatal(p.err)
				case p.refusal == nil:
					stored++
				default:
					seen[fateOf(p.refusal)]++
				}
			}
			if stored != 1 {
				t.Fatalf("%d messages were stored on one subject", stored)
			}
		}
		if seen[fateInFlight] == 0 || seen[fateOpen]+seen[fateFull] > 0 {
			t.Errorf("refusals by fate: %v; want some in flight, and none but taken else", seen)
		}
		t.Logf("refusals by fate: %v", seen)
	})

	const claimers, slots = 10, 150
	var mu sync.Mutex
	winners := map[int64][]string{}
	var all sync.WaitGroup
	claims := func(n int, b *Backend, from, to int64) {
		for slot := from; slot < to; slot++ {
			q := claimOf("j", noon+slot)
			q.Instance = fmt.Sprint("i", n)
			for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
				a, err := b.Claim(t.Context(), q)
				if err == nil {
					if a.Verdict == store.VerdictWon {
						mu.Lock()
						winners[slot] = append(winners[slot], q.Instance)
						mu.Unlock()
					}
					break
				}
				if time.Now().After(end) {
					t.Errorf("slot %d: %v", slot, err)
					return
				}
			}
		}
	}
	once := func(what string) {
		t.Helper()
		for slot, w := range winners {
			if len(w) != 1 {
				t.Errorf("%s: slot %d was won by %q", what, slot, w)
			}
		}
	}
	nc, err := nats.Connect(servers[0].ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for n := range claimers {
		all.Go(func() { claims(n, backends[n%3], 0, slots) })
	}
	for range 4 {
		time.Sleep(200 * time.Millisecond) // somewhere in the middle
		_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN.anarchon_default_claims", nil, 2*time.Second)
	}
	all.Wait()
	if len(winners) != slots {
		t.Errorf("%d of %d slots were won", len(winners), slots)
	}
	once("leaders changed")

	// One server goes away; who is connected to it goes to another.
	gone := servers[0]
	for n := range claimers {
		all.Go(func() { claims(n, backends[n%3], slots, 2*slots) })
	}
	time.Sleep(200 * time.Millisecond)
	gone.Shutdown()
	all.Wait()
	if len(winners) != 2*slots {
		t.Errorf("%d of %d slots were won", len(winners), 2*slots)
	}
	once("a server went away")
	for slot := range winners {
		mustClaimWithin(t, backends[1], claimOf("j", noon+slot), store.VerdictFinished)
	}
	if h := history(t, backends[2], "j"); len(h) != 100 {
		t.Errorf("the history has %d runs", len(h))
	}
}

// mustClaimWithin asks again what has no answer.
func mustClaimWithin(t *testing.T, b *Backend, q store.ClaimRequest, want store.Verdict) {
	t.Helper()
	await(t, "an answer", 30*time.Second, func() bool {
		a, err := b.Claim(t.Context(), q)
		if err == nil && a.Verdict != want {
			t.Fatalf("%+v; want %v", a, want)
		}
		return err == nil
	})
}
