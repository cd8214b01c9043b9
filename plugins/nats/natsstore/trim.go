package natsstore

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// trimmer cuts histories to their size, in the background: a grant must not wait
// for it, and the answer to History is cut in any case.
type trimmer struct {
	trim func(ctx context.Context, job string, size int) error
	log  *slog.Logger

	jobs chan trimJob
	done sync.WaitGroup
	stop context.CancelFunc

	mu   sync.Mutex
	seen map[string]*trimState
}

// trimState is what is known of one job.
type trimState struct {
	since  int  // grants since it was last trimmed
	queued bool // it waits to be trimmed
}

type trimJob struct {
	name string
	size int
}

// trimQueue is how many jobs may wait to be trimmed. One that finds no place
// comes again with its next grant.
const trimQueue = 1024

const trimTimeout = 10 * time.Second

// trimRest is how many times as long as a trim took the trimmer rests after it. The
// server counts a job's messages for it, which costs more than a claim does: under
// load trims must not take the place of claims. Each drops whatever is too much, so
// histories get a little longer then, and short again.
const trimRest = 9

func newTrimmer(log *slog.Logger, trim func(ctx context.Context, job string, size int) error) *trimmer {
	ctx, stop := context.WithCancel(context.Background())
	t := &trimmer{trim: trim, log: log, jobs: make(chan trimJob, trimQueue), stop: stop, seen: map[string]*trimState{}}
	t.done.Go(func() { t.run(ctx) })
	return t
}

// slack is how much longer than its size a history may become, for each instance
// that is granted runs: to trim after every grant would double the cost of one.
func slack(size int) int { return max(10, size/10) }

// granted notes a grant. The first of a job has it trimmed, since many instances
// may come and go before one has slack grants.
func (t *trimmer) granted(job string, size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.seen[job]
	if s == nil {
		s = &trimState{since: slack(size)}
		t.seen[job] = s
	}
	if s.since++; s.queued || s.since < slack(size) {
		return
	}
	select {
	case t.jobs <- trimJob{job, size}:
		s.since, s.queued = 0, true
	default:
	}
}

func (t *trimmer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-t.jobs:
			t.mu.Lock()
			t.seen[j.name].queued = false
			t.mu.Unlock()
			start := time.Now()
			bounded, cancel := context.WithTimeout(ctx, trimTimeout)
			err := t.trim(bounded, j.name, j.size)
			cancel()
			if err != nil && ctx.Err() == nil {
				t.log.Info("the history of a job was not trimmed; it is tried again after later runs", "job", j.name, "error", err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(min(trimRest*time.Since(start), trimTimeout)):
			}
		}
	}
}

func (t *trimmer) close() {
	t.stop()
	t.done.Wait()
}
