package history

import (
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/anarchon-go/anarchon/core/store"
)

// Verdict is what came of judging a history.
type Verdict uint8

const (
	Legal   Verdict = iota + 1 // there is an order that follows the rules
	Illegal                    // there is none: the store broke a rule
	Unknown                    // it could not be found out, which is no pass
)

var verdictNames = []string{"", "legal", "illegal", "unknown"}

// String names the verdict.
func (v Verdict) String() string {
	if int(v) >= len(verdictNames) {
		return "unset"
	}
	return verdictNames[v]
}

// Judgement is a verdict and its reasons.
type Judgement struct {
	Verdict Verdict
	// Reason says, of a verdict that is not legal, what is wrong.
	Reason string
	// Culprit is, of an illegal history, the history of one job that is illegal by
	// itself, not yet made small.
	Culprit *History
	// Stuck are, of an illegal history, calls that have no place in the longest order
	// that follows the rules, beginning with the first.
	Stuck []*Op
	Jobs  int // that were judged
	Ops   int
}

// DefaultSteps is how many steps of the model a job's history may take to judge. A
// history that can be judged takes a few for each call; this many take seconds.
const DefaultSteps = 300_000

// Judge judges a history. It searches up to steps steps of the model for each job,
// 0 for [DefaultSteps]: the same history gets the same verdict on every machine.
func Judge(h *History, steps int) Judgement {
	j := Judgement{Verdict: Legal, Ops: len(h.Ops)}
	if err := h.judgeable(); err != nil {
		j.Verdict, j.Reason = Unknown, err.Error()
		return j
	}
	for _, of := range h.byJob() {
		j.Jobs++
		resolved, err := resolve(h.Kind, of.ops)
		if err != nil {
			if j.Verdict == Legal {
				j.Verdict, j.Reason = Unknown, fmt.Sprintf("job %q: %v", of.job, err)
			}
			continue
		}
		v, stuck := search(h.Kind, resolved, steps)
		switch v {
		case Illegal:
			j.Verdict, j.Culprit, j.Stuck = Illegal, h.with(resolved), stuck
			j.Reason = fmt.Sprintf("job %q: no order of its %d calls follows the rules", of.job, len(resolved))
			return j
		case Unknown:
			if j.Verdict == Legal {
				j.Verdict, j.Reason = Unknown, fmt.Sprintf("job %q: its %d calls have too many orders to be judged in %d steps", of.job, len(resolved), limit(steps))
			}
		}
	}
	return j
}

// JudgeFile reads a history that was saved and judges it.
func JudgeFile(r io.Reader) (*History, Judgement, error) {
	h, err := Read(r)
	if err != nil {
		return nil, Judgement{}, err
	}
	return h, Judge(h, 0), nil
}

func limit(steps int) int {
	if steps == 0 {
		return DefaultSteps
	}
	return steps
}

// judgeable says what a history lacks.
func (h *History) judgeable() error {
	switch h.Kind {
	case store.KindClaimOnly:
		return nil
	case store.KindLease:
	default:
		return fmt.Errorf("the history is of a store of kind %v, which has no rules", h.Kind)
	}
	for _, o := range h.Ops {
		if o.Class == Answered && o.Now() == 0 {
			return fmt.Errorf("an answer of the lease store says no now, by which it could be judged: %v", o)
		}
	}
	return nil
}

// rules are how calls that belong together are judged: which states a call can lead
// to, and when two are the same.
type rules struct {
	init  func() any
	step  func(state any, o *Op) []any
	skip  func(o *Op) bool         // calls that the states see to; nil: none
	when  map[*Op][2]time.Duration // if not from call to return
	equal func(a, b any) bool
	hash  func(state any) uint64
}

// forever is after every return, and far from overflowing.
const forever = int64(1) << 60

// search looks for an order of a job's calls, each between its call and its return,
// that follows the rules.
func search(kind store.Kind, ops []*Op, steps int) (Verdict, []*Op) {
	if kind == store.KindLease {
		b := newBudget(steps)
		l := newLeaseJudge(ops, b)
		r := l.rules()
		if l.rising {
			r.when = narrow(ops)
		}
		return r.search(ops, b)
	}
	verdict := Legal
	for _, run := range byRun(ops) {
		v, stuck := claimOnlyRules.search(run, newBudget(steps))
		if v == Illegal {
			return Illegal, stuck
		}
		verdict = max(verdict, v)
	}
	return verdict, nil
}

// budget counts the steps that a search has left.
type budget struct{ left atomic.Int64 }

func newBudget(steps int) *budget {
	b := &budget{}
	b.left.Store(int64(limit(steps)))
	return b
}

// spend takes a step, if there is one left.
func (b *budget) spend() bool { return b.left.Add(-1) >= 0 }

func (r rules) search(ops []*Op, b *budget) (Verdict, []*Op) {
	calls := make([]porcupine.Operation, 0, len(ops))
	for _, o := range ops {
		if o.Class == NotApplied || o.Class == Invalid || o.Class == Lost && o.reads() || r.skip != nil && r.skip(o) {
			continue
		}
		c := porcupine.Operation{Input: o, Call: int64(o.Call), Return: int64(o.Return)}
		if w, known := r.when[o]; known {
			c.Call, c.Return = int64(w[0]), int64(w[1])
		}
		if isPending(o) {
			c.Return = forever
		}
		calls = append(calls, c)
	}
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{r.init()} },
		Step: func(state, input, _ any) []any {
			if !b.spend() {
				return nil
			}
			o := input.(*Op)
			after := r.step(state, o)
			if o.InFlight {
				after = append(after, state)
			}
			return after
		},
		Equal: r.equal,
		Hash:  r.hash,
	}
	result, info := porcupine.CheckOperationsVerbose(m.ToModel(), calls, 0)
	switch {
	case result == porcupine.Ok:
		return Legal, nil
	case b.left.Load() < 0:
		return Unknown, nil
	}
	return Illegal, stuck(ops, info)
}

// stuck returns the calls that are not in the longest order found.
func stuck(ops []*Op, info porcupine.LinearizationInfo) []*Op {
	var longest []porcupine.Operation
	for _, orders := range info.PartialLinearizationsOperations() {
		for _, order := range orders {
			if len(order) > len(longest) {
				longest = order
			}
		}
	}
	placed := map[*Op]bool{}
	for _, c := range longest {
		placed[c.Input.(*Op)] = true
	}
	left := slices.DeleteFunc(slices.Clone(ops), func(o *Op) bool { return placed[o] || o.Class != Answered })
	slices.SortStableFunc(left, byCall)
	return left[:min(len(left), 5)]
}

// ms is a duration in the protocol's unit.
func ms(d time.Duration) int64 { return int64(d / time.Millisecond) }
