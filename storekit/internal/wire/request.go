package wire

import (
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// Claim encodes a claim.
func Claim(r store.ClaimRequest) *pb.Claim {
	return &pb.Claim{
		Job:         text(r.Job),
		SlotMs:      r.Slot,
		Id:          r.ID[:],
		After:       small(r.After),
		Instance:    text(r.Instance),
		Reason:      pb.Reason(r.Reason),
		LeaseMs:     r.Lease.Milliseconds(),
		MaxEarlyMs:  r.MaxEarly.Milliseconds(),
		MaxLateMs:   r.MaxLate.Milliseconds(),
		Overlap:     pb.Overlap(r.Overlap),
		MaxAttempts: small(r.MaxAttempts),
		HistorySize: small(r.HistorySize),
		Fingerprint: text(r.Fingerprint),
	}
}

// ToClaim decodes a claim. The error is a [store.InvalidError].
func ToClaim(p *pb.Claim) (store.ClaimRequest, error) {
	id, err := toID(p.GetId(), false)
	if err != nil {
		return store.ClaimRequest{}, err
	}
	r := store.ClaimRequest{
		Job:         p.GetJob(),
		Slot:        p.GetSlotMs(),
		ID:          id,
		After:       int(p.GetAfter()),
		Instance:    p.GetInstance(),
		Reason:      asked[store.Reason](p.GetReason()),
		Lease:       duration(p.GetLeaseMs()),
		MaxEarly:    duration(p.GetMaxEarlyMs()),
		MaxLate:     duration(p.GetMaxLateMs()),
		Overlap:     asked[store.Overlap](p.GetOverlap()),
		MaxAttempts: int(p.GetMaxAttempts()),
		HistorySize: int(p.GetHistorySize()),
		Fingerprint: p.GetFingerprint(),
	}
	return r, r.Validate()
}

// Heartbeat encodes a heartbeat.
func Heartbeat(r store.HeartbeatRequest) *pb.Heartbeat {
	return &pb.Heartbeat{Job: text(r.Job), SlotMs: r.Slot, Token: int64(r.Token), LeaseMs: r.Lease.Milliseconds()}
}

// ToHeartbeat decodes a heartbeat. The error is a [store.InvalidError].
func ToHeartbeat(p *pb.Heartbeat) (store.HeartbeatRequest, error) {
	r := store.HeartbeatRequest{
		Job:   p.GetJob(),
		Slot:  p.GetSlotMs(),
		Token: store.Token(p.GetToken()),
		Lease: duration(p.GetLeaseMs()),
	}
	return r, r.Validate()
}

// Finish encodes a finish; its error text is cut to what a store must hold.
func Finish(r store.FinishRequest) *pb.Finish {
	p := &pb.Finish{
		Job:     text(r.Job),
		SlotMs:  r.Slot,
		Token:   int64(r.Token),
		Outcome: pb.Outcome(r.Outcome),
		Error:   store.CutError(r.Error),
	}
	if !r.ID.IsZero() {
		p.Id = r.ID[:]
	}
	return p
}

// ToFinish decodes a finish and cuts its error text, whoever the peer is. The
// error is a [store.InvalidError].
func ToFinish(p *pb.Finish) (store.FinishRequest, error) {
	id, err := toID(p.GetId(), true)
	if err != nil {
		return store.FinishRequest{}, err
	}
	r := store.FinishRequest{
		Job:     p.GetJob(),
		Slot:    p.GetSlotMs(),
		Token:   store.Token(p.GetToken()),
		Outcome: asked[store.Outcome](p.GetOutcome()),
		Error:   store.CutError(p.GetError()),
		ID:      id,
	}
	return r, r.Validate()
}

// Unfinished encodes a recall of unfinished runs.
func Unfinished(r store.UnfinishedRequest) *pb.Recall {
	return &pb.Recall{What: &pb.Recall_Unfinished{Unfinished: &pb.RecallUnfinished{Jobs: texts(r.Jobs)}}}
}

// ToUnfinished decodes one. The error is a [store.InvalidError].
func ToUnfinished(p *pb.RecallUnfinished) (store.UnfinishedRequest, error) {
	r := store.UnfinishedRequest{Jobs: p.GetJobs()}
	return r, r.Validate()
}

// History encodes a recall of a job's history.
func History(r store.HistoryRequest) *pb.Recall {
	return &pb.Recall{What: &pb.Recall_History{History: &pb.RecallHistory{
		Job: text(r.Job), Limit: small(r.Limit), Page: []byte(r.Page),
	}}}
}

// ToHistory decodes one. The error is a [store.InvalidError].
func ToHistory(p *pb.RecallHistory) (store.HistoryRequest, error) {
	r := store.HistoryRequest{Job: p.GetJob(), Limit: int(p.GetLimit()), Page: string(p.GetPage())}
	return r, r.Validate()
}

func toID(b []byte, optional bool) (store.ClaimID, error) {
	var id store.ClaimID
	if len(b) == 0 && optional {
		return id, nil
	}
	if len(b) != len(id) {
		return id, &store.InvalidError{Field: "claim id", Value: fmt.Sprintf("%d bytes", len(b)), Rule: "16 random bytes"}
	}
	copy(id[:], b)
	return id, nil
}
