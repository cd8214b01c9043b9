package rabbitmqstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// book is what the log says, as far as it was read: the state that every reader
// of the log comes to. It does no I/O and reads no clock; times are a process's
// own monotonic ones, since any fixed moment. It is not safe for concurrent
// use.
//
// Readers begin at different places of the log and forget at different moments,
// so their books differ in what is older than the memory. That grants no slot
// twice within it: whoever grants by a record r has seen no claim of the slot
// within the memory before r, of which there is none then, whoever won it.
// Therefore every claim of a slot, also a refused one, starts its memory anew
// ([run.seen]).
type book struct {
	jobs map[string]*job
	// memory is the longest that any writer in the log declares: an instance
	// with a longer one relies on all the others.
	memory  time.Duration
	history time.Duration
	// horizon is a moment at which everything that is yet to be read was not
	// written: a later record is younger. It is the time at which a record of
	// our own that came back was sent. A record's arrival says nothing of the
	// kind: after a stall, messages that are minutes apart arrive together.
	horizon time.Duration
}

// job is what is known of one job.
type job struct {
	size        int // of the history, as the last grant asked
	fingerprint string
	runs        []*run // by slot
}

// run is one slot that was granted.
type run struct {
	id string
	// seen is when the last claim of the slot was read: it was written earlier.
	seen time.Duration
	store.Attempt
}

func newBook(memory, history time.Duration) *book {
	return &book{jobs: map[string]*job{}, memory: memory, history: history}
}

// find returns the place of a slot in a job's runs.
func (j *job) find(slot int64) (int, bool) {
	// Most claims are of the newest slot or a newer one.
	if n := len(j.runs); n == 0 || j.runs[n-1].Slot < slot {
		return n, false
	}
	return slices.BinarySearchFunc(j.runs, slot, func(r *run, slot int64) int { return cmp.Compare(r.Slot, slot) })
}

// run returns the run of a slot, nil if none is known.
func (b *book) run(name string, slot int64) (*job, *run) {
	j := b.jobs[name]
	if j == nil {
		return nil, nil
	}
	i, ok := j.find(slot)
	if !ok {
		return j, nil
	}
	return j, j.runs[i]
}

// claim judges a claim that was read now. The first of a slot wins.
func (b *book) claim(now time.Duration, e *entry) store.ClaimAnswer {
	j, r := b.run(e.Job, e.Slot)
	if r != nil {
		r.seen = now
		a := taken(j, r)
		if r.id == e.ID && r.Instance == e.Instance && r.Status == store.StatusRunning {
			a.Verdict, a.Attempt, a.Status = store.VerdictWon, 1, 0
		}
		return a
	}
	a := store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1}
	if j != nil {
		a.Fingerprint = j.fingerprint
	}
	if e.After > 0 {
		// The claim says itself that the slot was granted; it was forgotten.
		a.Verdict, a.Attempt = store.VerdictFinished, 0
		return a
	}
	if j == nil {
		j = &job{}
		b.jobs[e.Job] = j
	}
	j.size, j.fingerprint = e.HistorySize, e.Fingerprint
	i, _ := j.find(e.Slot)
	j.runs = slices.Insert(j.runs, i, &run{id: e.ID, seen: now, Attempt: store.Attempt{
		Slot: e.Slot, Attempt: 1, Instance: e.Instance, Reason: e.reason(), Status: store.StatusRunning,
	}})
	return a
}

// taken answers a claim of a run that another claim won, or that ended.
func taken(j *job, r *run) store.ClaimAnswer {
	return store.ClaimAnswer{Verdict: store.VerdictFinished, Status: r.Status, Fingerprint: j.fingerprint}
}

// finish judges a finish. The first that names the winner counts.
func (b *book) finish(e *entry) store.FinishAnswer {
	_, r := b.run(e.Job, e.Slot)
	switch {
	case r == nil || r.id != e.ID:
		return store.FinishAnswer{}
	case r.Status == store.StatusRunning:
		r.Status, r.Error = e.status(), e.Error
		return store.FinishAnswer{Recorded: true}
	}
	return store.FinishAnswer{Recorded: r.Status == e.status()}
}

// claimNow answers a claim without the log, if what was read suffices: a run
// that ended stays as it is.
func (b *book) claimNow(q *store.ClaimRequest) (store.ClaimAnswer, bool) {
	j, r := b.run(q.Job, q.Slot)
	if r == nil || r.Status == store.StatusRunning {
		return store.ClaimAnswer{}, false
	}
	return taken(j, r), true
}

// finishNow is [book.claimNow] for a finish.
func (b *book) finishNow(q *store.FinishRequest) (store.FinishAnswer, bool) {
	if q.Token != 0 { // none of ours
		return store.FinishAnswer{}, true
	}
	_, r := b.run(q.Job, q.Slot)
	if r == nil || r.Status == store.StatusRunning {
		return store.FinishAnswer{}, false
	}
	return store.FinishAnswer{Recorded: r.id == q.ID.String() && r.Status == q.Outcome.Status()}, true
}

// list returns a page of a job's history, newest first: attempts below a slot.
func (b *book) list(name string, below int64, limit int) store.HistoryAnswer {
	var a store.HistoryAnswer
	j := b.jobs[name]
	if j == nil {
		return a
	}
	kept := j.runs[max(0, len(j.runs)-j.size):]
	n, _ := slices.BinarySearchFunc(kept, below, func(r *run, slot int64) int { return cmp.Compare(r.Slot, slot) })
	for _, r := range slices.Backward(kept[:n]) {
		if len(a.Attempts) == limit {
			a.Next = formatPage(a.Attempts[limit-1].Slot)
			break
		}
		a.Attempts = append(a.Attempts, r.Attempt)
	}
	return a
}

// cameBack says that a record of our own, sent at that time, was read.
func (b *book) cameBack(sent time.Duration) { b.horizon = max(b.horizon, sent) }

// forget drops what neither the memory nor a history holds any more. A run may
// be forgotten only once every claim that is yet to be read is younger than it
// by more than the memory.
func (b *book) forget() {
	for name, j := range b.jobs {
		n := 0
		for n < len(j.runs) {
			age := b.horizon - j.runs[n].seen
			if age <= b.memory || age <= b.history && len(j.runs)-n <= j.size {
				break
			}
			n++
		}
		clear(j.runs[:n])
		if j.runs = j.runs[n:]; len(j.runs) == 0 {
			delete(b.jobs, name)
		}
	}
}
