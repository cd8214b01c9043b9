package store

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"time"
)

// Token is a fencing token: handed out with every grant, and within a job each
// later grant has a greater one, for ever. 0 means that the backend can't fence.
type Token int64

// ClaimID identifies one wish to run: 128 random bits, made once, never derived
// and never stored by the caller, and sent again unchanged when the answer was
// lost. It tells a winner whose answer was lost from a loser.
type ClaimID [16]byte

// NewClaimID returns a fresh random id. It is safe for concurrent use.
func NewClaimID() ClaimID {
	var id ClaimID
	rand.Read(id[:]) // never fails: crypto/rand ends the program instead
	return id
}

// IsZero reports whether id was never made.
func (id ClaimID) IsZero() bool { return id == ClaimID{} }

// String returns the id as 32 hexadecimal digits.
func (id ClaimID) String() string { return hex.EncodeToString(id[:]) }

// ParseClaimID reads what [ClaimID.String] wrote.
func ParseClaimID(s string) (ClaimID, error) {
	var id ClaimID
	if hex.DecodedLen(len(s)) != len(id) {
		return id, fmt.Errorf("store: claim id %q has %d characters; it must have 32 hexadecimal digits", clip(s), len(s))
	}
	if _, err := hex.Decode(id[:], []byte(s)); err != nil {
		return ClaimID{}, fmt.Errorf("store: claim id %q: %w", clip(s), err)
	}
	return id, nil
}

// Time returns a slot, or the store's now, as a time in UTC.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
