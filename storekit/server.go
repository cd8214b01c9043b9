package storekit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
	"github.com/anarchon-go/anarchon/storekit/internal/wire"
)

// server serves one backend: it checks what comes in, keeps the order of the
// backend's life, and turns panics into errors.
type server struct {
	pb.UnimplementedStoreServiceServer
	backend Backend
	logger  *slog.Logger

	atFirstCall func() // may be nil
	called      sync.Once

	// base ends the contexts of all calls when stopping takes too long.
	base    context.Context
	endBase context.CancelFunc

	mu      sync.Mutex
	phase   phase
	calls   int           // verbs in flight
	idle    chan struct{} // closed when stopping and calls is 0
	stopped chan struct{} // closed when the backend is closed
	stopErr error         // valid once stopped is closed
}

// phase is where a backend is in its life.
type phase int

const (
	fresh phase = iota
	configuring
	ready
	failed // Configure failed: the backend opened nothing
	stopping
)

func newServer(backend Backend, logger *slog.Logger) *server {
	s := &server{backend: backend, logger: logger, idle: make(chan struct{}), stopped: make(chan struct{})}
	s.base, s.endBase = context.WithCancel(context.Background())
	return s
}

// enter begins a verb; the caller must call the function it returns. The error
// is for every item of the batch.
func (s *server) enter(ctx context.Context) (context.Context, func(), error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.phase {
	case ready:
	case stopping:
		return nil, nil, fmt.Errorf("%w: the plugin is stopping", store.ErrNotApplied)
	default:
		return nil, nil, fmt.Errorf("%w: the plugin is not configured", store.ErrNotApplied)
	}
	s.calls++
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(s.base, cancel)
	return ctx, func() {
		unhook()
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls--
		if s.phase == stopping && s.calls == 0 {
			close(s.idle)
		}
	}, nil
}

// guard calls f and makes an error of the class of a panic; its stack goes to the
// log.
func guard[T any](s *server, what string, class error, f func() (T, error)) (_ T, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.logger.Error("the backend panicked", "in", what, "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("%w: the backend panicked in %s: %v (its stack is in the log)", class, what, r)
		}
	}()
	return f()
}

func (s *server) Info(context.Context, *pb.InfoRequest) (*pb.InfoResponse, error) {
	s.called.Do(func() {
		if s.atFirstCall != nil {
			s.atFirstCall()
		}
	})
	return guard(s, "Info", store.ErrNotApplied, func() (*pb.InfoResponse, error) {
		return infoToProto(s.backend.Info()), nil
	})
}

func (s *server) Configure(ctx context.Context, req *pb.ConfigureRequest) (*pb.ConfigureResponse, error) {
	if err := s.configure(ctx, req.GetConfig()); err != nil {
		return &pb.ConfigureResponse{Error: wire.Error(err)}, nil
	}
	return &pb.ConfigureResponse{}, nil
}

func (s *server) configure(ctx context.Context, raw []byte) error {
	info, err := guard(s, "Info", store.ErrNotApplied, func() (Info, error) { return s.backend.Info(), nil })
	if err != nil {
		return err
	}
	cfg, err := parseConfig(info.Options, raw)
	if err != nil {
		return fmt.Errorf("%w: %w", store.ErrInvalid, err)
	}
	if !s.advance(fresh, configuring) {
		return fmt.Errorf("%w: the plugin was configured before; it can be once", store.ErrInvalid)
	}
	_, err = guard(s, "Configure", store.ErrNotApplied, func() (struct{}, error) {
		return struct{}{}, s.backend.Configure(ctx, cfg)
	})
	if err != nil {
		s.advance(configuring, failed)
		return err
	}
	if !s.advance(configuring, ready) {
		return fmt.Errorf("%w: the plugin is stopping", store.ErrNotApplied)
	}
	return nil
}

func (s *server) advance(from, to phase) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != from {
		return false
	}
	s.phase = to
	return true
}

func (s *server) Describe(ctx context.Context, _ *pb.DescribeRequest) (*pb.DescribeResponse, error) {
	ctx, leave, err := s.enter(ctx)
	if err == nil {
		defer leave()
		var d store.Description
		d, err = guard(s, "Describe", store.ErrNotApplied, func() (store.Description, error) { return s.backend.Describe(ctx) })
		if err == nil {
			return &pb.DescribeResponse{Result: &pb.DescribeResponse_Description{Description: wire.Description(d)}}, nil
		}
	}
	return &pb.DescribeResponse{Result: &pb.DescribeResponse_Error{Error: wire.Error(err)}}, nil
}

func (s *server) Health(context.Context, *pb.HealthRequest) (*pb.HealthResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &pb.HealthResponse{Ready: s.phase == ready}, nil
}

func (s *server) Stop(ctx context.Context, req *pb.StopRequest) (*pb.StopResponse, error) {
	timeout := stopGrace
	if ms := req.GetTimeoutMs(); ms > 0 && ms < stopGrace.Milliseconds() {
		timeout = time.Duration(ms) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := s.stop(ctx); err != nil {
		return &pb.StopResponse{Error: wire.Error(err)}, nil
	}
	return &pb.StopResponse{}, nil
}

// stop ends the backend: it refuses new calls, waits for those in flight, cancels
// them when half of ctx's time is over, and closes the backend. Later callers
// wait for the first one's result.
func (s *server) stop(ctx context.Context) error {
	s.mu.Lock()
	before := s.phase
	s.phase = stopping
	if before != stopping && s.calls == 0 {
		close(s.idle)
	}
	s.mu.Unlock()
	if before == stopping {
		select {
		case <-s.stopped:
			return s.stopErr
		case <-ctx.Done():
			return fmt.Errorf("%w: the store is still being closed", store.ErrUnknown)
		}
	}
	s.stopErr = s.end(ctx, before)
	close(s.stopped)
	return s.stopErr
}

func (s *server) end(ctx context.Context, before phase) error {
	defer s.endBase()
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(stopGrace)
	}
	half := time.AfterFunc(time.Until(deadline)/2, s.endBase)
	defer half.Stop()
	select {
	case <-s.idle:
	case <-ctx.Done():
		return fmt.Errorf("%w: calls in flight did not end; the store was not closed", store.ErrUnknown)
	}
	if before != ready {
		return nil // nothing was opened
	}
	done := make(chan error, 1)
	go func() {
		_, err := guard(s, "Close", store.ErrUnknown, func() (struct{}, error) { return struct{}{}, s.backend.Close(ctx) })
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.Join(store.ErrUnknown, errors.New("the store did not close in time"))
	}
}
