package storekit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

// liar answers what it is told to.
type liar struct {
	pb.UnimplementedStoreServiceServer
	claims   func(*pb.ClaimRequest) (*pb.ClaimResponse, error)
	beats    *pb.HeartbeatResponse
	finishes *pb.FinishResponse
	recalls  *pb.RecallResponse
	describe *pb.DescribeResponse
}

func (l *liar) Claim(_ context.Context, r *pb.ClaimRequest) (*pb.ClaimResponse, error) {
	return l.claims(r)
}
func (l *liar) Heartbeat(context.Context, *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
	return l.beats, nil
}
func (l *liar) Finish(context.Context, *pb.FinishRequest) (*pb.FinishResponse, error) {
	return l.finishes, nil
}
func (l *liar) Recall(context.Context, *pb.RecallRequest) (*pb.RecallResponse, error) {
	return l.recalls, nil
}
func (l *liar) Describe(context.Context, *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	return l.describe, nil
}

func TestAnswersThatBreakTheProtocol(t *testing.T) {
	answer := func(a *pb.ClaimAnswer) *pb.ClaimResponse {
		return &pb.ClaimResponse{Results: []*pb.ClaimResult{{Result: &pb.ClaimResult_Answer{Answer: a}}}}
	}
	service := &liar{}
	c := inProcess(t, service)
	for _, test := range []struct {
		name string
		resp *pb.ClaimResponse
		err  error
		want string
	}{
		{"no results", &pb.ClaimResponse{}, nil, "0 results for 1 request"},
		{"too many", &pb.ClaimResponse{Results: make([]*pb.ClaimResult, 3)}, nil, "3 results for 1 request"},
		{"empty result", &pb.ClaimResponse{Results: []*pb.ClaimResult{{}}}, nil, "neither an answer nor an error"},
		{"no verdict", answer(&pb.ClaimAnswer{}), nil, "verdict 0"},
		{"new verdict", answer(&pb.ClaimAnswer{Verdict: 99}), nil, "verdict 99"},
		{"negative verdict", answer(&pb.ClaimAnswer{Verdict: -1}), nil, "verdict -1"},
		{"attempt 0", answer(&pb.ClaimAnswer{Verdict: pb.Verdict_VERDICT_WON}), nil, "attempt 0; it must be at least 1"},
		{"lease over", answer(&pb.ClaimAnswer{Verdict: pb.Verdict_VERDICT_WON, Attempt: 1, LeftMs: -1}), nil, "lease left -1"},
		{"token", answer(&pb.ClaimAnswer{Verdict: pb.Verdict_VERDICT_WON, Attempt: 1, Token: -5}), nil, "token -5"},
		{"status", answer(&pb.ClaimAnswer{Verdict: pb.Verdict_VERDICT_FINISHED, Status: 77}), nil, "status 77"},
		{"now", answer(&pb.ClaimAnswer{Verdict: pb.Verdict_VERDICT_FINISHED, NowMs: 1 << 62}), nil, "now 4611686018427387904"},
		{"slot", answer(&pb.ClaimAnswer{Verdict: pb.Verdict_VERDICT_SUPERSEDED, SlotMs: -1 << 63}), nil, "superseded, slot"},
		{"status code", nil, status.Error(codes.Internal, "I broke"), "I broke"},
		{"unavailable, by a plugin that lives", nil, status.Error(codes.Unavailable, "try later"), "try later"},
		{"exhausted", nil, status.Error(codes.ResourceExhausted, "too much"), "too much"},
		{"class 0", &pb.ClaimResponse{Results: []*pb.ClaimResult{{Result: &pb.ClaimResult_Error{Error: &pb.Error{}}}}}, nil, "outcome unknown"},
		{"class 99", &pb.ClaimResponse{Results: []*pb.ClaimResult{{Result: &pb.ClaimResult_Error{Error: &pb.Error{Class: 99, Message: "odd"}}}}}, nil, "odd"},
	} {
		t.Run(test.name, func(t *testing.T) {
			service.claims = func(*pb.ClaimRequest) (*pb.ClaimResponse, error) { return test.resp, test.err }
			a, err := c.Claim(t.Context(), claim("a"))
			if err == nil || !errors.Is(err, store.ErrUnknown) || errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrInvalid) {
				t.Fatalf("%+v, %v; want unknown", a, err)
			}
			if a != (store.ClaimAnswer{}) {
				t.Errorf("an answer came with the error: %+v", a)
			}
			if !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "plugin inprocess: claim: ") {
				t.Errorf("%q; want it to name plugin and verb and say %q", err, test.want)
			}
		})
	}
	service.claims = func(*pb.ClaimRequest) (*pb.ClaimResponse, error) {
		return nil, status.Error(codes.Unimplemented, "what?")
	}
	if _, err := c.Claim(t.Context(), claim("a")); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("an RPC that the plugin does not have: %v; want unsupported", err)
	}
}

