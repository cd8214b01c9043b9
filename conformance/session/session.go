// Package session is one conformance run from end to end, without a say in how
// its checks are started: go test starts them as subtests, a command may start
// them in a loop. It opens the subject, runs the checks that are asked for, and
// judges what was run.
package session

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/anarchon-go/anarchon/conformance/checks"
	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/conformance/report"
	"github.com/anarchon-go/anarchon/conformance/verdict"
	"github.com/anarchon-go/anarchon/core/store"
)

// Session is a run under way. Its methods are safe for concurrent use.
type Session struct {
	suite       *kit.Suite
	wantKind    store.Kind
	description store.Description
	expected    []verdict.Expected
	checks      []kit.Check
	began       time.Time

	mu   sync.Mutex
	done map[string]kit.Result
}

// Open opens the suite's subject and picks the checks by the kind that it
// declares. If kind is not 0 and the subject declares another one, the verdict
// will be bad.
func Open(ctx context.Context, suite *kit.Suite, kind store.Kind) (*Session, error) {
	s := &Session{suite: suite, wantKind: kind, began: time.Now(), done: map[string]kit.Result{}}
	var err error
	if s.description, err = suite.Start(ctx); err != nil {
		return nil, err
	}
	if s.expected, err = verdict.For(s.description.Kind); err != nil {
		suite.Close()
		return nil, fmt.Errorf("the subject declares kind %v, which no backend is: %w", s.description.Kind, err)
	}
	s.checks = checks.For(s.description.Kind)
	return s, nil
}

// Checks are the checks that judge this subject.
func (s *Session) Checks() []kit.Check { return s.checks }

// Run runs one of the checks.
func (s *Session) Run(ctx context.Context, c kit.Check) kit.Result {
	res := s.suite.Run(ctx, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[c.ID] = res
	return res
}

// Done is how many checks have run.
func (s *Session) Done() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.done)
}

// Close closes what was opened and judges the run. Checks that were not run were
// turned off by whoever started the others. The error says what did not close.
func (s *Session) Close() (*report.Report, error) {
	err := s.suite.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	results := make([]kit.Result, 0, len(s.checks))
	for _, c := range s.checks {
		res, ran := s.done[c.ID]
		if !ran {
			res = kit.Result{Check: c, Outcome: kit.Disabled, Reason: "not selected"}
		}
		results = append(results, res)
	}
	v := verdict.Judge(s.expected, results)
	if s.wantKind != 0 && s.wantKind != s.description.Kind {
		v.Add("the settings say that the plugin is of kind %v; it declares %v", s.wantKind, s.description.Kind)
	}
	if c, ok := s.suite.Subject.(kit.Complainer); ok {
		for _, complaint := range c.Complaints() {
			v.Add("%s", complaint)
		}
	}
	return &report.Report{
		Subject: s.suite.Subject.About(), Description: s.description, Seed: s.suite.Seed,
		Started: s.began, Took: time.Since(s.began), Results: results, Verdict: v,
	}, err
}
