package redisstore

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// decoder reads the words that a script answered, from the left. The first fault
// stays; after it every word reads as zero.
type decoder struct {
	words []string
	err   error
}

func (d *decoder) fault(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
}

func (d *decoder) more() bool { return d.err == nil && len(d.words) > 0 }

func (d *decoder) text() string {
	if len(d.words) == 0 {
		d.fault("it is cut short")
		return ""
	}
	w := d.words[0]
	d.words = d.words[1:]
	return w
}

func (d *decoder) number() int64 {
	w := d.text()
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil {
		d.fault("%.40q is no whole number", w)
	}
	return n
}

func (d *decoder) count() int { return int(d.number()) }

func (d *decoder) span() time.Duration { return span(d.number()) }

// name is an escaped text.
func (d *decoder) name() string {
	s, err := unescape(d.text())
	if err != nil {
		d.fault("%w", err)
	}
	return s
}

// marked is an escaped text that follows an equals sign, so that it is a word
// also if it is empty.
func (d *decoder) marked() string {
	s, ok := strings.CutPrefix(d.name(), "=")
	if !ok {
		d.fault("a text is not marked")
	}
	return s
}

// status reads a status, and whether the attempt was handed over.
func (d *decoder) status() (store.Status, bool) {
	w := d.text()
	if w == store.OutcomeReleased.String() {
		return store.StatusInterrupted, true
	}
	var s store.Status
	if err := s.UnmarshalText([]byte(w)); err != nil {
		d.fault("%w", err)
	}
	return s, false
}

// span is the inverse of ms. The years 1 to 9999 are further apart than a
// time.Duration reaches, so it stops at the longest one.
func span(ms int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}

// claimAnswer reads the answer of a claim's script.
func claimAnswer(q *store.ClaimRequest, s *script, words []string) (store.ClaimAnswer, error) {
	d := decoder{words: words}
	verdict := d.text()
	switch verdict {
	case "invalid":
		return store.ClaimAnswer{}, foreignID(q, d.text(), d.name())
	case "drift":
		return store.ClaimAnswer{}, drift(d.text(), d.text())
	}
	var a store.ClaimAnswer
	if err := a.Verdict.UnmarshalText([]byte(verdict)); err != nil {
		return store.ClaimAnswer{}, strange(s, words)
	}
	a.Now = d.number()
	d.number() // the history size before
	a.Fingerprint = d.marked()
	switch a.Verdict {
	case store.VerdictWon:
		a.Attempt, a.Token = d.count(), store.Token(d.number())
		if s.name == "lease_claim" {
			a.Left = d.span()
		}
	case store.VerdictRunning:
		a.Attempt, a.Holder, a.Left = d.count(), d.name(), d.span()
	case store.VerdictOverlap:
		a.Slot, a.Holder, a.Left = d.number(), d.name(), d.span()
	case store.VerdictFinished:
		if len(d.words) > 0 && d.words[0] != "" {
			a.Status, _ = d.status()
		}
	case store.VerdictSuperseded:
		a.Slot = d.number()
	case store.VerdictExhausted:
		a.Attempt = d.count()
	case store.VerdictLate, store.VerdictEarly:
		a.By = d.span()
	}
	if d.err != nil {
		return store.ClaimAnswer{}, strange(s, words)
	}
	return a, nil
}

// foreignID says for whom a claim id is remembered.
func foreignID(q *store.ClaimRequest, what, whose string) error {
	if what != "slot" {
		whose = strconv.Quote(whose)
	}
	return &store.InvalidError{Field: "claim id", Value: q.ID.String(), Rule: fmt.Sprintf("a fresh one: this one was used for %s %s", what, whose)}
}

// drift says that a stream has other settings than the namespace's record.
func drift(seconds, ids string) error {
	return fmt.Errorf("%w: redis: the job's stream has IDMP-DURATION %s and IDMP-MAXSIZE %s, which are not those of the options duration and maxSize: somebody changed them by XCFGSET, and the stream forgot its slots; set them back by XCFGSET when no late claim can come any more", store.ErrNotApplied, seconds, ids)
}

// yes reads an answer of two words: one of two verdicts, and now.
func yes(s *script, words []string, affirmative, negative string) (bool, int64, error) {
	d := decoder{words: words}
	verdict, now := d.text(), d.number()
	if d.err != nil || verdict != affirmative && verdict != negative {
		return false, 0, strange(s, words)
	}
	return verdict == affirmative, now, nil
}
