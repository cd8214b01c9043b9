package natsstore

import (
	"context"
	"encoding/json"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// published is what became of a conditional publish: a sequence, a refusal by
// the stream, or a classed error.
type published struct {
	seq     uint64
	refusal *jetstream.APIError
	err     error
}

func parseAck(r reply) published {
	if r.err != nil {
		return published{err: r.err}
	}
	var ack struct {
		Stream string
		Seq    uint64
		Error  *jetstream.APIError
	}
	switch err := json.Unmarshal(r.data, &ack); {
	case err != nil:
		return published{err: unknown("the acknowledgement is no JSON: %w", err)}
	case ack.Error != nil:
		return published{refusal: ack.Error}
	case ack.Stream == "" || ack.Seq == 0:
		return published{err: unknown("the acknowledgement %.100q names no stream and sequence; another program answered", r.data)}
	}
	return published{seq: ack.Seq}
}

// publish sends conditional publishes, pipelined and in order.
func (b *Backend) publish(ctx context.Context, requests []request) []published {
	all := make([]published, len(requests))
	for i, r := range b.link.exchange(ctx, requests) {
		all[i] = parseAck(r)
		if all[i].refusal != nil {
			b.homes.doubt(all[i].refusal)
		} else {
			b.homes.doubt(all[i].err)
		}
	}
	return all
}

// Where a refusal may be due to a message that is still being stored, the
// subject is looked at this often, with growing pauses, before it is said that
// nobody knows.
const inFlightLooks = 6

// pause waits before look number n, counted from 0, unless ctx is over.
func pause(ctx context.Context, n int) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond << n):
	}
}
