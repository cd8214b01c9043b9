// Command tamper changes a store of plugin nats past the plugin, for the conformance
// suite: see tamper in package conformance/subject.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/internal/tamper"
	"github.com/anarchon-go/anarchon/plugins/nats/natsstore"
)

func main() { tamper.Main(open) }

type options struct{ URL, Namespace, StreamPrefix string }

// streams are those of a namespace.
type streams struct {
	conn  *nats.Conn
	js    jetstream.JetStream
	names []string // claims, then history
}

func open(_ context.Context, o options) (tamper.Store, error) {
	conn, err := nats.Connect(o.URL)
	if err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	claims, history := natsstore.StreamNames(cmp.Or(o.StreamPrefix, "anarchon"), cmp.Or(o.Namespace, "default"))
	return streams{conn, js, []string{claims, history}}, err
}

func (s streams) Close() error { s.conn.Close(); return nil }

// each calls f for the streams, claims first.
func (s streams) each(ctx context.Context, f func(role string, x jetstream.Stream, c jetstream.StreamConfig) error) error {
	for _, name := range s.names {
		x, err := s.js.Stream(ctx, name)
		if err != nil {
			return err
		}
		if err := f(x.CachedInfo().Config.Metadata["anarchon.stream"], x, x.CachedInfo().Config); err != nil {
			return err
		}
	}
	return nil
}

// last calls f for the last message of each subject of a stream, the oldest first.
func last(ctx context.Context, x jetstream.Stream, f func(m *jetstream.RawStreamMsg) error) error {
	info, err := x.Info(ctx, jetstream.WithSubjectFilter(">"))
	if err != nil {
		return err
	}
	var messages []*jetstream.RawStreamMsg
	for subject := range info.State.Subjects {
		m, err := x.GetLastMsgForSubject(ctx, subject)
		if err != nil {
			return err
		}
		messages = append(messages, m)
	}
	slices.SortFunc(messages, func(a, b *jetstream.RawStreamMsg) int { return int(a.Sequence) - int(b.Sequence) })
	for _, m := range messages {
		if err := f(m); err != nil {
			return err
		}
	}
	return nil
}

// Dump lists what the streams say of themselves, and what was said last of each slot.
func (s streams) Dump(ctx context.Context) (lines []string, err error) {
	if err := s.awaitCopies(ctx); err != nil {
		return nil, err
	}
	err = s.each(ctx, func(role string, x jetstream.Stream, c jetstream.StreamConfig) error {
		config, err := json.Marshal(c)
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%s %s", role, config))
		return last(ctx, x, func(m *jetstream.RawStreamMsg) error {
			lines = append(lines, fmt.Sprintf("%s %s %s", role, m.Subject, m.Data))
			return nil
		})
	})
	return lines, err
}

func (s streams) Clear(ctx context.Context) error {
	var errs []error
	for _, name := range s.names {
		if err := s.js.DeleteStream(ctx, name); !errors.Is(err, jetstream.ErrStreamNotFound) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func (s streams) Newer(ctx context.Context) error {
	return s.each(ctx, func(_ string, _ jetstream.Stream, c jetstream.StreamConfig) error {
		format, err := strconv.Atoi(c.Metadata["anarchon.format"])
		if err != nil {
			return err
		}
		c.Metadata["anarchon.format"] = strconv.Itoa(format + 1)
		_, err = s.js.UpdateStream(ctx, c)
		return err
	})
}

// Unknown makes the streams anew with a field more in each message and in the
// metadata, as a later version would have written them. The messages keep their
// sequences, by which tokens are told.
func (s streams) Unknown(ctx context.Context) (lines []string, err error) {
	var made []jetstream.StreamConfig
	var messages []*jetstream.RawStreamMsg
	err = s.each(ctx, func(role string, x jetstream.Stream, c jetstream.StreamConfig) error {
		c.Metadata["later"] = "later " + role
		lines = append(lines, `"later":"later `+role+`"`)
		made = append(made, c)
		if role != "claims" {
			return s.js.DeleteStream(ctx, c.Name)
		}
		for n := range x.CachedInfo().State.LastSeq {
			m, err := x.GetMsg(ctx, n+1)
			if err != nil {
				return err
			}
			messages = append(messages, m)
		}
		return s.js.DeleteStream(ctx, c.Name)
	})
	if err != nil {
		return nil, err
	}
	for _, c := range made {
		if _, err := s.js.CreateStream(ctx, c); err != nil {
			return nil, err
		}
	}
	for _, m := range messages {
		field := fmt.Sprintf(`"later":"later %s"`, m.Subject)
		lines = append(lines, field)
		if err := s.say(ctx, m, append(m.Data[:len(m.Data)-1:len(m.Data)-1], ","+field+"}"...)); err != nil {
			return nil, err
		}
	}
	return lines, s.awaitCopies(ctx)
}

// Damage says of one slot after the other what another program might: half a record,
// none, another type.
func (s streams) Damage(ctx context.Context) (lines []string, err error) {
	err = s.each(ctx, func(role string, x jetstream.Stream, _ jetstream.StreamConfig) error {
		if role != "claims" {
			return nil // the server copies it
		}
		return last(ctx, x, func(m *jetstream.RawStreamMsg) error {
			damaged := [][]byte{m.Data[:len(m.Data)/2], {}, []byte("hello"), []byte("[1]"), []byte(`{"id":7}`)}[len(lines)%5]
			lines = append(lines, fmt.Sprintf("%s %q", m.Subject, damaged))
			return s.say(ctx, m, damaged)
		})
	})
	return lines, errors.Join(err, s.awaitCopies(ctx))
}

// say publishes something new to a slot's subject, with the headers of a message but
// for those that the server judges.
func (s streams) say(ctx context.Context, m *jetstream.RawStreamMsg, data []byte) error {
	header := nats.Header{}
	for name, values := range m.Header {
		if !slices.Contains([]string{jetstream.ExpectedLastSubjSeqHeader, jetstream.ExpectedStreamHeader, jetstream.MsgIDHeader}, name) {
			header[name] = values
		}
	}
	_, err := s.js.PublishMsg(ctx, &nats.Msg{Subject: m.Subject, Header: header, Data: data})
	return err
}

// awaitCopies waits until the history has a message of each subject that is as new as
// the claims'.
func (s streams) awaitCopies(ctx context.Context) error {
	for {
		bodies := map[string][]string{}
		err := s.each(ctx, func(role string, x jetstream.Stream, _ jetstream.StreamConfig) error {
			return last(ctx, x, func(m *jetstream.RawStreamMsg) error {
				bodies[role] = append(bodies[role], m.Subject+" "+string(m.Data))
				return nil
			})
		})
		if err != nil || slices.Equal(bodies["claims"], bodies["history"]) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the history does not get what the claims have: %w", ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
