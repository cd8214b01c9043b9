package natsstore

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/anarchon-go/anarchon/core/store"
)

// record is the body of a message: what is known of a run. The claim leaves it
// with the status running, the finish leaves it again with the outcome.
type record struct {
	ID          string       `json:"id"` // claim id, hexadecimal
	Instance    string       `json:"instance"`
	Reason      store.Reason `json:"reason"`
	Status      store.Status `json:"status"`
	HistorySize int          `json:"historySize"`
	Fingerprint string       `json:"fingerprint,omitempty"`

	// The finish adds these. Token and StartedAt repeat what the claim's message
	// said by its era and sequence, and by its time.
	Token     store.Token `json:"token,omitempty"`
	StartedAt int64       `json:"startedAt,omitempty"`
	Error     string      `json:"error,omitempty"`

	// all holds every field of the message, also those that this version does
	// not know: they are written back.
	all map[string]json.RawMessage
}

func claimRecord(q *store.ClaimRequest) *record {
	return &record{
		ID: q.ID.String(), Instance: q.Instance, Reason: q.Reason, Status: store.StatusRunning,
		HistorySize: q.HistorySize, Fingerprint: q.Fingerprint,
	}
}

// encode writes the record. It can't fail: statuses and reasons are valid.
func (r *record) encode() []byte {
	b, err := json.Marshal(r)
	if err == nil && len(r.all) > 0 {
		fields := maps.Clone(r.all)
		if err = json.Unmarshal(b, &fields); err == nil {
			b, err = json.Marshal(fields)
		}
	}
	if err != nil {
		panic(fmt.Sprintf("natsstore: encode a record: %v", err))
	}
	return b
}

func decodeRecord(b []byte) (*record, error) {
	r := new(record)
	if err := json.Unmarshal(b, r); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &r.all); err != nil {
		return nil, err
	}
	if r.ID == "" || r.Instance == "" || r.Status == 0 || r.Reason == 0 {
		return nil, errors.New("id, instance, status or reason is missing")
	}
	return r, nil
}

// stored is a record as it lies in a stream.
type stored struct {
	*record
	seq  uint64      // in the claims stream; 0 if the history stream has it only
	tok  store.Token // of the grant
	time int64       // of the message, Unix milliseconds
}

// startedAt is when the slot was granted, on the server's clock.
func (s *stored) startedAt() int64 {
	if s.Status == store.StatusRunning {
		return s.time
	}
	return s.StartedAt
}

// attempt is what the history says.
func (s *stored) attempt(slot int64) store.Attempt {
	a := store.Attempt{
		Slot: slot, Attempt: 1, Token: s.tok, Instance: s.Instance, Reason: s.Reason, Status: s.Status,
		StartedAt: s.startedAt(), Error: s.Error,
	}
	if s.Status != store.StatusRunning {
		a.EndedAt = s.time
	}
	return a
}
