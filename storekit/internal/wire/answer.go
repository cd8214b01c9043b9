package wire

import (
	"errors"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// ClaimAnswer encodes a verdict.
func ClaimAnswer(a store.ClaimAnswer) *pb.ClaimAnswer {
	return &pb.ClaimAnswer{
		Verdict:     pb.Verdict(a.Verdict),
		Attempt:     small(a.Attempt),
		Token:       int64(a.Token),
		LeftMs:      a.Left.Milliseconds(),
		Holder:      text(a.Holder),
		SlotMs:      a.Slot,
		Status:      pb.Status(a.Status),
		ByMs:        a.By.Milliseconds(),
		Fingerprint: text(a.Fingerprint),
		NowMs:       a.Now,
	}
}

// ToClaimAnswer decodes a verdict. An error means that the peer breaks the
// protocol: what it did with the claim is then not known.
func ToClaimAnswer(p *pb.ClaimAnswer) (store.ClaimAnswer, error) {
	a := store.ClaimAnswer{
		Attempt:     int(p.GetAttempt()),
		Token:       store.Token(p.GetToken()),
		Left:        duration(p.GetLeftMs()),
		Holder:      p.GetHolder(),
		Slot:        p.GetSlotMs(),
		By:          duration(p.GetByMs()),
		Fingerprint: p.GetFingerprint(),
		Now:         p.GetNowMs(),
	}
	var verdictErr, statusErr error
	a.Verdict, verdictErr = outOf("verdict", p.GetVerdict(), lastVerdict)
	a.Status, statusErr = unsetOr("status", p.GetStatus(), lastStatus)
	err := firstOf(verdictErr, statusErr, atLeast("token", p.GetToken(), 0), leaseLeft(p.GetLeftMs()), checkTime("now", a.Now))
	if err == nil {
		err = checkVerdict(a)
	}
	if err != nil {
		return store.ClaimAnswer{}, fmt.Errorf("it answered a claim with %w", err)
	}
	return a, nil
}

// checkVerdict checks the fields that a verdict must carry.
func checkVerdict(a store.ClaimAnswer) error {
	switch a.Verdict {
	case store.VerdictWon:
		return atLeast("won, attempt", int64(a.Attempt), 1)
	case store.VerdictRunning: // attempt 0: the claim follows one that the store does not know
		return atLeast("running, attempt", int64(a.Attempt), 0)
	case store.VerdictExhausted:
		return atLeast("exhausted, attempts", int64(a.Attempt), 1)
	case store.VerdictOverlap, store.VerdictSuperseded:
		return checkTime(a.Verdict.String()+", slot", a.Slot)
	case store.VerdictLate, store.VerdictEarly:
		return atLeast(a.Verdict.String()+", by", int64(a.By), 0)
	}
	return nil
}

// HeartbeatAnswer encodes the answer to a heartbeat.
func HeartbeatAnswer(a store.HeartbeatAnswer) *pb.HeartbeatAnswer {
	return &pb.HeartbeatAnswer{Renewed: a.Renewed, NowMs: a.Now}
}

// ToHeartbeatAnswer decodes one; see [ToClaimAnswer].
func ToHeartbeatAnswer(p *pb.HeartbeatAnswer) (store.HeartbeatAnswer, error) {
	if err := checkTime("now", p.GetNowMs()); err != nil {
		return store.HeartbeatAnswer{}, fmt.Errorf("it answered a heartbeat with %w", err)
	}
	return store.HeartbeatAnswer{Renewed: p.GetRenewed(), Now: p.GetNowMs()}, nil
}

// FinishAnswer encodes the answer to a finish.
func FinishAnswer(a store.FinishAnswer) *pb.FinishAnswer {
	return &pb.FinishAnswer{Recorded: a.Recorded, NowMs: a.Now}
}

// ToFinishAnswer decodes one; see [ToClaimAnswer].
func ToFinishAnswer(p *pb.FinishAnswer) (store.FinishAnswer, error) {
	if err := checkTime("now", p.GetNowMs()); err != nil {
		return store.FinishAnswer{}, fmt.Errorf("it answered a finish with %w", err)
	}
	return store.FinishAnswer{Recorded: p.GetRecorded(), Now: p.GetNowMs()}, nil
}

// errNothing is what an answer is that holds neither a result nor an error.
var errNothing = errors.New("neither an answer nor an error")

// ErrNothing says that a result of a verb is empty.
func ErrNothing(verb string) error { return fmt.Errorf("it answered a %s with %w", verb, errNothing) }

func atLeast(what string, n, low int64) error {
	if n < low {
		return fmt.Errorf("%s %d; it must be at least %d", what, n, low)
	}
	return nil
}

func leaseLeft(ms int64) error {
	if most := store.MaxLease.Milliseconds(); ms < 0 || ms > most {
		return fmt.Errorf("lease left %d ms; it must be 0 to %d, which is 30 days", ms, most)
	}
	return nil
}

func checkTime(what string, ms int64) error {
	if ms < store.MinSlot || ms > store.MaxSlot {
		return fmt.Errorf("%s %d; it must be Unix milliseconds in the years 1 to 9999", what, ms)
	}
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
