package model

import (
	"slices"

	"github.com/anarchon-go/anarchon/core/store"
)

// Job is what a store remembers of one job, and the rules that change it. The
// zero value is a job that nothing was granted of yet.
//
// Its methods are the verbs, each one atomic step: they are told the store's
// now (Unix milliseconds) and expect requests that their Validate accepts. They
// are deterministic and touch nothing else. A Job is not safe for concurrent
// use and must not be copied; [Job.Clone] copies it.
type Job struct {
	fault Fault // which steps are bent; 0 is the truth

	granted     bool        // a slot was ever granted
	newest      int64       // the highest slot ever granted: the whole claim memory
	lastToken   store.Token // the highest token ever granted
	historySize int
	fingerprint string
	leastToken  store.Token // of a grant, within ClaimSeen only

	unfinished []*run // by slot; never trimmed
	ended      []*run // by slot; trimmed; an ended run never changes, so clones share it
}

// run is one slot of a job: its last attempt, and those before it.
type run struct {
	slot    int64
	max     int // attempts that count before the run is closed, as its first claim asked
	counted int // attempts that count so far

	// Of the last attempt.
	id      store.ClaimID
	open    bool  // false: handed over, or the run ended
	skip    bool  // its claim said skip
	end     int64 // of its lease, on the store's clock
	length  int64 // of its lease as its holder asked, in ms
	last    store.Attempt
	earlier []store.Attempt
}

// NewJob returns a job whose rules have one fault. It is for testing tests, and
// panics if the fault is none of the package's.
func NewJob(f Fault) *Job {
	f.must()
	return &Job{fault: f}
}

// Clone returns an independent copy.
func (j *Job) Clone() *Job {
	c := *j
	c.unfinished = make([]*run, len(j.unfinished))
	for i, r := range j.unfinished {
		c.unfinished[i] = r.clone()
	}
	c.ended = slices.Clip(j.ended)
	return &c
}

func (j *Job) clone() rules { return j.Clone() }

func (j *Job) used() bool { return j.granted }

func (r *run) clone() *run {
	c := *r
	c.earlier = slices.Clip(r.earlier)
	return &c
}

// bySlot orders runs for a binary search.
func bySlot(r *run, slot int64) int {
	switch {
	case r.slot < slot:
		return -1
	case r.slot > slot:
		return 1
	}
	return 0
}

// find returns the run of a slot, or nil. The newest is asked for most.
func find(runs []*run, slot int64) *run {
	n := len(runs)
	if n == 0 || runs[n-1].slot < slot {
		return nil
	}
	if runs[n-1].slot == slot {
		return runs[n-1]
	}
	if i, ok := slices.BinarySearchFunc(runs, slot, bySlot); ok {
		return runs[i]
	}
	return nil
}

// insert adds a run at its place. It never moves a run in place: a clone may
// share the array.
func insert(runs []*run, r *run) []*run {
	n := len(runs)
	if n == 0 || runs[n-1].slot < r.slot {
		return append(runs, r)
	}
	i, _ := slices.BinarySearchFunc(runs, r.slot, bySlot)
	return slices.Concat(runs[:i], []*run{r}, runs[i:])
}

// endRun moves an unfinished run to the ended ones.
func (j *Job) endRun(r *run) {
	r.open = false
	i := slices.Index(j.unfinished, r)
	j.unfinished = slices.Delete(j.unfinished, i, i+1)
	j.ended = insert(j.ended, r)
}

// interrupt records the last attempt as interrupted if it was open; one that
// was handed over stays so.
func (r *run) interrupt(now int64) {
	if r.open {
		r.open = false
		r.last.Status = store.StatusInterrupted
		r.last.EndedAt = now
	}
}

// close ends a run that will not be granted again.
func (j *Job) close(r *run, now int64) {
	r.interrupt(now)
	j.endRun(r)
}

// left is how long the last attempt is still protected, in ms.
func (r *run) left(now int64) int64 {
	if !r.open {
		return 0
	}
	return max(0, r.end-now)
}
