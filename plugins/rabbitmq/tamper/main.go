// Command tamper changes a store of plugin rabbitmq past the plugin, for the
// conformance suite: see tamper in package conformance/subject.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/tamper"
	"github.com/anarchon-go/anarchon/plugins/rabbitmq/rabbitmqstore"
)

func main() { tamper.Main(open) }

type options struct{ URL, Namespace string }

// log is that of a namespace. Nobody can change what is in it: all that a stranger or a later version can do is to
// write more.
type log struct {
	conn *amqp.Connection
	name string
}

func open(_ context.Context, o options) (tamper.Store, error) {
	conn, err := amqp.Dial(o.URL)
	return log{conn, rabbitmqstore.LogName(o.Namespace)}, err
}

func (l log) Close() error { return l.conn.Close() }

func (l log) Clear(context.Context) error {
	ch, err := l.conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	_, err = ch.QueueDelete(l.name, false, false, false) // also one that is not there
	return err
}

// write appends messages and waits until the broker has them.
func (l log) write(ctx context.Context, bodies ...string) error {
	ch, err := l.conn.Channel()
	if err != nil {
		return err
	}
	defer ch.Close()
	if err := ch.Confirm(false); err != nil {
		return err
	}
	for _, body := range bodies {
		c, err := ch.PublishWithDeferredConfirmWithContext(ctx, "", l.name, true, false, amqp.Publishing{Body: []byte(body), DeliveryMode: amqp.Persistent})
		if err != nil {
			return err
		}
		if acked, err := c.WaitContext(ctx); err != nil || !acked {
			return errors.Join(fmt.Errorf("the broker did not take %q", body), err)
		}
	}
	return nil
}

// Dump reads the log from its first message to the one that is its last now.
func (l log) Dump(ctx context.Context) (lines []string, err error) {
	ch, err := l.conn.Channel()
	if err != nil {
		return nil, err
	}
	defer ch.Close()
	if err := ch.Qos(100, 0, false); err != nil {
		return nil, err
	}
	in, err := ch.ConsumeWithContext(ctx, l.name, "", false, false, false, false, amqp.Table{"x-stream-offset": "first"})
	if err != nil {
		return nil, err
	}
	// The log does not say where it ends, and a mark of ours would change it.
	for {
		select {
		case d, ok := <-in:
			if !ok {
				return nil, errors.Join(amqp.ErrClosed, ctx.Err())
			}
			lines = append(lines, fmt.Sprintf("%v %s", d.Headers["x-stream-offset"], d.Body))
			if err := d.Ack(false); err != nil {
				return nil, err
			}
		case <-time.After(time.Second):
			return lines, nil
		}
	}
}

func (l log) Newer(ctx context.Context) error {
	return l.write(ctx, `{"format":2,"writer":"later"}`)
}

// Unknown writes what a later version might: fields in a record and in its entries,
// and an entry of a kind that is not known.
func (l log) Unknown(ctx context.Context) ([]string, error) {
	claim := fmt.Sprintf(`{"kind":"claim","job":"later","slot":1,"id":%q,"instance":"later","reason":"scheduled","historySize":9,"extra":{"a":[1]}}`, store.NewClaimID())
	record := fmt.Sprintf(`{"format":1,"writer":"later","seq":1,"sentAt":%d,"slotTtl":1000,"mood":"new","entries":[{"kind":"dance","job":"later","slot":1,"id":"x"},%s]}`, time.Now().UnixMilli(), claim)
	return []string{record}, l.write(ctx, record)
}

// Damage writes, of every record, what a stranger might have made of it.
func (l log) Damage(ctx context.Context) ([]string, error) {
	records, err := l.Dump(ctx)
	if err != nil {
		return nil, err
	}
	bodies := []string{"", "hello", "[1]", "\x00\xff", `{"format":1,"writer":"w","entries":"none"}`, `{"format":"1","writer":"w"}`, `{"format":0,"writer":"w"}`}
	for _, line := range records {
		var r map[string]any
		_, body, _ := strings.Cut(line, " ")
		bodies = append(bodies, body[:len(body)/2])
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			continue
		}
		r["entries"] = []any{map[string]any{"kind": 7}}
		foreign, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		bodies = append(bodies, string(foreign))
	}
	return bodies, l.write(ctx, bodies...)
}
