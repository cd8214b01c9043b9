package store

import (
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// Bounds of the protocol, checked by [ClaimRequest.Validate] and its siblings
// on both sides of the wire.
const (
	MaxNameBytes   = 200                  // of a job's or an instance's name
	MaxFingerprint = 64                   // bytes
	MaxErrorLength = 2000                 // characters of an error text
	MaxAttemptsCap = 100                  // attempts of a run
	MaxHistory     = 10_000               // runs kept per job, and attempts read at once
	MaxLease       = 30 * 24 * time.Hour  // a month protected without renewal is a mistake
	MaxBound       = 366 * 24 * time.Hour // of MaxEarly and MaxLate

	MinSlot int64 = -62_135_596_800_000 // 0001-01-01T00:00:00Z
	MaxSlot int64 = 253_402_300_799_999 // 9999-12-31T23:59:59.999Z
)

// Validate returns an [InvalidError] for the first field that breaks a rule.
func (r *ClaimRequest) Validate() error {
	return first(
		CheckName("job", r.Job),
		checkSlot(r.Slot),
		checkID(r.ID),
		checkInt("after", r.After, 0, 1<<30),
		CheckName("instance", r.Instance),
		checkEnum(reasonNames, r.Reason),
		checkDuration("lease", r.Lease, time.Millisecond, MaxLease),
		checkDuration("max early", r.MaxEarly, 0, MaxBound),
		checkDuration("max late", r.MaxLate, 0, MaxBound),
		checkEnum(overlapNames, r.Overlap),
		checkInt("max attempts", r.MaxAttempts, 1, MaxAttemptsCap),
		checkInt("history size", r.HistorySize, 1, MaxHistory),
		checkText("fingerprint", r.Fingerprint, 0, MaxFingerprint),
	)
}

// Validate returns an [InvalidError] for the first field that breaks a rule.
func (r *HeartbeatRequest) Validate() error {
	return first(
		CheckName("job", r.Job),
		checkSlot(r.Slot),
		checkToken(r.Token),
		checkDuration("lease", r.Lease, time.Millisecond, MaxLease),
	)
}

// Validate returns an [InvalidError] for the first field that breaks a rule. The
// error text is never refused: [CutError] makes it fit.
func (r *FinishRequest) Validate() error {
	return first(
		CheckName("job", r.Job),
		checkSlot(r.Slot),
		checkToken(r.Token),
		checkEnum(outcomeNames, r.Outcome),
	)
}

// Validate returns an [InvalidError] for the first name that breaks a rule.
func (r *UnfinishedRequest) Validate() error {
	for _, j := range r.Jobs {
		if err := CheckName("job", j); err != nil {
			return err
		}
	}
	return nil
}

// Validate returns an [InvalidError] for the first field that breaks a rule. The
// page is the backend's own to judge.
func (r *HistoryRequest) Validate() error {
	return first(
		CheckName("job", r.Job),
		checkInt("limit", r.Limit, 1, MaxHistory),
	)
}

// CheckName returns an [InvalidError] if a job's or an instance's name is empty,
// longer than 200 bytes, or not UTF-8. Every other name works, NUL and emoji
// too.
func CheckName(field, name string) error { return checkText(field, name, 1, MaxNameBytes) }

func checkText(field, s string, low, high int) error {
	var value string
	switch {
	case len(s) < low:
		value = "empty"
	case len(s) > high:
		value = fmt.Sprintf("%q (%d bytes)", clip(s), len(s))
	case !utf8.ValidString(s):
		value = fmt.Sprintf("%q (not UTF-8)", s)
	default:
		return nil
	}
	return &InvalidError{field, value, fmt.Sprintf("%d to %d bytes of UTF-8", low, high)}
}

func checkSlot(slot int64) error {
	if slot < MinSlot || slot > MaxSlot {
		return &InvalidError{"slot", strconv.FormatInt(slot, 10), fmt.Sprintf("Unix milliseconds from %d to %d (the years 1 to 9999)", MinSlot, MaxSlot)}
	}
	return nil
}

func checkID(id ClaimID) error {
	if id.IsZero() {
		return &InvalidError{"claim id", "all zero", "128 random bits"}
	}
	return nil
}

func checkToken(t Token) error {
	if t < 0 {
		return &InvalidError{"token", strconv.FormatInt(int64(t), 10), "at least 0"}
	}
	return nil
}

func checkInt(field string, n, low, high int) error {
	if n < low || n > high {
		return &InvalidError{field, strconv.Itoa(n), fmt.Sprintf("%d to %d", low, high)}
	}
	return nil
}

func checkDuration(field string, d, low, high time.Duration) error {
	if d < low || d > high {
		return &InvalidError{field, d.String(), fmt.Sprintf("%v to %v", low, high)}
	}
	return nil
}

func checkEnum[T ~uint8](n names[T], v T) error {
	if !n.valid(v) {
		return &InvalidError{n.what, n.of(v), fmt.Sprintf("one of %q", n.spell[1:])}
	}
	return nil
}

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
