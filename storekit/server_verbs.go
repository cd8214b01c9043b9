package storekit

import (
	"context"
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

func (s *server) Claim(ctx context.Context, req *pb.ClaimRequest) (*pb.ClaimResponse, error) {
	var many batchOf[store.ClaimRequest, store.ClaimAnswer]
	if b, ok := s.backend.(ClaimBatcher); ok {
		many = b.ClaimBatch
	}
	results := judge(ctx, s, "Claim", req.GetClaims(), wire.ToClaim, s.backend.Claim, many)
	return &pb.ClaimResponse{Results: encode(results,
		func(a store.ClaimAnswer) *pb.ClaimResult {
			return &pb.ClaimResult{Result: &pb.ClaimResult_Answer{Answer: wire.ClaimAnswer(a)}}
		},
		func(e *pb.Error) *pb.ClaimResult { return &pb.ClaimResult{Result: &pb.ClaimResult_Error{Error: e}} },
	)}, nil
}

func (s *server) Heartbeat(ctx context.Context, req *pb.HeartbeatRequest) (*pb.HeartbeatResponse, error) {
	var many batchOf[store.HeartbeatRequest, store.HeartbeatAnswer]
	if b, ok := s.backend.(HeartbeatBatcher); ok {
		many = b.HeartbeatBatch
	}
	results := judge(ctx, s, "Heartbeat", req.GetHeartbeats(), wire.ToHeartbeat, s.backend.Heartbeat, many)
	return &pb.HeartbeatResponse{Results: encode(results,
		func(a store.HeartbeatAnswer) *pb.HeartbeatResult {
			return &pb.HeartbeatResult{Result: &pb.HeartbeatResult_Answer{Answer: wire.HeartbeatAnswer(a)}}
		},
		func(e *pb.Error) *pb.HeartbeatResult {
			return &pb.HeartbeatResult{Result: &pb.HeartbeatResult_Error{Error: e}}
		},
	)}, nil
}

func (s *server) Finish(ctx context.Context, req *pb.FinishRequest) (*pb.FinishResponse, error) {
	var many batchOf[store.FinishRequest, store.FinishAnswer]
	if b, ok := s.backend.(FinishBatcher); ok {
		many = b.FinishBatch
	}
	results := judge(ctx, s, "Finish", req.GetFinishes(), wire.ToFinish, s.backend.Finish, many)
	return &pb.FinishResponse{Results: encode(results,
		func(a store.FinishAnswer) *pb.FinishResult {
			return &pb.FinishResult{Result: &pb.FinishResult_Answer{Answer: wire.FinishAnswer(a)}}
		},
		func(e *pb.Error) *pb.FinishResult { return &pb.FinishResult{Result: &pb.FinishResult_Error{Error: e}} },
	)}, nil
}

// encode makes protobuf results.
func encode[A, P any](results []store.Result[A], answer func(A) P, fail func(*pb.Error) P) []P {
	out := make([]P, len(results))
	for i, r := range results {
		if r.Err != nil {
			out[i] = fail(wire.Error(r.Err))
		} else {
			out[i] = answer(r.Answer)
		}
	}
	return out
}

func (s *server) Recall(ctx context.Context, req *pb.RecallRequest) (*pb.RecallResponse, error) {
	resp := &pb.RecallResponse{Results: make([]*pb.RecallResult, len(req.GetRecalls()))}
	for i, item := range req.GetRecalls() {
		resp.Results[i] = s.recall(ctx, item)
	}
	return resp, nil
}

func (s *server) recall(ctx context.Context, item *pb.Recall) *pb.RecallResult {
	ctx, leave, err := s.enter(ctx)
	if err == nil {
		defer leave()
		switch {
		case item.GetUnfinished() != nil:
			var a store.UnfinishedAnswer
			if a, err = s.unfinished(ctx, item.GetUnfinished()); err == nil {
				return &pb.RecallResult{Result: &pb.RecallResult_Unfinished{Unfinished: wire.UnfinishedAnswer(a)}}
			}
		case item.GetHistory() != nil:
			var a *pb.HistoryAnswer
			if a, err = s.history(ctx, item.GetHistory()); err == nil {
				return &pb.RecallResult{Result: &pb.RecallResult_History{History: a}}
			}
		default:
			err = fmt.Errorf("%w: this plugin knows the recall of unfinished runs and of history only", store.ErrUnsupported)
		}
	}
	return &pb.RecallResult{Result: &pb.RecallResult_Error{Error: wire.Error(err)}}
}

func (s *server) unfinished(ctx context.Context, p *pb.RecallUnfinished) (store.UnfinishedAnswer, error) {
	r, err := wire.ToUnfinished(p)
	if err != nil {
		return store.UnfinishedAnswer{}, err
	}
	return guard(s, "Unfinished", store.ErrNotApplied, func() (store.UnfinishedAnswer, error) { return s.backend.Unfinished(ctx, r) })
}

// history asks for a page. One that would not fit into a message (10 000
// attempts with long errors are 80 MB) is asked for again, shorter: the caller
// goes on with its next page.
func (s *server) history(ctx context.Context, p *pb.RecallHistory) (*pb.HistoryAnswer, error) {
	r, err := wire.ToHistory(p)
	if err != nil {
		return nil, err
	}
	for {
		a, err := guard(s, "History", store.ErrNotApplied, func() (store.HistoryAnswer, error) { return s.backend.History(ctx, r) })
		if err != nil {
			return nil, err
		}
		answer := wire.HistoryAnswer(a)
		size := proto.Size(answer)
		if size <= maxAnswer || r.Limit == 1 {
			return answer, nil
		}
		r.Limit = max(1, min(r.Limit-1, int(int64(r.Limit)*maxAnswer/int64(size))))
	}
}

// batchOf is the batch form of a verb.
type batchOf[R, A any] func(context.Context, []R) []store.Result[A]

// judge decodes the items of a batch, gives the good ones to the backend, and
// puts the answers where they belong: one result per item, in order.
func judge[P, R, A any](ctx context.Context, s *server, verb string, items []P, decode func(P) (R, error), one func(context.Context, R) (A, error), many batchOf[R, A]) []store.Result[A] {
	results := make([]store.Result[A], len(items))
	ctx, leave, err := s.enter(ctx)
	if err == nil && len(items) > maxBatch {
		leave()
		err = &store.InvalidError{Field: "batch", Value: fmt.Sprintf("%d items", len(items)), Rule: fmt.Sprintf("at most %d", maxBatch)}
	}
	if err != nil {
		for i := range results {
			results[i].Err = err
		}
		return results
	}
	defer leave()

	good, at := make([]R, 0, len(items)), make([]int, 0, len(items))
	for i, item := range items {
		r, err := decode(item)
		if err != nil {
			results[i].Err = err
			continue
		}
		good, at = append(good, r), append(at, i)
	}
	if len(good) == 0 {
		return results
	}
	for i, r := range ask(ctx, s, verb, good, one, many) {
		results[at[i]] = r
	}
	return results
}

// ask gives requests to the backend and returns as many results.
func ask[R, A any](ctx context.Context, s *server, verb string, reqs []R, one func(context.Context, R) (A, error), many batchOf[R, A]) []store.Result[A] {
	results := make([]store.Result[A], len(reqs))
	if many == nil {
		for i, r := range reqs {
			if ctx.Err() != nil {
				results[i].Err = fmt.Errorf("%w: the call was over before this item's turn", store.ErrNotApplied)
				continue
			}
			results[i].Answer, results[i].Err = guard(s, verb, store.ErrUnknown, func() (A, error) { return one(ctx, r) })
		}
		return results
	}
	answers, err := guard(s, verb+"Batch", store.ErrUnknown, func() ([]store.Result[A], error) { return many(ctx, reqs), nil })
	if err == nil && len(answers) != len(reqs) {
		err = fmt.Errorf("%w: the backend returned %d results for %d requests", store.ErrUnknown, len(answers), len(reqs))
	}
	if err == nil {
		return answers
	}
	for i := range results {
		results[i].Err = err
	}
	return results
}