func TestOtherAnswersThatBreakTheProtocol(t *testing.T) {
	ctx := t.Context()
	history := func(n int) *pb.RecallResponse {
		attempts := make([]*pb.Attempt, n)
		for i := range attempts {
			attempts[i] = &pb.Attempt{Attempt: 1, Status: pb.Status_STATUS_SUCCESS}
		}
		return &pb.RecallResponse{Results: []*pb.RecallResult{{Result: &pb.RecallResult_History{History: &pb.HistoryAnswer{Attempts: attempts}}}}}
	}
	unfinished := func(r *pb.UnfinishedRun) *pb.RecallResponse {
		return &pb.RecallResponse{Results: []*pb.RecallResult{{Result: &pb.RecallResult_Unfinished{Unfinished: &pb.UnfinishedAnswer{Runs: []*pb.UnfinishedRun{r}}}}}}
	}
	c := inProcess(t, &liar{})
	for name, ask := range map[string]func(*liar) error{
		"heartbeat without result": func(l *liar) error {
			l.beats = &pb.HeartbeatResponse{}
			_, err := c.Heartbeat(ctx, store.HeartbeatRequest{Job: "a", Lease: time.Second})
			return err
		},
		"finish with two results": func(l *liar) error {
			l.finishes = &pb.FinishResponse{Results: make([]*pb.FinishResult, 2)}
			_, err := c.Finish(ctx, store.FinishRequest{Job: "a", Outcome: store.OutcomeSuccess})
			return err
		},
		"finish at no time": func(l *liar) error {
			l.finishes = &pb.FinishResponse{Results: []*pb.FinishResult{{Result: &pb.FinishResult_Answer{Answer: &pb.FinishAnswer{NowMs: -1 << 60}}}}}
			_, err := c.Finish(ctx, store.FinishRequest{Job: "a", Outcome: store.OutcomeSuccess})
			return err
		},
		"unfinished for history": func(l *liar) error {
			l.recalls = unfinished(&pb.UnfinishedRun{Job: "a", Attempt: 1})
			_, err := c.History(ctx, store.HistoryRequest{Job: "a", Limit: 1})
			return err
		},
		"more history than asked for": func(l *liar) error {
			l.recalls = history(2)
			_, err := c.History(ctx, store.HistoryRequest{Job: "a", Limit: 1})
			return err
		},
		"history for unfinished": func(l *liar) error {
			l.recalls = history(1)
			_, err := c.Unfinished(ctx, store.UnfinishedRequest{})
			return err
		},
		"unfinished run without name": func(l *liar) error {
			l.recalls = unfinished(&pb.UnfinishedRun{Attempt: 1})
			_, err := c.Unfinished(ctx, store.UnfinishedRequest{})
			return err
		},
		"no recall": func(l *liar) error {
			l.recalls = &pb.RecallResponse{}
			_, err := c.Unfinished(ctx, store.UnfinishedRequest{})
			return err
		},
		"empty description": func(l *liar) error {
			l.describe = &pb.DescribeResponse{}
			_, err := c.Describe(ctx)
			return err
		},
		"description without kind": func(l *liar) error {
			l.describe = &pb.DescribeResponse{Result: &pb.DescribeResponse_Description{Description: &pb.Description{}}}
			_, err := c.Describe(ctx)
			return err
		},
	} {
		l := &liar{}
		c = inProcess(t, l)
		if err := ask(l); err == nil || !store.IsUnknown(err) || !strings.Contains(err.Error(), "breaks the protocol") {
			t.Errorf("%s: %v; want an error that says that the plugin breaks the protocol", name, err)
		}
	}
}

func TestErrorClassesCrossTheWire(t *testing.T) {
	c := serving(t, newFake(Env{Logger: testLogger(t)}))
	for _, test := range []struct {
		job, want string
		class     error
	}{
		{"error:broken", "the store said broken", store.ErrUnknown},
		{"not applied", "the store is away", store.ErrNotApplied},
		{"invalid", "job is x; it must be y", store.ErrInvalid},
		{"panic", "panicked in Claim", store.ErrUnknown},
		{"bad utf8", "bytes \uFFFD here", store.ErrUnknown},
		{"no verdict", "verdict 0", store.ErrUnknown},
		{"attempt 0", "attempt 0", store.ErrUnknown},
	} {
		_, err := c.Claim(t.Context(), claim(test.job))
		if !errors.Is(err, test.class) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v; want %q, %v", test.job, err, test.want, test.class)
		}
		if store.IsUnknown(err) != (test.class == store.ErrUnknown) {
			t.Errorf("%s: %v is of two classes", test.job, err)
		}
		invalid, ok := errors.AsType[*store.InvalidError](err)
		if ok != (test.class == store.ErrInvalid) || ok && *invalid != (store.InvalidError{Field: "job", Value: "x", Rule: "y"}) {
			t.Errorf("%s: InvalidError %+v", test.job, invalid)
		}
	}
	if _, err := c.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "a", Lease: time.Second}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("a verb that the backend does not have: %v; want unsupported", err)
	}
	for _, bad := range []func(*store.ClaimRequest){
		func(r *store.ClaimRequest) { r.Job = "" },
		func(r *store.ClaimRequest) { r.ID = store.ClaimID{} },
		func(r *store.ClaimRequest) { r.Lease = 0 },
		func(r *store.ClaimRequest) { r.Overlap = 9 },
	} {
		r := claim("a")
		bad(&r)
		_, err := c.Claim(t.Context(), r)
		if _, ok := errors.AsType[*store.InvalidError](err); !ok {
			t.Errorf("%+v: %v; want invalid", r, err)
		}
	}
}

func TestDescriptionCrossesTheWire(t *testing.T) {
	backend := newFake(Env{Logger: testLogger(t)})
	want, _ := backend.Describe(t.Context())
	got, err := serving(t, backend).Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Memory != want.Memory || got.Settings[0] != want.Settings[0] || got.Warnings[0] != want.Warnings[0] || got.Strategy != want.Strategy || got.Format != want.Format {
		t.Errorf("%+v; want %+v", got, want)
	}
}
