package redisstore

import (
	"fmt"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// attemptWords are the words of an attempt's line that this version knows; see
// lua/attempt.lua. A later version may append some.
const attemptWords = 8

// parseAttempts reads the lines of a run's attempts.
func parseAttempts(slot int64, lines string) ([]store.Attempt, error) {
	var all []store.Attempt
	for line := range strings.SplitSeq(lines, "\n") {
		words := strings.Split(line, " ")
		if len(words) < attemptWords {
			return nil, fmt.Errorf("the record of slot %d is damaged: an attempt has %d words, at least %d are due", slot, len(words), attemptWords)
		}
		d := decoder{words: words}
		a := store.Attempt{Slot: slot, Attempt: d.count(), Token: store.Token(d.number()), StartedAt: d.number(), Instance: d.name()}
		if err := a.Reason.UnmarshalText([]byte(d.text())); err != nil {
			d.fault("%w", err)
		}
		a.Status, a.HandedOver = d.status()
		a.EndedAt, a.Error = d.number(), d.marked()
		if d.err != nil {
			return nil, fmt.Errorf("the record of slot %d is damaged: %w", slot, d.err)
		}
		all = append(all, a)
	}
	return all, nil
}
