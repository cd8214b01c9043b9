package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// confirmer asks after claims how many replicas have them, if the operator wants
// that. WAIT does not make Redis consistent, and a grant that few replicas have
// is a grant all the same: taking it back could as well get lost. So it stands,
// and the log says what a failover might forget.
type confirmer struct {
	replicas int
	timeout  time.Duration
	log      *slog.Logger

	short    atomic.Int64 // batches that fewer replicas have
	reported atomic.Int64 // when that was last said, Unix milliseconds
}

// reportEvery bounds how often the log says the same.
const reportEvery = 10 * time.Second

// confirmation is the question after one batch.
type confirmation struct {
	of  *confirmer
	cmd *redis.IntCmd
}

// onceInt is a WAIT that the driver must not send twice: it would send the
// batch again with it.
type onceInt struct{ *redis.IntCmd }

func (onceInt) NoRetry() bool { return true }

// ask returns the question, nil if nothing is to be asked.
func (c *confirmer) ask() *confirmation {
	if c.replicas == 0 {
		return nil
	}
	return &confirmation{of: c}
}

func (q *confirmation) queue(ctx context.Context, pipe redis.Pipeliner) {
	q.cmd = redis.NewIntCmd(ctx, "wait", q.of.replicas, q.of.timeout.Milliseconds())
	_ = pipe.Process(ctx, onceInt{q.cmd})
}

// lose notes that some of the batch went elsewhere than the question.
func (q *confirmation) lose() {
	if q != nil {
		q.cmd.SetErr(errors.New("some claims were sent on to another node of the Cluster"))
	}
}

// report says so if fewer replicas have the batch, or if nobody knows.
func (q *confirmation) report(grants int) {
	if q == nil || grants == 0 {
		return
	}
	have, err := q.cmd.Result()
	c := q.of
	if err == nil && have >= int64(c.replicas) {
		return
	}
	n := c.short.Add(1)
	now, last := time.Now().UnixMilli(), c.reported.Load()
	if now-last < reportEvery.Milliseconds() || !c.reported.CompareAndSwap(last, now) {
		return
	}
	attrs := []any{"wanted", c.replicas, "have", have, "within", c.timeout, "grants", grants, "batchesSoFar", n}
	if err != nil {
		attrs = append(attrs, "error", err)
	}
	c.log.Warn("grants stand that fewer replicas have than waitReplicas asks for: a failover now may forget them, and run their slots again", attrs...)
}
