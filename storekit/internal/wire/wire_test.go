package wire

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

var (
	id       = store.NewClaimID()
	claimReq = store.ClaimRequest{
		Job: "job \x00 ☃", Slot: -5, ID: id, After: 2, Instance: "me", Reason: store.ReasonTakeover,
		Lease: 30 * time.Second, MaxEarly: time.Second, MaxLate: time.Minute, Overlap: store.OverlapAllow,
		MaxAttempts: 7, HistorySize: 10_000, Fingerprint: "f",
	}
	heartbeatReq = store.HeartbeatRequest{Job: "j", Slot: 1, Token: 1 << 62, Lease: time.Millisecond}
	finishReq    = store.FinishRequest{Job: "j", Slot: 1, Token: 2, Outcome: store.OutcomeReleased, Error: "e", ID: id}
	claimAns     = store.ClaimAnswer{
		Verdict: store.VerdictOverlap, Attempt: 3, Token: 4, Left: 5 * time.Millisecond, Holder: "h", Slot: 6,
		Status: store.StatusFailed, By: 7 * time.Millisecond, Fingerprint: "g", Now: 8,
	}
	unfinishedAns = store.UnfinishedAnswer{Now: 1, Runs: []store.UnfinishedRun{{
		Job: "j", Slot: 2, Attempt: 3, Open: true, Holder: "h", Token: 4, Left: 5 * time.Millisecond, Counted: 6, Newest: 7,
	}}}
	historyAns = store.HistoryAnswer{Next: "n\xff", Now: 1, Attempts: []store.Attempt{{
		Slot: 2, Attempt: 3, Token: 4, Instance: "i", Reason: store.ReasonCatchUp, Status: store.StatusInterrupted,
		HandedOver: true, StartedAt: 5, EndedAt: 6, Error: "e",
	}}}
	description = store.Description{
		Kind: store.KindLease, Strategy: "s", Memory: store.Memory{Forever: true, Window: time.Second, Runs: 2},
		Clock: store.ClockNone, Fenced: true, History: true, Product: "p",
		Settings: []store.Setting{{Name: "a", Value: "b"}}, Warnings: []string{"w"}, Format: 3,
	}
)

func TestRoundTrips(t *testing.T) {
	trip(t, claimReq, Claim, ToClaim)
	trip(t, heartbeatReq, Heartbeat, ToHeartbeat)
	trip(t, finishReq, Finish, ToFinish)
	trip(t, store.FinishRequest{Job: "j", Outcome: store.OutcomeSuccess}, Finish, ToFinish) // without an id
	trip(t, store.UnfinishedRequest{Jobs: []string{"a", "b"}}, Unfinished, func(p *pb.Recall) (store.UnfinishedRequest, error) { return ToUnfinished(p.GetUnfinished()) })
	trip(t, store.HistoryRequest{Job: "j", Limit: 5, Page: "p\xff\x00"}, History, func(p *pb.Recall) (store.HistoryRequest, error) { return ToHistory(p.GetHistory()) })
	trip(t, claimAns, ClaimAnswer, ToClaimAnswer)
	trip(t, store.HeartbeatAnswer{Renewed: true, Now: 5}, HeartbeatAnswer, ToHeartbeatAnswer)
	trip(t, store.FinishAnswer{Recorded: true, Now: 5}, FinishAnswer, ToFinishAnswer)
	trip(t, unfinishedAns, UnfinishedAnswer, ToUnfinishedAnswer)
	trip(t, historyAns, HistoryAnswer, ToHistoryAnswer)
	trip(t, description, Description, ToDescription)

	// A field that is added and not converted is zero after the trip; so none may be
	// zero before it.
	for _, v := range []any{claimReq, heartbeatReq, finishReq, claimAns, unfinishedAns, unfinishedAns.Runs[0], historyAns, historyAns.Attempts[0], description, description.Memory} {
		r := reflect.ValueOf(v)
		for i := range r.NumField() {
			if r.Field(i).IsZero() {
				t.Errorf("%T.%s is not tested", v, r.Type().Field(i).Name)
			}
		}
	}
}

// trip sends v over the wire and back.
func trip[V any, P proto.Message](t *testing.T, v V, encode func(V) P, decode func(P) (V, error)) {
	t.Helper()
	b, err := proto.Marshal(encode(v))
	if err != nil {
		t.Errorf("%T: %v", v, err)
		return
	}
	var p P
	p = p.ProtoReflect().Type().New().Interface().(P)
	if err := proto.Unmarshal(b, p); err != nil {
		t.Errorf("%T: %v", v, err)
		return
	}
	got, err := decode(p)
	if err != nil || !reflect.DeepEqual(got, v) {
		t.Errorf("%T came back as\n%+v, %v; want\n%+v", v, got, err, v)
	}
}

