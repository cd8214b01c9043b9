package wire

import (
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// UnfinishedAnswer encodes what is unfinished.
func UnfinishedAnswer(a store.UnfinishedAnswer) *pb.UnfinishedAnswer {
	runs := make([]*pb.UnfinishedRun, len(a.Runs))
	for i, r := range a.Runs {
		runs[i] = &pb.UnfinishedRun{
			Job:      text(r.Job),
			SlotMs:   r.Slot,
			Attempt:  small(r.Attempt),
			Open:     r.Open,
			Holder:   text(r.Holder),
			Token:    int64(r.Token),
			LeftMs:   r.Left.Milliseconds(),
			Counted:  small(r.Counted),
			NewestMs: r.Newest,
		}
	}
	return &pb.UnfinishedAnswer{Runs: runs, NowMs: a.Now}
}

// ToUnfinishedAnswer decodes one. An error means that the peer breaks the
// protocol.
func ToUnfinishedAnswer(p *pb.UnfinishedAnswer) (store.UnfinishedAnswer, error) {
	a := store.UnfinishedAnswer{Now: p.GetNowMs()}
	if err := checkTime("now", a.Now); err != nil {
		return store.UnfinishedAnswer{}, fmt.Errorf("it recalled unfinished runs with %w", err)
	}
	for i, r := range p.GetRuns() {
		err := firstOf(
			store.CheckName("job", r.GetJob()),
			checkTime("slot", r.GetSlotMs()),
			atLeast("attempt", int64(r.GetAttempt()), 1),
			atLeast("token", r.GetToken(), 0),
			leaseLeft(r.GetLeftMs()),
			atLeast("counted", int64(r.GetCounted()), 0),
			checkTime("newest slot", r.GetNewestMs()),
		)
		if err != nil {
			return store.UnfinishedAnswer{}, fmt.Errorf("it recalled unfinished run %d with %w", i, err)
		}
		a.Runs = append(a.Runs, store.UnfinishedRun{
			Job:     r.GetJob(),
			Slot:    r.GetSlotMs(),
			Attempt: int(r.GetAttempt()),
			Open:    r.GetOpen(),
			Holder:  r.GetHolder(),
			Token:   store.Token(r.GetToken()),
			Left:    duration(r.GetLeftMs()),
			Counted: int(r.GetCounted()),
			Newest:  r.GetNewestMs(),
		})
	}
	return a, nil
}

// HistoryAnswer encodes a page of history.
func HistoryAnswer(a store.HistoryAnswer) *pb.HistoryAnswer {
	attempts := make([]*pb.Attempt, len(a.Attempts))
	for i, t := range a.Attempts {
		attempts[i] = &pb.Attempt{
			SlotMs:     t.Slot,
			Attempt:    small(t.Attempt),
			Token:      int64(t.Token),
			Instance:   text(t.Instance),
			Reason:     pb.Reason(t.Reason),
			Status:     pb.Status(t.Status),
			HandedOver: t.HandedOver,
			StartedMs:  t.StartedAt,
			EndedMs:    t.EndedAt,
			Error:      text(t.Error),
		}
	}
	return &pb.HistoryAnswer{Attempts: attempts, Next: []byte(a.Next), NowMs: a.Now}
}

// ToHistoryAnswer decodes one. An error means that the peer breaks the protocol.
func ToHistoryAnswer(p *pb.HistoryAnswer) (store.HistoryAnswer, error) {
	a := store.HistoryAnswer{Next: string(p.GetNext()), Now: p.GetNowMs()}
	if err := checkTime("now", a.Now); err != nil {
		return store.HistoryAnswer{}, fmt.Errorf("it recalled history with %w", err)
	}
	for i, t := range p.GetAttempts() {
		reason, reasonErr := unsetOr("reason", t.GetReason(), lastReason)
		status, statusErr := outOf("status", t.GetStatus(), lastStatus)
		err := firstOf(
			checkTime("slot", t.GetSlotMs()),
			atLeast("attempt", int64(t.GetAttempt()), 1),
			atLeast("token", t.GetToken(), 0),
			reasonErr,
			statusErr,
			checkTime("start", t.GetStartedMs()),
			checkTime("end", t.GetEndedMs()),
		)
		if err != nil {
			return store.HistoryAnswer{}, fmt.Errorf("it recalled attempt %d with %w", i, err)
		}
		a.Attempts = append(a.Attempts, store.Attempt{
			Slot:       t.GetSlotMs(),
			Attempt:    int(t.GetAttempt()),
			Token:      store.Token(t.GetToken()),
			Instance:   t.GetInstance(),
			Reason:     reason,
			Status:     status,
			HandedOver: t.GetHandedOver(),
			StartedAt:  t.GetStartedMs(),
			EndedAt:    t.GetEndedMs(),
			Error:      t.GetError(),
		})
	}
	return a, nil
}
