package main

import (
	"slices"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

// job is what the store knows of a job. A job that nothing was granted of yet is
// the zero value and has no file.
type job struct {
	Name        string      `json:"name"`
	Newest      int64       `json:"newestMs"`  // the highest slot ever granted: the claim memory, for ever
	LastToken   store.Token `json:"lastToken"` // kept here, where no trimming reaches it
	HistorySize int         `json:"historySize"`
	Fingerprint string      `json:"fingerprint,omitempty"`
	Unfinished  []*run      `json:"unfinished"` // by slot; never trimmed

	ended []*run // by slot; each on a line of its own, below the job's
	unknown
}

// run is one slot of a job.
type run struct {
	Slot     int64      `json:"slotMs"`
	Max      int        `json:"maxAttempts"` // as its first claim asked
	Counted  int        `json:"counted"`     // attempts that count
	Attempts []*attempt `json:"attempts"`    // oldest first; never empty
	unknown
}

// attempt is one granted execution.
type attempt struct {
	Number     int           `json:"attempt"`
	Token      store.Token   `json:"token"`
	Claim      string        `json:"claim"` // the claim id
	Instance   string        `json:"instance"`
	Reason     store.Reason  `json:"reason"`
	Overlap    store.Overlap `json:"overlap"`
	Lease      int64         `json:"leaseMs"` // as its holder asked
	LeaseEnd   int64         `json:"leaseEndMs"`
	Status     store.Status  `json:"status"`
	HandedOver bool          `json:"handedOver,omitempty"`
	StartedAt  int64         `json:"startedMs"`
	EndedAt    int64         `json:"endedMs,omitempty"`
	Error      string        `json:"error,omitempty"`
	unknown
}

func (j *job) granted() bool { return j.LastToken != 0 }

// last is the attempt that stands for the run.
func (r *run) last() *attempt { return r.Attempts[len(r.Attempts)-1] }

// open: granted and not ended. Only then is its token current.
func (a *attempt) open() bool { return a.Status == store.StatusRunning }

// live: its lease protects it now.
func (a *attempt) live(now int64) bool { return a.open() && now < a.LeaseEnd }

// left is how long it is still protected.
func (a *attempt) left(now int64) time.Duration {
	if !a.live(now) {
		return 0
	}
	return span(a.LeaseEnd - now)
}

// find returns the run of a slot, or nil.
func find(runs []*run, slot int64) *run {
	if i, ok := slices.BinarySearchFunc(runs, slot, bySlot); ok {
		return runs[i]
	}
	return nil
}

func insert(runs []*run, r *run) []*run {
	i, _ := slices.BinarySearchFunc(runs, r.Slot, bySlot)
	return slices.Insert(runs, i, r)
}

func bySlot(r *run, slot int64) int {
	switch {
	case r.Slot < slot:
		return -1
	case r.Slot > slot:
		return 1
	}
	return 0
}

// end moves a run to the history. An attempt that is still open is interrupted.
func (j *job) end(r *run, now int64) {
	r.last().interrupt(now)
	j.Unfinished = slices.DeleteFunc(j.Unfinished, func(other *run) bool { return other == r })
	j.ended = insert(j.ended, r)
}

func (a *attempt) interrupt(now int64) {
	if a.open() {
		a.Status, a.EndedAt = store.StatusInterrupted, now
	}
}

// trim drops the oldest slots that ended. HistorySize is at least 1, so the newest
// stays.
func (j *job) trim() {
	if n := len(j.ended) - j.HistorySize; n > 0 {
		j.ended = j.ended[n:]
	}
}

// cutLeases is done before every decision: a lease with more left than its length
// means that the clock went back, and must not protect a dead runner until it has
// caught up.
func (j *job) cutLeases(now int64) {
	for _, r := range j.Unfinished {
		if a := r.last(); a.open() {
			a.LeaseEnd = min(a.LeaseEnd, now+a.Lease)
		}
	}
}

func ms(d time.Duration) int64 { return int64(d / time.Millisecond) }

// span is the inverse of ms. Slots can be further apart than a time.Duration
// reaches (292 years), so it stops at the longest.
func span(ms int64) time.Duration {
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}
