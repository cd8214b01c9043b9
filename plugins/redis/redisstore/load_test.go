package redisstore

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// load is a service with many jobs and short histories, as it runs for a while:
// every claim is granted, closes the run before, and trims the history. That is
// the most that a claim has to do.
type load struct {
	jobs []string
	next atomic.Int64
}

const loadJobs = 1024

// newLoad fills the histories through b, so that what is measured is daily life.
func newLoad(t testing.TB, b *Backend) *load {
	t.Helper()
	l := &load{}
	for i := range loadJobs {
		l.jobs = append(l.jobs, fmt.Sprint("reports/customer-", i))
	}
	for range 4 * loadJobs / 256 {
		var qs []store.ClaimRequest
		for range 256 {
			qs = append(qs, l.claim())
		}
		for _, r := range b.ClaimBatch(t.Context(), qs) {
			if r.Err != nil || r.Answer.Verdict != store.VerdictWon {
				t.Fatalf("filling the histories: %+v, %v", r.Answer, r.Err)
			}
		}
	}
	return l
}

// claim is the next claim of all, of the next job. It is safe for concurrent use.
func (l *load) claim() store.ClaimRequest {
	n := l.next.Add(1)
	q := claimOf(l.jobs[n%loadJobs], noon+n/loadJobs)
	q.MaxLate, q.MaxEarly = store.MaxBound, store.MaxBound
	q.Overlap, q.HistorySize, q.Lease = store.OverlapAllow, 3, time.Millisecond
	return q
}

// callers has many ask one by one for a while, and returns how many claims were
// granted per second.
func (l *load) callers(t testing.TB, n int, span time.Duration, claim func(context.Context, store.ClaimRequest) (store.ClaimAnswer, error)) float64 {
	t.Helper()
	var granted, lost atomic.Int64
	var wg sync.WaitGroup
	ctx, cancel := context.WithTimeout(t.Context(), span+9*time.Second) // as core's calls have one
	defer cancel()
	begin := time.Now()
	for range n {
		wg.Go(func() {
			for time.Since(begin) < span {
				a, err := claim(ctx, l.claim())
				switch {
				case err != nil:
					t.Errorf("claim: %v", err)
					return
				case a.Verdict == store.VerdictWon:
					granted.Add(1)
				default: // two of one job overtook each other
					lost.Add(1)
				}
			}
		})
	}
	wg.Wait()
	took := time.Since(begin)
	if lost.Load()*50 > granted.Load() {
		t.Fatalf("%d claims were granted and %d were not; more jobs are needed", granted.Load(), lost.Load())
	}
	return float64(granted.Load()) / took.Seconds()
}

// raw is the server's own limit: the same script with the same arguments, from
// as few bytes and as little work on this side as can be. Each connection has
// depth commands on the way at a time, for a span or for so many rounds.
func (l *load) raw(t testing.TB, b *Backend, server string, conns, depth, rounds int, span time.Duration) float64 {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal("the server's URL can't be parsed")
	}
	type stream struct {
		conn   net.Conn
		rounds [][]byte
	}
	var streams []stream
	for range conns {
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		streams = append(streams, stream{conn: conn})
	}
	for range rounds { // in the order in which they are sent: slots rise
		for i := range streams {
			var buf bytes.Buffer
			for range depth {
				q := l.claim()
				c := b.strategy.claimCall(&q)
				words := []any{"EVALSHA", c.script.sha, len(c.keys)}
				for _, k := range c.keys {
					words = append(words, k)
				}
				words = append(words, c.args...)
				fmt.Fprintf(&buf, "*%d\r\n", len(words))
				for _, w := range words {
					s := fmt.Sprint(w)
					fmt.Fprintf(&buf, "$%d\r\n%s\r\n", len(s), s)
				}
			}
			streams[i].rounds = append(streams[i].rounds, buf.Bytes())
		}
	}
	var wg sync.WaitGroup
	var answered atomic.Int64
	begin := time.Now()
	for _, s := range streams {
		wg.Go(func() {
			r := bufio.NewReaderSize(s.conn, 64<<10)
			for _, round := range s.rounds {
				if time.Since(begin) > span {
					return
				}
				if _, err := s.conn.Write(round); err != nil {
					t.Error(err)
					return
				}
				for range depth {
					if err := skipAnswer(r); err != nil {
						t.Error(err)
						return
					}
				}
				answered.Add(int64(depth))
			}
		})
	}
	wg.Wait()
	return float64(answered.Load()) / time.Since(begin).Seconds()
}

// skipAnswer reads past the answer of a claim, one text.
func skipAnswer(r *bufio.Reader) error {
	length, err := r.ReadSlice('\n')
	if err != nil {
		return err
	}
	if length[0] != '$' {
		return fmt.Errorf("a claim was answered %q", length)
	}
	_, err = r.ReadSlice('\n') // it has no line feed inside
	return err
}
