package redisstore

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
)

// What a verb costs the server, by strategy, in batches of 100 on full histories:
// bytes of its log, which is also what goes to replicas; time of its core; bytes of
// memory per remembered run. docs/redis.md has the figures; the bounds here are
// about twice those that do not depend on the machine.
func TestCost(t *testing.T) {
	srv := startServer(t, "--appendonly", "yes", "--appendfsync", "no")
	c := driver(t, srv.url())
	const jobs, remembered, rounds = 100, 10, 20
	for _, strategy := range strategies {
		o := options{"url": srv.url(), "namespace": "cost-" + strategy, "strategy": strategy, "maxSize": remembered, "historySize": remembered}
		b := open(t, o.with(options{"callTimeout": "20s"}))
		first := claimNow("j").Slot - 3600_000
		var granted, refused, renewed, finished cost
		for round := range int64(rounds) {
			var claims []store.ClaimRequest
			for i := range jobs {
				q := claimOf(fmt.Sprint("reports/customer-", i), first+1000*round)
				q.MaxLate, q.HistorySize, q.Instance = 2*time.Hour, remembered, "host-1.example-4711"
				claims = append(claims, q)
			}
			granted.start(t, c)
			answers := claimAll(t, b, claims, store.VerdictWon)
			granted.stop(t, c, jobs)
			if strategy == strategyLease {
				var qs []store.HeartbeatRequest
				for i, q := range claims {
					qs = append(qs, store.HeartbeatRequest{Job: q.Job, Slot: q.Slot, Token: answers[i].Token, Lease: time.Minute})
				}
				renewed.start(t, c)
				for _, r := range b.HeartbeatBatch(t.Context(), qs) {
					if r.Err != nil || !r.Answer.Renewed {
						t.Fatalf("heartbeat: %+v, %v", r.Answer, r.Err)
					}
				}
				renewed.stop(t, c, jobs)
			}
			var qs []store.FinishRequest
			for i, q := range claims {
				qs = append(qs, finishOf(q, answers[i], store.OutcomeSuccess))
				claims[i].ID = store.NewClaimID() // of somebody who is later
			}
			finished.start(t, c)
			for _, r := range b.FinishBatch(t.Context(), qs) {
				if r.Err != nil || !r.Answer.Recorded {
					t.Fatalf("finish: %+v, %v", r.Answer, r.Err)
				}
			}
			finished.stop(t, c, jobs)
			refused.start(t, c)
			claimAll(t, b, claims, store.VerdictFinished)
			refused.stop(t, c, jobs)
		}
		memory := int64(0)
		keys := c.Scan(t.Context(), 0, string(b.keys)+"*", 1000).Iterator()
		for keys.Next(t.Context()) {
			n, err := c.MemoryUsage(t.Context(), keys.Val(), 0).Result()
			if err != nil {
				t.Fatal(err)
			}
			memory += n
		}
		perRun := memory / (jobs * remembered)
		t.Logf("%-9s granted %v; refused %v; heartbeat %v; finish %v; %d B of memory per remembered run", strategy, &granted, &refused, &renewed, &finished, perRun)
		if granted.log() > 1200 || finished.log() > 800 || renewed.log() > 500 || refused.log() > 400 || perRun > 800 {
			t.Errorf("strategy %s costs more than docs/redis.md says", strategy)
		}
	}
}

func claimAll(t testing.TB, b *Backend, qs []store.ClaimRequest, want store.Verdict) (answers []store.ClaimAnswer) {
	t.Helper()
	for _, r := range b.ClaimBatch(t.Context(), qs) {
		if r.Err != nil || r.Answer.Verdict != want {
			t.Fatalf("claim: %+v, %v; want %v", r.Answer, r.Err, want)
		}
		answers = append(answers, r.Answer)
	}
	return answers
}

// cost is what calls cost the server so far.
type cost struct {
	n     int
	bytes int64
	work  time.Duration
}

func (c *cost) start(t testing.TB, server *redis.Client) {
	t.Helper()
	bytes, work := spent(t, server)
	c.bytes, c.work = c.bytes-bytes, c.work-work
}

func (c *cost) stop(t testing.TB, server *redis.Client, n int) {
	t.Helper()
	bytes, work := spent(t, server)
	c.n, c.bytes, c.work = c.n+n, c.bytes+bytes, c.work+work
}

func (c *cost) log() int64 { return c.bytes / int64(max(c.n, 1)) }

func (c *cost) String() string {
	if c.n == 0 {
		return "-"
	}
	return fmt.Sprintf("%d B, %v", c.log(), (c.work / time.Duration(c.n)).Round(100*time.Nanosecond))
}

// spent is what a server spent so far: bytes of its log, and time of a core.
func spent(t testing.TB, server *redis.Client) (bytes int64, work time.Duration) {
	t.Helper()
	text, err := server.Info(t.Context(), "persistence", "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	info := parseInfo(text)
	number := func(name string) float64 {
		v, err := strconv.ParseFloat(info[name], 64)
		if err != nil && name != "aof_current_size" { // it is missing where there is no log
			t.Fatalf("INFO says %s: %q", name, info[name])
		}
		return v
	}
	seconds := number("used_cpu_user") + number("used_cpu_sys")
	return int64(number("aof_current_size")), time.Duration(seconds * float64(time.Second))
}
