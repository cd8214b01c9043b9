package natsstore

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

// api asks JetStream. All of it is answered by a stream's leader, which knows
// every write that was acknowledged; the faster "direct" reads may come from a
// follower that does not.
type api struct {
	link   *link
	prefix string // of the subjects; ends in a dot
}

func newAPI(l *link, domain string) *api {
	a := &api{link: l, prefix: "$JS.API."}
	if domain != "" {
		a.prefix = "$JS." + domain + ".API."
	}
	return a
}

// call asks for verb of a stream, and decodes the answer. A refusal is a
// [*jetstream.APIError].
func (a *api) call(ctx context.Context, verb, stream string, body, answer any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r := a.link.ask(ctx, request{subject: a.prefix + verb + "." + stream, data: data})
	if r.err != nil {
		return r.err
	}
	var refusal struct{ Error *jetstream.APIError }
	if err := json.Unmarshal(r.data, &refusal); err != nil {
		return unknown("the answer to %s of %s is no JSON: %w", verb, stream, err)
	}
	if refusal.Error != nil {
		return refusal.Error
	}
	if err := json.Unmarshal(r.data, answer); err != nil {
		return unknown("the answer to %s of %s: %w", verb, stream, err)
	}
	return nil
}

// hasCode reports whether err is a refusal with that code.
func hasCode(err error, code jetstream.ErrorCode) bool {
	var e *jetstream.APIError
	return errors.As(err, &e) && e.ErrorCode == code
}

// info returns a stream as it is.
func (a *api) info(ctx context.Context, stream string) (*jetstream.StreamInfo, error) {
	info := new(jetstream.StreamInfo)
	return info, a.call(ctx, "STREAM.INFO", stream, struct{}{}, info)
}

func (a *api) create(ctx context.Context, cfg *jetstream.StreamConfig) (*jetstream.StreamInfo, error) {
	info := new(jetstream.StreamInfo)
	return info, a.call(ctx, "STREAM.CREATE", cfg.Name, cfg, info)
}

// holders names the streams that take a subject.
func (a *api) holders(ctx context.Context, subject string) ([]string, error) {
	var answer struct{ Streams []string }
	r := a.link.ask(ctx, request{subject: a.prefix + "STREAM.NAMES", data: []byte(`{"subject":` + strconv.Quote(subject) + `}`)})
	if r.err != nil {
		return nil, r.err
	}
	return answer.Streams, json.Unmarshal(r.data, &answer)
}

// slots returns the slots of which a stream has messages that match the subject,
// each with its own subject.
func (a *api) slots(ctx context.Context, stream, subject string) (map[int64]string, error) {
	slots := map[int64]string{}
	for offset := 0; ; {
		var answer struct {
			State struct{ Subjects map[string]uint64 }
			Total int
		}
		body := struct {
			Filter string `json:"subjects_filter"`
			Offset int    `json:"offset"`
		}{subject, offset}
		if err := a.call(ctx, "STREAM.INFO", stream, body, &answer); err != nil {
			return nil, err
		}
		for s := range answer.State.Subjects {
			if _, slot, ok := parseSubject(s); ok {
				slots[slot] = s
			}
		}
		offset += len(answer.State.Subjects)
		if len(answer.State.Subjects) == 0 || offset >= answer.Total {
			return slots, nil
		}
	}
}

// trim drops the messages that match the subject, except for the last of them.
func (a *api) trim(ctx context.Context, stream, subject string, keep int) error {
	body := struct {
		Filter string `json:"filter"`
		Keep   int    `json:"keep"`
	}{subject, keep}
	var answer struct{ Purged uint64 }
	return a.call(ctx, "STREAM.PURGE", stream, body, &answer)
}

// find is one look-up of the last message on a subject.
type find struct{ stream, subject string }

// found is what a look-up found: neither record nor error if there is no message.
type found struct {
	*stored
	err error // about this one; changed nothing
}

// last looks up many last messages at once.
func (a *api) last(ctx context.Context, finds []find) []found {
	requests := make([]request, len(finds))
	for i, f := range finds {
		requests[i] = request{
			subject: a.prefix + "STREAM.MSG.GET." + f.stream,
			data:    []byte(`{"last_by_subj":` + strconv.Quote(f.subject) + `}`),
		}
	}
	all := make([]found, len(finds))
	for i, r := range a.link.exchange(ctx, requests) {
		if r.err != nil {
			all[i].err = asRead(r.err)
			continue
		}
		all[i].stored, all[i].err = parseStored(r.data, finds[i])
	}
	return all
}

// parseStored reads an answer to STREAM.MSG.GET; nil if there is no message.
func parseStored(data []byte, f find) (*stored, error) {
	var answer struct {
		Message *struct {
			Subject string
			Seq     uint64
			Hdrs    []byte
			Data    []byte
			Time    time.Time
		}
		Error *jetstream.APIError
	}
	err := json.Unmarshal(data, &answer)
	switch {
	case err != nil:
		return nil, notApplied("the answer about %q: %w", f.subject, err)
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return nil, nil
	case answer.Error != nil:
		return nil, notApplied("read stream %s: %w%s", f.stream, answer.Error, remedy(answer.Error))
	case answer.Message == nil:
		return nil, notApplied("the answer about %q has neither a message nor an error", f.subject)
	}
	m := answer.Message
	r, err := decodeRecord(m.Data)
	if err != nil {
		return nil, notApplied("message %d of stream %s, on %q, is no record of this plugin: %w; another program wrote it, or a newer version", m.Seq, f.stream, f.subject, err)
	}
	s := &stored{record: r, seq: m.Seq, tok: r.Token, time: m.Time.UnixMilli()}
	e, _, _ := parseSubject(m.Subject)
	origin, copied := originOf(m.Hdrs)
	if copied {
		s.seq = 0
	}
	switch {
	case r.Status != store.StatusRunning: // it names its token
	case copied:
		s.tok = e.token(origin)
	default:
		s.tok = e.token(m.Seq)
	}
	return s, nil
}

// sourceHeader is where the server notes whence it copied a message: stream,
// sequence, and more.
const sourceHeader = "Nats-Stream-Source"

// originOf returns the sequence that a copied message had in its first stream.
func originOf(headers []byte) (seq uint64, copied bool) {
	if len(headers) == 0 {
		return 0, false
	}
	h, err := nats.DecodeHeadersMsg(headers)
	if err != nil {
		return 0, false
	}
	fields := strings.Fields(h.Get(sourceHeader))
	if len(fields) < 2 {
		return 0, len(fields) > 0
	}
	seq, _ = strconv.ParseUint(fields[1], 10, 64)
	return seq, true
}
