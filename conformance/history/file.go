package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// A history's file is text: a JSON object per line. The first says what follows,
// e.g.
//
//	{"anarchon-history":1,"kind":"lease","about":"check linear/shared of plugin sqlite"}
//
// and each other one is a call, e.g.
//
//	{"process":"p1","call":"1.2ms","return":"3.4ms","claim":{"job":"j","slot":1893456000000,
//	"id":"0f…","instance":"a","reason":"scheduled","lease":"400ms","maxEarly":"720h0m0s",
//	"maxLate":"720h0m0s","overlap":"skip","maxAttempts":3,"historySize":100},
//	"class":"answered","claimed":{"verdict":"won","attempt":1,"token":1893456000123,
//	"left":"400ms","now":1893456000123}}
//
// Slots and the store's nows are Unix milliseconds, call and return count from the
// beginning of the history, spans are written as Go does. What is zero is left out.
// "maybe" is there for a call without an answer of which it is known when it may
// have taken effect; see [Op.Maybe].

// FileVersion is the version of the format. A reader refuses any other, and what it
// does not know: what it does not understand it could only judge wrongly.
const FileVersion = 1

// Bounds of what [Read] takes.
const (
	maxLine = 16 << 20 // a page of 10 000 attempts fits
	maxOps  = 100_000
	maxTime = time.Duration(forever) / 2
)

type wireHead struct {
	Version int         `json:"anarchon-history"`
	Kind    *store.Kind `json:"kind"`
	About   string      `json:"about,omitempty"`
}

// Write saves the history.
func (h *History) Write(w io.Writer) error {
	b := bufio.NewWriter(w)
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(wireHead{FileVersion, &h.Kind, h.About}); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	for i, o := range h.Ops {
		if err := enc.Encode(toWire(o)); err != nil {
			return fmt.Errorf("history: call %d: %w", i+1, err)
		}
	}
	return b.Flush()
}

// Read reads what [History.Write] wrote. An error names the line and what is wrong
// with it.
func Read(r io.Reader) (*History, error) {
	s := bufio.NewScanner(r)
	s.Buffer(nil, maxLine)
	h := &History{}
	n := 0
	for s.Scan() {
		n++
		var err error
		switch {
		case n == 1:
			err = h.readHead(s.Bytes())
		case len(h.Ops) == maxOps:
			err = fmt.Errorf("a history has at most %d calls", maxOps)
		default:
			var o *Op
			if o, err = readOp(s.Bytes()); err == nil {
				h.Ops = append(h.Ops, o)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("history: line %d: %w", n, err)
		}
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("history: line %d: %w", n+1, err)
	}
	if n == 0 {
		return nil, errors.New("history: the file is empty; its first line must say which version of the format it has")
	}
	return h, nil
}

func (h *History) readHead(line []byte) error {
	var head wireHead
	// The version is looked at first: a later one may have more fields.
	var version struct {
		Version int `json:"anarchon-history"`
	}
	if err := json.Unmarshal(line, &version); err != nil || version.Version == 0 {
		return fmt.Errorf("it must begin with {\"anarchon-history\":, since this is no history of calls (%v)", err)
	}
	if version.Version != FileVersion {
		return fmt.Errorf("the history has version %d; this program reads version %d", version.Version, FileVersion)
	}
	if err := strict(line, &head); err != nil {
		return err
	}
	if head.Kind == nil {
		return errors.New("kind is missing; it must be \"lease\" or \"claim-only\"")
	}
	h.Kind, h.About = *head.Kind, head.About
	return nil
}

func readOp(line []byte) (*Op, error) {
	var w wireOp
	if err := strict(line, &w); err != nil {
		return nil, err
	}
	o, err := w.op()
	if err == nil {
		err = o.check()
	}
	return o, err
}

// strict decodes one object and nothing else.
func strict(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more after the object")
	}
	return nil
}

// check refuses a call that can't have been.
func (o *Op) check() error {
	if o.Call < 0 || o.Return < o.Call || o.Return > maxTime {
		return fmt.Errorf("it was called at %v and returned at %v; a call returns after it was made", o.Call, o.Return)
	}
	if err := o.checkRequest(); err != nil && o.Class != Invalid {
		return err
	}
	for _, e := range o.Maybe {
		if !moment(e.At) || !token(e.Token) {
			return fmt.Errorf("it may have taken effect at %d with token %d, which is out of bounds", e.At, e.Token)
		}
	}
	if !o.checkAnswer() {
		return errors.New("a time, token, number or rest of a lease in its answer is out of bounds")
	}
	return nil
}

func (o *Op) checkRequest() error {
	switch {
	case o.Claim != nil:
		return o.Claim.Validate()
	case o.Heartbeat != nil:
		return o.Heartbeat.Validate()
	case o.Finish != nil:
		return o.Finish.Validate()
	case o.Unfinished != nil:
		return o.Unfinished.Validate()
	}
	return o.History.Validate()
}

func (o *Op) checkAnswer() bool {
	c := o.Claimed
	ok := moment(o.Now()) && moment(o.Claimed.Slot) && number(c.Attempt) && token(c.Token) && rest(c.Left) && c.By >= 0
	for _, r := range o.Listed.Runs {
		ok = ok && moment(r.Slot) && number(r.Attempt) && token(r.Token) && rest(r.Left) && number(r.Counted) && moment(r.Newest)
	}
	for _, a := range o.Page.Attempts {
		ok = ok && moment(a.Slot) && number(a.Attempt) && token(a.Token) && moment(a.StartedAt) && moment(a.EndedAt)
	}
	return ok
}

func moment(ms int64) bool         { return ms >= store.MinSlot && ms <= 1<<53 }
func number(n int) bool            { return n >= 0 && n <= 1<<30 }
func token(t store.Token) bool     { return t >= 0 && t <= 1<<62 }
func rest(left time.Duration) bool { return left >= 0 && left <= 2*store.MaxLease }
