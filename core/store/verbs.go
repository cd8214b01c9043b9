package store

import "time"

// ClaimRequest asks the store for a run: may Instance execute (Job, Slot)?
type ClaimRequest struct {
	Job  string // 1 to 200 bytes of UTF-8
	Slot int64  // planned time, Unix milliseconds
	ID   ClaimID
	// After is the attempt that this claim follows, 0 for the first. A copy of
	// a claim that arrives late can therefore never be granted a second time.
	After    int
	Instance string // who asks: a name unique per process start, 1 to 200 bytes
	Reason   Reason
	// Lease is how long the grant is protected without renewal, from the
	// store's step on: 1 ms to 30 days.
	Lease time.Duration
	// MaxEarly bounds slot − store's now of a first attempt: one fast clock must
	// not take the slots away from all others. At least 0.
	MaxEarly time.Duration
	// MaxLate bounds store's now − slot of a first attempt; the store adds
	// [LateTolerance]. At least 0.
	MaxLate     time.Duration
	Overlap     Overlap
	MaxAttempts int // attempts that count before the run is closed, 1 to 100; the first claim of a run decides
	HistorySize int // runs to remember of this job, 1 to 10 000; the last grant decides, or the last claim, as a backend likes
	// Fingerprint identifies the schedule that planned the slot (expression and
	// zone rules), at most 64 bytes; empty if unknown. A backend may keep it.
	Fingerprint string
}

// LateTolerance is what the store allows beyond a claim's MaxLate for the
// difference between its clock and the instance's.
const LateTolerance = 10 * time.Second

// ClaimAnswer is the store's verdict on a claim. Which of the other fields are
// set depends on it; see the verdicts.
type ClaimAnswer struct {
	Verdict Verdict
	Attempt int   // Won, Running: that attempt, from 1; Running 0: the store has none, though the claim named one. Exhausted: attempts that counted
	Token   Token // Won: the fencing token, 0 where the backend can't fence
	// Left is the time until the lease ends, as the store sees it. Won: of this
	// grant. Running, Overlap: of the lease in the way, 0 if it is over or
	// handed over.
	Left   time.Duration
	Holder string        // Running, Overlap: the instance that holds the lease
	Slot   int64         // Overlap: the slot in the way. Superseded: the newest granted slot
	Status Status        // Finished: how the run ended, 0 if the store forgot
	By     time.Duration // Late: store's now − slot. Early: slot − store's now
	// Fingerprint is the one that the last claim of the job that was granted (or,
	// as a backend likes, judged) before this one carried; empty where there was
	// none or the backend does not keep it.
	Fingerprint string
	Now         int64 // the store's clock in its step, Unix milliseconds; 0 where it has none
}

// HeartbeatRequest renews the lease of the attempt that Token was granted to.
type HeartbeatRequest struct {
	Job   string
	Slot  int64
	Token Token
	Lease time.Duration // from the store's step on; never shortens a lease
}

// HeartbeatAnswer says whether the lease was renewed. Lost means that the
// attempt is no longer open: taken over, finished, released or closed.
type HeartbeatAnswer struct {
	Renewed bool
	Now     int64 // as in [ClaimAnswer]
}

// FinishRequest ends the attempt that Token was granted to.
type FinishRequest struct {
	Job     string
	Slot    int64
	Token   Token
	Outcome Outcome
	// Error is the reason of a failed or interrupted attempt; cut to 2000
	// characters, see [CutError].
	Error string
	// ID is the claim id of the attempt. Backends that can't fence (token 0) use
	// it to tell the run's winner from a stranger.
	ID ClaimID
}

// FinishAnswer says whether the outcome stands in the store. Not recorded means
// lost: the attempt had ended otherwise. On a repeat it may also mean that the
// record was trimmed, so a repeat's "lost" is unproven.
type FinishAnswer struct {
	Recorded bool
	Now      int64 // as in [ClaimAnswer]
}

// UnfinishedRequest recalls the unfinished runs of Jobs, or, without names, of
// all jobs in the namespace: a renamed job leaves runs behind.
type UnfinishedRequest struct {
	Jobs []string
}

// UnfinishedAnswer lists unfinished runs by job and slot.
type UnfinishedAnswer struct {
	Runs []UnfinishedRun
	Now  int64 // as in [ClaimAnswer]
}

// UnfinishedRun is a run that began and has not ended.
type UnfinishedRun struct {
	Job     string
	Slot    int64
	Attempt int  // the last attempt, from 1
	Open    bool // false: released, that is handed over and not yet taken
	Holder  string
	Token   Token
	Left    time.Duration // of the lease; 0 if over or released
	Counted int           // attempts that count towards max attempts
	Newest  int64         // the job's newest granted slot
}

// HistoryRequest recalls the attempts of a job, newest first: by slot, then by
// attempt, both descending.
type HistoryRequest struct {
	Job   string
	Limit int    // attempts, 1 to 10 000
	Page  string // empty for the newest; else what the page before said in Next
}

// HistoryAnswer is a page of a job's history.
type HistoryAnswer struct {
	Attempts []Attempt
	Next     string // the page after this one; empty at the end
	Now      int64  // as in [ClaimAnswer]
}

// Attempt is what history remembers of one granted execution.
type Attempt struct {
	Slot       int64
	Attempt    int
	Token      Token
	Instance   string
	Reason     Reason
	Status     Status
	HandedOver bool  // interrupted because its runner gave the lease back
	StartedAt  int64 // the store's clock at the grant, Unix milliseconds; 0 where it keeps no times
	EndedAt    int64 // 0 while running
	Error      string
}
