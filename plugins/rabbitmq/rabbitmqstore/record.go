package rabbitmqstore

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// record is one message of the log. Its entries are judged in order. One
// without entries is a mark: it says that its writer has read up to here.
//
// Readers skip fields and kinds of entry that they don't know; what they must
// not skip has a greater format.
type record struct {
	Format int    `json:"format"`
	Writer string `json:"writer"` // of this session of one plugin process
	Seq    uint64 `json:"seq"`    // of that writer's records, from 1
	// SentAt is the writer's clock, Unix milliseconds. It decides nothing.
	SentAt int64 `json:"sentAt"`
	// SlotTTL is how long the writer declares slots to be remembered, in
	// milliseconds. Every reader remembers as long as the longest.
	SlotTTL int64   `json:"slotTtl"`
	Entries []entry `json:"entries,omitempty"`
}

// Kinds of entry.
const (
	kindClaim  = "claim"
	kindFinish = "finish"
)

// entry is a claim or a finish.
type entry struct {
	Kind string `json:"kind"`
	Job  string `json:"job"`
	Slot int64  `json:"slot"`
	ID   string `json:"id"` // claim id, hexadecimal

	// Of a claim.
	After       int    `json:"after,omitempty"`
	Instance    string `json:"instance,omitempty"`
	Reason      string `json:"reason,omitempty"`
	HistorySize int    `json:"historySize,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`

	// Of a finish.
	Outcome string `json:"outcome,omitempty"`
	Error   string `json:"error,omitempty"`
}

func claimEntry(q *store.ClaimRequest) entry {
	return entry{
		Kind: kindClaim, Job: q.Job, Slot: q.Slot, ID: q.ID.String(), After: q.After,
		Instance: q.Instance, Reason: q.Reason.String(), HistorySize: q.HistorySize, Fingerprint: q.Fingerprint,
	}
}

func finishEntry(q *store.FinishRequest) entry {
	return entry{
		Kind: kindFinish, Job: q.Job, Slot: q.Slot, ID: q.ID.String(),
		Outcome: q.Outcome.String(), Error: store.CutError(q.Error),
	}
}

// reason is what the entry's text says. One that this version does not know
// must not cost the claim: it is recorded and decides nothing.
func (e *entry) reason() store.Reason {
	r := store.ReasonScheduled
	_ = r.UnmarshalText([]byte(e.Reason))
	return r
}

// status is how a run reads after this finish.
func (e *entry) status() store.Status {
	o := store.OutcomeInterrupted
	_ = o.UnmarshalText([]byte(e.Outcome))
	return o.Status()
}

// encode writes the record. It can't fail: requests are validated before.
func (r *record) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("rabbitmqstore: encode a record: %v", err))
	}
	return b
}

// errForeign is a message that is none of ours.
var errForeign = errors.New("not a record of anarchon")

// decode reads a record of this or a newer format. Of a newer one only the
// format is told.
func decode(b []byte) (*record, error) {
	var head struct {
		Format int    `json:"format"`
		Writer string `json:"writer"`
	}
	if err := json.Unmarshal(b, &head); err != nil || head.Format < 1 || head.Writer == "" {
		return nil, errForeign
	}
	if head.Format > Format {
		return &record{Format: head.Format}, nil
	}
	r := new(record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, errForeign
	}
	return r, nil
}
