package core

import (
	"errors"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// failures are the answers that are none.
var failures = map[string]error{
	"unknown":     fmt.Errorf("no answer: %w", store.ErrUnknown),
	"not-applied": fmt.Errorf("not connected: %w", store.ErrNotApplied),
	"invalid":     &store.InvalidError{Field: "lease", Value: "0s", Rule: "1ms to 720h0m0s"},
}

// doClaimAnswer: claim JOB SLOT VERDICT, or a failure.
func (s *script) doClaimAnswer(w *words) error {
	c, err := s.take("claim", w)
	if err != nil {
		return err
	}
	word := w.next()
	ans := store.ClaimAnswer{Now: s.storeNow(), Fingerprint: w.option("fingerprint", "")}
	if failed := failures[word]; failed != nil {
		s.m.claimAnswered(s.instant, c.run, store.ClaimAnswer{}, failed)
		s.turn()
		return nil
	}
	if word == "unheard-of" {
		ans.Verdict = 99
	} else if err := ans.Verdict.UnmarshalText([]byte(word)); err != nil {
		return err
	}
	ans.Attempt, ans.Token = w.int("attempt"), store.Token(w.int("token"))
	ans.Left, ans.Holder, ans.By = w.duration("left"), w.option("holder", ""), w.duration("by")
	if slot := w.option("slot", ""); slot != "" {
		if ans.Slot, err = s.parseTime(slot); err != nil {
			return err
		}
	}
	s.m.claimAnswered(s.instant, c.run, ans, nil)
	s.turn()
	return nil
}

// doBeatAnswer: beat JOB SLOT renewed|lost, or a failure.
func (s *script) doBeatAnswer(w *words) error {
	c, err := s.take("heartbeat", w)
	if err != nil {
		return err
	}
	word := w.next()
	failed := failures[word]
	if failed == nil && word != "renewed" && word != "lost" {
		return fmt.Errorf("unknown answer %q", word)
	}
	s.m.beatAnswered(s.instant, c.run, store.HeartbeatAnswer{Renewed: word == "renewed", Now: s.storeNow()}, failed)
	s.turn()
	return nil
}

// doFinishAnswer: finish JOB SLOT recorded|lost, or a failure.
func (s *script) doFinishAnswer(w *words) error {
	c, err := s.take("finish", w)
	if err != nil {
		return err
	}
	word := w.next()
	failed := failures[word]
	if failed == nil && word != "recorded" && word != "lost" {
		return fmt.Errorf("unknown answer %q", word)
	}
	s.m.finishAnswered(s.instant, c.run, store.FinishAnswer{Recorded: word == "recorded", Now: s.storeNow()}, failed)
	s.turn()
	return nil
}

// doHandler: handler JOB SLOT returns nil, an error, or panics.
func (s *script) doHandler(w *words) error {
	c, err := s.take("handler", w)
	if err != nil {
		return err
	}
	var result error
	switch word := w.next(); word {
	case "nil":
	case "error":
		result = errors.New(w.next())
	case "panic":
		result = &PanicError{Value: w.next(), Stack: []byte("goroutine 1 [running]:")}
	default:
		return fmt.Errorf("a handler returns nil, an error or panics, not %q", word)
	}
	s.m.handlerReturned(s.instant, c.run, settle(result))
	s.turn()
	return nil
}

// doRecallAnswer: recall nothing, a failure, or an indented line for each
// unfinished run: JOB SLOT attempt=1 holder=B left=10s [released] [newest=SLOT].
func (s *script) doRecallAnswer(w *words, runs []string) error {
	if _, err := s.take("recall", w); err != nil {
		return err
	}
	ans := store.UnfinishedAnswer{Now: s.storeNow()}
	var failed error
	if len(runs) == 0 {
		word := w.next()
		if failed = failures[word]; failed == nil && word != "nothing" {
			return fmt.Errorf("unknown answer %q", word)
		}
	}
	for _, line := range runs {
		u, err := s.parseUnfinished(line)
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		ans.Runs = append(ans.Runs, u)
	}
	s.m.recallAnswered(s.instant, ans, failed)
	s.turn()
	return nil
}

func (s *script) parseUnfinished(line string) (store.UnfinishedRun, error) {
	w, err := splitWords(line)
	if err != nil {
		return store.UnfinishedRun{}, err
	}
	u := store.UnfinishedRun{Job: w.next(), Open: true, Attempt: w.int("attempt"), Holder: w.option("holder", ""), Left: w.duration("left"), Counted: w.int("counted")}
	if u.Slot, err = s.parseTime(w.next()); err != nil {
		return u, err
	}
	u.Newest = u.Slot
	if newest := w.option("newest", ""); newest != "" {
		if u.Newest, err = s.parseTime(newest); err != nil {
			return u, err
		}
	}
	if len(w.plain) > 0 && w.plain[0] == "released" {
		w.next()
		u.Open = false
	}
	return u, w.rest()
}

// doHistoryAnswer: history JOB nothing, a failure, or an indented line for each
// attempt, newest first: SLOT attempt=1 STATUS [handed-over] started=TIME [ended=TIME].
func (s *script) doHistoryAnswer(w *words, attempts []string) error {
	c, err := s.take("history", w)
	if err != nil {
		return err
	}
	ans := store.HistoryAnswer{Now: s.storeNow()}
	var failed error
	if len(attempts) == 0 {
		word := w.next()
		if failed = failures[word]; failed == nil && word != "nothing" {
			return fmt.Errorf("unknown answer %q", word)
		}
	}
	for _, line := range attempts {
		a, err := s.parseAttempt(line)
		if err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
		ans.Attempts = append(ans.Attempts, a)
	}
	s.m.historyAnswered(s.instant, c.job, ans, failed)
	s.turn()
	return nil
}

func (s *script) parseAttempt(line string) (store.Attempt, error) {
	w, err := splitWords(line)
	if err != nil {
		return store.Attempt{}, err
	}
	var a store.Attempt
	if a.Slot, err = s.parseTime(w.next()); err != nil {
		return a, err
	}
	a.Attempt = w.int("attempt")
	if a.StartedAt, err = s.parseTime(w.option("started", "")); err != nil {
		return a, err
	}
	if ended := w.option("ended", ""); ended != "" {
		if a.EndedAt, err = s.parseTime(ended); err != nil {
			return a, err
		}
	}
	if err := a.Status.UnmarshalText([]byte(w.next())); err != nil {
		return a, err
	}
	if len(w.plain) > 0 && w.plain[0] == "handed-over" {
		w.next()
		a.HandedOver = true
	}
	return a, w.rest()
}
