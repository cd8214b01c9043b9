package natsstore

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
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
	if seq, ok := plainAck(r.data); ok {
		return published{seq: seq}
	}
	return decodeAck(r.data)
}

func decodeAck(data []byte) published {
	var ack struct {
		Stream string
		Seq    uint64
		Error  *jetstream.APIError
	}
	switch err := json.Unmarshal(data, &ack); {
	case err != nil:
		return published{err: unknown("the acknowledgement is no JSON: %w", err)}
	case ack.Error != nil:
		return published{refusal: ack.Error}
	case ack.Stream == "" || ack.Seq == 0:
		return published{err: unknown("the acknowledgement %.100q names no stream and sequence; another program answered", data)}
	}
	return published{seq: ack.Seq}
}

// plainAck reads the usual acknowledgement, {"stream":"NAME","seq":1}: it is
// most of what the plugin reads under load. What looks in any way different is left to
// the decoder.
func plainAck(data []byte) (seq uint64, ok bool) {
	rest, ok := bytes.CutPrefix(data, []byte(`{"stream":"`))
	if !ok {
		return 0, false
	}
	name, rest, ok := bytes.Cut(rest, []byte(`","seq":`))
	if !ok || len(name) == 0 || bytes.ContainsAny(name, "\"\\") {
		return 0, false
	}
	digits, ok := bytes.CutSuffix(rest, []byte(`}`))
	if !ok {
		return 0, false
	}
	seq, err := strconv.ParseUint(string(digits), 10, 64)
	return seq, err == nil && seq > 0 && digits[0] != '0' // a sign is refused by ParseUint
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
