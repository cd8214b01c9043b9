package history

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
)

func isInvalid(err error) bool { return errors.Is(err, store.ErrInvalid) }

// Recorder writes down the calls that go through its stores. It is safe for
// concurrent use.
type Recorder struct {
	begin time.Time
	mu    sync.Mutex
	h     History
}

// NewRecorder begins a history of a store of that kind.
func NewRecorder(about string, kind store.Kind) *Recorder {
	return &Recorder{begin: time.Now(), h: History{About: about, Kind: kind}}
}

// Elapsed is how long ago the history began.
func (r *Recorder) Elapsed() time.Duration { return time.Since(r.begin) }

// History returns the calls that have returned so far, in the order in which they
// were made.
func (r *Recorder) History() *History {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.h.with(append([]*Op(nil), r.h.Ops...))
	h.Sort()
	return h
}

// Store returns a view of s whose calls are written down as those of process. The
// calls must not change what their requests point to.
func (r *Recorder) Store(process string, s store.Store) store.Store {
	return recorded{s, r, process, false}
}

// Deaf is [Recorder.Store] for calls whose caller will behave as if no answer had
// come; see [Op.Unheard].
func (r *Recorder) Deaf(process string, s store.Store) store.Store {
	return recorded{s, r, process, true}
}

type recorded struct {
	store.Store
	r       *Recorder
	process string
	deaf    bool
}

func (s recorded) Claim(ctx context.Context, req store.ClaimRequest) (store.ClaimAnswer, error) {
	o := &Op{Claim: &req}
	err := s.note(o, func() (err error) { o.Claimed, err = s.Store.Claim(ctx, req); return err })
	return o.Claimed, err
}

func (s recorded) Heartbeat(ctx context.Context, req store.HeartbeatRequest) (store.HeartbeatAnswer, error) {
	o := &Op{Heartbeat: &req}
	err := s.note(o, func() (err error) { o.Beaten, err = s.Store.Heartbeat(ctx, req); return err })
	return o.Beaten, err
}

func (s recorded) Finish(ctx context.Context, req store.FinishRequest) (store.FinishAnswer, error) {
	o := &Op{Finish: &req}
	err := s.note(o, func() (err error) { o.Finished, err = s.Store.Finish(ctx, req); return err })
	return o.Finished, err
}

func (s recorded) Unfinished(ctx context.Context, req store.UnfinishedRequest) (store.UnfinishedAnswer, error) {
	o := &Op{Unfinished: &req}
	err := s.note(o, func() (err error) { o.Listed, err = s.Store.Unfinished(ctx, req); return err })
	return o.Listed, err
}

func (s recorded) History(ctx context.Context, req store.HistoryRequest) (store.HistoryAnswer, error) {
	o := &Op{History: &req}
	err := s.note(o, func() (err error) { o.Page, err = s.Store.History(ctx, req); return err })
	return o.Page, err
}

// note writes the call down when it has returned. A call that never returns is
// not in the history, so whoever leaves one behind has nothing to judge.
func (s recorded) note(o *Op, call func() error) error {
	o.Process, o.Unheard = s.process, s.deaf
	o.Call = s.r.Elapsed()
	err := call()
	o.Return = s.r.Elapsed()
	if o.Class = ClassOf(err); err != nil {
		o.Error = err.Error()
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.h.Ops = append(s.r.h.Ops, o)
	return err
}
