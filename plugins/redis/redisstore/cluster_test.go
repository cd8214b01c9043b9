package redisstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
)

// testCluster is three nodes that share the hash slots.
type testCluster struct {
	nodes   []*proc
	clients []*redis.Client
	ids     []string
}

func startCluster(t testing.TB) *testCluster {
	t.Helper()
	c := &testCluster{}
	ctx := t.Context()
	for i := range 3 {
		p := startServer(t, "--cluster-enabled", "yes", "--cluster-node-timeout", "15000")
		d := driver(t, p.url())
		low, high := i*16384/3, (i+1)*16384/3-1
		if err := d.ClusterAddSlotsRange(ctx, low, high).Err(); err != nil {
			t.Fatal(err)
		}
		id, err := d.ClusterMyID(ctx).Result()
		if err != nil {
			t.Fatal(err)
		}
		c.nodes, c.clients, c.ids = append(c.nodes, p), append(c.clients, d), append(c.ids, id)
	}
	for _, d := range c.clients[1:] {
		if err := d.ClusterMeet(ctx, c.nodes[0].host(), fmt.Sprint(c.nodes[0].port)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range c.nodes {
		awaitCluster(t, p)
	}
	return c
}

func (c *testCluster) options(namespace string) options {
	return options{"addrs": []string{c.nodes[0].addr(), c.nodes[2].addr()}, "cluster": true, "namespace": namespace}
}

// owner returns the slot of a key, and which node serves it.
func (c *testCluster) owner(t testing.TB, key string) (slot int64, node int) {
	t.Helper()
	slot, err := c.clients[0].ClusterKeySlot(t.Context(), key).Result()
	if err != nil {
		t.Fatal(err)
	}
	return slot, int(slot * 3 / 16384)
}

// All keys of a namespace lie on one node, namespaces on several, and a batch of
// many jobs is answered item by item.
func TestCluster(t *testing.T) {
	c := startCluster(t)
	used := map[int]bool{}
	for n := range 6 {
		ns := fmt.Sprint("service-", n)
		b := open(t, c.options(ns))
		var qs []store.ClaimRequest
		for i := range 100 {
			qs = append(qs, claimNow(fmt.Sprint("job-", i/2))) // each twice
		}
		for i, r := range b.ClaimBatch(t.Context(), qs) {
			want := []store.Verdict{store.VerdictWon, store.VerdictRunning}[i%2]
			if r.Err != nil || r.Answer.Verdict != want {
				t.Fatalf("claim %d: %+v, %v; want %v", i, r.Answer, r.Err, want)
			}
		}
		u, err := b.Unfinished(t.Context(), store.UnfinishedRequest{})
		if err != nil || len(u.Runs) != 50 {
			t.Errorf("recall lists %d runs, %v; want 50", len(u.Runs), err)
		}
		_, owner := c.owner(t, b.keys.meta())
		used[owner] = true
		for i, client := range c.clients {
			keys, err := client.Keys(t.Context(), string(b.keys)+"*").Result()
			if err != nil || (len(keys) > 0) != (i == owner) {
				t.Errorf("node %d has %d keys of a namespace of node %d, %v", i, len(keys), owner, err)
			}
		}
	}
	if len(used) < 2 {
		t.Errorf("six namespaces lie on %d node", len(used))
	}
}

// While the keys of a namespace move to another node, claims go on or are
// refused; nothing is lost and nothing granted twice.
func TestClusterMovesANamespace(t *testing.T) {
	c := startCluster(t)
	b := open(t, c.options("moving").with(options{"waitReplicas": 0}))
	slot, from := c.owner(t, b.keys.meta())
	to := (from + 1) % 3

	w := startWork(b, 4)
	w.progress(t) // some keys to move
	c.move(t, slot, from, to)
	w.progress(t)
	all := w.end()
	for i := range all {
		all[i].check(t, b, true)
	}
	keys, err := c.clients[to].Keys(t.Context(), string(b.keys)+"*").Result()
	if err != nil || len(keys) == 0 {
		t.Errorf("the keys did not move: %v", err)
	}
	t.Logf("%d claims, %d calls unknown", len(all), w.unknown.Load())
}

// move hands a slot over as redis-cli --cluster reshard does: key by key, while
// clients go on.
func (c *testCluster) move(t testing.TB, slot int64, from, to int) {
	t.Helper()
	ctx := t.Context()
	do := func(node int, args ...any) {
		t.Helper()
		if err := c.clients[node].Do(ctx, args...).Err(); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	do(to, "cluster", "setslot", slot, "importing", c.ids[from])
	do(from, "cluster", "setslot", slot, "migrating", c.ids[to])
	for {
		keys, err := c.clients[from].ClusterGetKeysInSlot(ctx, int(slot), 5).Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) == 0 {
			break
		}
		args := []any{"migrate", c.nodes[to].host(), c.nodes[to].port, "", 0, 5000, "keys"}
		for _, k := range keys {
			args = append(args, k)
		}
		do(from, args...)
	}
	for _, node := range []int{to, from, 3 - from - to} {
		do(node, "cluster", "setslot", slot, "node", c.ids[to])
	}
}

// A node that the client does not know yet is found, and one that is gone is an
// error that says so.
func TestClusterLosesANode(t *testing.T) {
	c := startCluster(t)
	b := open(t, c.options("losing"))
	_, owner := c.owner(t, b.keys.meta())
	c.nodes[owner].kill(t)
	var err error
	await(t, "the lost node is noticed", func() bool {
		_, err = b.Claim(bg, claimNow("j"))
		return err != nil && (strings.Contains(err.Error(), "nothing listens") || strings.Contains(err.Error(), "CLUSTERDOWN"))
	})
	if err := c.nodes[owner].start(); err != nil {
		t.Fatal(err)
	}
	await(t, "claims go on when it is back", func() bool {
		_, err := b.Claim(bg, claimNow("j2"))
		return err == nil
	})
}
