package wire

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// FuzzAnswers decodes whatever a plugin may send: never a panic, and what is taken
// keeps the protocol's bounds.
func FuzzAnswers(f *testing.F) {
	for _, m := range []proto.Message{
		ClaimAnswer(claimAns), ClaimAnswer(store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1}),
		UnfinishedAnswer(unfinishedAns), HistoryAnswer(historyAns), Description(description), Error(store.ErrUnsupported),
	} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c pb.ClaimAnswer
		if proto.Unmarshal(b, &c) == nil {
			if a, err := ToClaimAnswer(&c); err == nil {
				if a.Verdict == 0 || a.Verdict > lastVerdict || a.Left < 0 || a.Left > store.MaxLease || a.Token < 0 || a.Verdict == store.VerdictWon && a.Attempt < 1 {
					t.Errorf("taken: %+v", a)
				}
			}
		}
		var u pb.UnfinishedAnswer
		if proto.Unmarshal(b, &u) == nil {
			if a, err := ToUnfinishedAnswer(&u); err == nil {
				for _, r := range a.Runs {
					if r.Job == "" || r.Attempt < 1 || r.Left < 0 || r.Left > store.MaxLease || r.Counted < 0 {
						t.Errorf("taken: %+v", r)
					}
				}
			}
		}
		var h pb.HistoryAnswer
		if proto.Unmarshal(b, &h) == nil {
			if a, err := ToHistoryAnswer(&h); err == nil {
				for _, r := range a.Attempts {
					if r.Status == 0 || r.Status > lastStatus || r.Attempt < 1 {
						t.Errorf("taken: %+v", r)
					}
				}
			}
		}
		var d pb.Description
		if proto.Unmarshal(b, &d) == nil {
			if a, err := ToDescription(&d); err == nil && (a.Kind == 0 || a.Memory.Window < 0 || a.Memory.Runs < 0) {
				t.Errorf("taken: %+v", a)
			}
		}
		var e pb.Error
		if proto.Unmarshal(b, &e) == nil {
			if err := ToError(&e, asIs); err.Error() == "" && e.Field == "" {
				t.Errorf("an error without words: %v", &e)
			}
		}
	})
}

// FuzzRequests decodes whatever a host may send.
func FuzzRequests(f *testing.F) {
	for _, m := range []proto.Message{Claim(claimReq), Heartbeat(heartbeatReq), Finish(finishReq)} {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var c pb.Claim
		if proto.Unmarshal(b, &c) == nil {
			if r, err := ToClaim(&c); err == nil && r.Validate() != nil {
				t.Errorf("taken: %+v", r)
			}
		}
		var h pb.Heartbeat
		if proto.Unmarshal(b, &h) == nil {
			if r, err := ToHeartbeat(&h); err == nil && r.Validate() != nil {
				t.Errorf("taken: %+v", r)
			}
		}
		var fin pb.Finish
		if proto.Unmarshal(b, &fin) == nil {
			if r, err := ToFinish(&fin); err == nil && (r.Validate() != nil || r.Error != store.CutError(r.Error)) {
				t.Errorf("taken: %+v", r)
			}
		}
		var rec pb.Recall
		if proto.Unmarshal(b, &rec) == nil {
			ToUnfinished(rec.GetUnfinished())
			ToHistory(rec.GetHistory())
		}
	})
}