// The numbers of the enumerations are the same on both sides, for every name.
func TestEnumsHaveTheSameNumbers(t *testing.T) {
	same[store.Kind](t, pb.Kind(0).Descriptor())
	same[store.Clock](t, pb.Clock(0).Descriptor())
	same[store.Reason](t, pb.Reason(0).Descriptor())
	same[store.Overlap](t, pb.Overlap(0).Descriptor())
	same[store.Outcome](t, pb.Outcome(0).Descriptor())
	same[store.Status](t, pb.Status(0).Descriptor())
	same[store.Verdict](t, pb.Verdict(0).Descriptor())
	for what, ok := range map[string]bool{
		"kind":    lastKind == store.Kind(pb.Kind(0).Descriptor().Values().Len()-1),
		"clock":   lastClock == store.Clock(pb.Clock(0).Descriptor().Values().Len()-1),
		"reason":  lastReason == store.Reason(pb.Reason(0).Descriptor().Values().Len()-1),
		"status":  lastStatus == store.Status(pb.Status(0).Descriptor().Values().Len()-1),
		"verdict": lastVerdict == store.Verdict(pb.Verdict(0).Descriptor().Values().Len()-1),
	} {
		if !ok {
			t.Errorf("the last %s is not the proto's last", what)
		}
	}
}

func same[T interface {
	~uint8
	fmt.Stringer
}](t *testing.T, d protoreflect.EnumDescriptor) {
	t.Helper()
	prefix := strings.ToUpper(string(d.Name())) + "_"
	for i := range d.Values().Len() {
		v := d.Values().Get(i)
		name := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(v.Name()), prefix)), "_", "-")
		if v.Number() == 0 {
			if name != "unspecified" {
				t.Errorf("%s is 0", v.Name())
			}
			continue
		}
		if got := T(v.Number()).String(); got != name {
			t.Errorf("%s is %d, which is %s in Go", v.Name(), v.Number(), got)
		}
	}
	if next := T(d.Values().Len()).String(); !strings.Contains(next, "(") {
		t.Errorf("%s is missing in the proto's %s", next, d.Name())
	}
}

func TestEncodingRepairsText(t *testing.T) {
	bad := "a\xffb"
	for _, p := range []proto.Message{
		ClaimAnswer(store.ClaimAnswer{Holder: bad, Fingerprint: bad}),
		UnfinishedAnswer(store.UnfinishedAnswer{Runs: []store.UnfinishedRun{{Job: bad, Holder: bad}}}),
		HistoryAnswer(store.HistoryAnswer{Next: bad, Attempts: []store.Attempt{{Instance: bad, Error: bad}}}),
		Description(store.Description{Strategy: bad, Product: bad, Settings: []store.Setting{{Name: bad, Value: bad}}, Warnings: []string{bad}}),
		Error(&store.InvalidError{Field: bad, Value: bad, Rule: bad}),
		Finish(store.FinishRequest{Job: bad, Error: bad}),
	} {
		if _, err := proto.Marshal(p); err != nil {
			t.Errorf("%T: %v", p, err)
		}
	}
}

func TestDurationsThatDoNotFit(t *testing.T) {
	for _, ms := range []int64{-1 << 63, 1<<63 - 1} {
		if d := duration(ms); (d < 0) != (ms < 0) || d/time.Hour == 0 {
			t.Errorf("%d ms became %v", ms, d)
		}
	}
	if _, err := ToHeartbeat(&pb.Heartbeat{Job: "j", LeaseMs: 1<<63 - 1}); err == nil {
		t.Error("a lease of 292 million years was taken")
	}
	if p := Claim(store.ClaimRequest{Lease: 1999 * time.Microsecond}); p.LeaseMs != 1 {
		t.Errorf("1.999 ms became %d ms", p.LeaseMs)
	}
}

// TestLeaseLeft: a lease that is longer than any can be asked for breaks the protocol.
func TestLeaseLeft(t *testing.T) {
	most := store.MaxLease.Milliseconds()
	for ms, ok := range map[int64]bool{0: true, most: true, -1: false, most + 1: false, 1<<63 - 1: false} {
		for _, v := range []pb.Verdict{pb.Verdict_VERDICT_WON, pb.Verdict_VERDICT_RUNNING, pb.Verdict_VERDICT_OVERLAP} {
			_, err := ToClaimAnswer(&pb.ClaimAnswer{Verdict: v, Attempt: 1, LeftMs: ms})
			checkLeft(t, ms, ok, err)
		}
		_, err := ToUnfinishedAnswer(&pb.UnfinishedAnswer{Runs: []*pb.UnfinishedRun{{Job: "j", Attempt: 1, LeftMs: ms}}})
		checkLeft(t, ms, ok, err)
	}
}

func checkLeft(t *testing.T, ms int64, ok bool, err error) {
	t.Helper()
	if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("lease left %d ms; it must be 0 to %d", ms, store.MaxLease.Milliseconds())) {
		t.Errorf("lease left %d: %v", ms, err)
	}
}
