package hosttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/anarchon-go/anarchon/core/model"
	"github.com/anarchon-go/anarchon/core/store"
)

// judge holds a record against the rules of the protocol, job by job, until one is
// found to break them. s is the store when all is quiet: its history is part of the
// record. errNotJudged says that the time was too short to find out.
func judge(ctx context.Context, r *record, s store.Store, limit time.Duration) error {
	var open error
	for _, job := range slices.Sorted(maps.Keys(r.ops)) {
		h, err := s.History(ctx, store.HistoryRequest{Job: job, Limit: store.MaxHistory})
		if err == nil && h.Next != "" {
			err = errors.New("the history is longer than one page")
		}
		if err == nil {
			err = judgeJob(r.ops[job], h.Attempts, limit)
		}
		switch {
		case errors.Is(err, errNotJudged):
			open = fmt.Errorf("job %s: %w", job, err)
		case err != nil:
			return fmt.Errorf("job %s: %w", job, err)
		}
	}
	return open
}

var errNotJudged = errors.New("the calls were not judged in time")

func judgeJob(ops []*op, history []store.Attempt, limit time.Duration) error {
	if err := winners(ops); err != nil {
		return err
	}
	kept, err := resolve(ops, history)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, show(ops))
	}
	result, stuck := replay(kept, history, limit)
	switch result {
	case porcupine.Illegal:
		return fmt.Errorf("no order of these calls follows the rules; the longest that does ends before\n%s\nall calls\n%s\nhistory %+v", stuck, show(kept), history)
	case porcupine.Unknown:
		return fmt.Errorf("%w: %d calls within %v", errNotJudged, len(kept), limit)
	}
	return nil
}

// winners checks what needs no order: one winner of each attempt, and tokens that
// rise with slots and attempts.
func winners(ops []*op) error {
	type grant struct {
		slot    int64
		attempt int
	}
	won := map[grant]*op{}
	for _, o := range ops {
		if o.claim == nil || !o.answered() || o.won.Verdict != store.VerdictWon {
			continue
		}
		g := grant{o.slot, o.won.Attempt}
		if other := won[g]; other != nil && (other.claim.ID != o.claim.ID || other.won.Token != o.won.Token) {
			return fmt.Errorf("attempt %d of slot %d has two winners\n%v\n%v", g.attempt, g.slot, other, o)
		}
		won[g] = o
	}
	grants := slices.SortedFunc(maps.Keys(won), func(a, b grant) int {
		if a.slot != b.slot {
			return int(a.slot - b.slot)
		}
		return a.attempt - b.attempt
	})
	for i := 1; i < len(grants); i++ {
		if a, b := won[grants[i-1]], won[grants[i]]; a.won.Token >= b.won.Token {
			return fmt.Errorf("the tokens do not rise\n%v\n%v", a, b)
		}
	}
	return nil
}

// state is a job, and the store's clock when it was last touched.
type state struct {
	job *model.Job
	now int64
}

// inquiry is the last call: the history that was read at the end.
type inquiry []store.Attempt

// replay looks for an order of the calls, each between its call and its return and
// none against the store's clock, in which the model gives the same answers and
// ends with the same history. If there is none, stuck are the calls that have no
// place in the longest order that there is, beginning with the first.
func replay(ops []*op, history []store.Attempt, limit time.Duration) (result porcupine.CheckResult, stuck string) {
	const end = 1 << 60
	calls := make([]porcupine.Operation, 0, len(ops)+1)
	for _, o := range ops {
		c := porcupine.Operation{Input: o, Call: int64(o.call), Return: int64(o.ret)}
		switch {
		case o.answered():
		case o.at != 0:
			c.Return = end // it may take effect after its caller gave it up
		default: // and if it is not known to have done so, not for ever
			c.Return += (o.last - o.called) * int64(time.Millisecond)
		}
		calls = append(calls, c)
	}
	calls = append(calls, porcupine.Operation{Input: inquiry(history), Call: end + 1, Return: end + 2})
	rules := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{job: model.NewJob(model.NoFault)}} },
		Step: step,
		Equal: func(a, b any) bool {
			return a.(state).now == b.(state).now && a.(state).job.Equal(b.(state).job)
		},
		Hash: func(s any) uint64 { return s.(state).job.Hash() },
	}
	result, info := porcupine.CheckOperationsVerbose(rules.ToModel(), calls, limit)
	if result != porcupine.Illegal {
		return result, ""
	}
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, o := range orders {
			if len(o) > len(longest) {
				longest = o
			}
		}
	}
	placed := map[*op]bool{}
	for _, c := range longest {
		if o, ok := c.Input.(*op); ok {
			placed[o] = true
		}
	}
	left := slices.DeleteFunc(slices.Clone(ops), func(o *op) bool { return placed[o] })
	slices.SortFunc(left, func(a, b *op) int { return int(a.call - b.call) })
	return result, show(left[:min(len(left), 5)])
}

// step returns the states that a call can lead to.
func step(s, input, _ any) (after []any) {
	before := s.(state)
	o, ok := input.(*op)
	if !ok {
		h, err := before.job.History(before.now, store.HistoryRequest{Limit: store.MaxHistory})
		if err == nil && slices.Equal(h.Attempts, input.(inquiry)) {
			after = append(after, before)
		}
		return after
	}
	times := o.maybe
	if o.at != 0 {
		times = []int64{o.at}
	} else {
		after = append(after, before)
	}
	for _, now := range times {
		if now < before.now {
			continue
		}
		next := state{before.job.Clone(), now}
		if o.apply(next.job, now) {
			after = append(after, next)
		}
	}
	return after
}

// show lists calls in the order in which they were made.
func show(ops []*op) string {
	sorted := slices.SortedFunc(slices.Values(ops), func(a, b *op) int { return int(a.call - b.call) })
	var b strings.Builder
	for _, o := range sorted {
		fmt.Fprintln(&b, o)
	}
	return b.String()
}
