package storekit

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/store"
	pb "github.com/anarchon-go/anarchon/storekit/internal/storev1"
)

func TestGrantsThatContradictEachOther(t *testing.T) {
	type won struct {
		slot    int64
		attempt int
		token   store.Token
	}
	for _, test := range []struct {
		name   string
		before []won
		now    won
		broken bool
	}{
		{"the first", nil, won{10, 1, 100}, false},
		{"told again", []won{{10, 1, 100}}, won{10, 1, 100}, false},
		{"a later slot", []won{{10, 1, 100}}, won{20, 1, 101}, false},
		{"a takeover", []won{{10, 1, 100}}, won{10, 2, 101}, false},
		{"an older slot, told late", []won{{20, 1, 200}}, won{10, 1, 100}, false},
		{"an older attempt, told late", []won{{10, 2, 200}}, won{10, 1, 100}, false},
		{"a store from a backup", []won{{20, 3, 200}}, won{10, 1, 900}, false},
		{"and what follows there", []won{{20, 3, 200}, {10, 1, 900}}, won{10, 2, 901}, false},
		{"a later slot, less", []won{{10, 1, 100}}, won{20, 1, 99}, true},
		{"a later slot, the same", []won{{10, 1, 100}}, won{20, 1, 100}, true},
		{"a takeover, less", []won{{10, 1, 100}}, won{10, 2, 99}, true},
		{"a takeover, the same", []won{{10, 1, 100}}, won{10, 2, 100}, true},
		{"the same attempt, less", []won{{10, 1, 100}}, won{10, 1, 99}, true},
		{"after an older one was told late", []won{{20, 1, 200}, {10, 1, 100}}, won{30, 1, 150}, true},
		{"no fencing", []won{{10, 1, 100}}, won{20, 1, 0}, false},
	} {
		var g grants
		for _, w := range append(test.before, test.now) {
			req := claim("a")
			req.Slot = w.slot
			err := g.check(req, store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: w.attempt, Token: w.token, Left: time.Second})
			if last := w == test.now; (err != nil) != (test.broken && last) {
				t.Errorf("%s: slot %d, attempt %d, token %d: %v", test.name, w.slot, w.attempt, w.token, err)
			}
		}
	}
}

func TestGrantsAreBounded(t *testing.T) {
	g := grants{last: map[string]grant{}}
	for i := range maxGrants + 10 {
		req := claim(fmt.Sprint("job ", i))
		if err := g.check(req, store.ClaimAnswer{Verdict: store.VerdictWon, Attempt: 1, Token: 1, Left: time.Second}); err != nil {
			t.Fatal(err)
		}
	}
	if len(g.last) != maxGrants {
		t.Errorf("%d jobs are remembered; %d are the most", len(g.last), maxGrants)
	}
}

// A plugin whose tokens go back, or that grants without a lease, is named, and
// what it granted is unknown.
func TestGrantsThatBreakTheProtocol(t *testing.T) {
	service := described(pb.Kind_KIND_LEASE)
	c := inProcess(t, service)
	if _, err := c.Describe(t.Context()); err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	ask := func(slot int64, a *pb.ClaimAnswer) error {
		a.Verdict, a.Attempt, a.NowMs = pb.Verdict_VERDICT_WON, 1, now
		service.claims = func(*pb.ClaimRequest) (*pb.ClaimResponse, error) {
			return &pb.ClaimResponse{Results: []*pb.ClaimResult{{Result: &pb.ClaimResult_Answer{Answer: a}}}}, nil
		}
		req := claim("a")
		req.Slot = slot
		_, err := c.Claim(t.Context(), req)
		return err
	}
	if err := ask(1000, &pb.ClaimAnswer{Token: now - 5, LeftMs: 0}); err != nil {
		t.Errorf("a grant of 5 ms ago that is told again without a lease: %v", err)
	}
	for want, err := range map[string]error{
		"with lease left 0":  ask(2000, &pb.ClaimAnswer{Token: now}),
		"its tokens go back": ask(3000, &pb.ClaimAnswer{Token: now - 6, LeftMs: 1000}),
	} {
		if !store.IsUnknown(err) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "plugin inprocess: claim: ") || !strings.Contains(err.Error(), "breaks the protocol") {
			t.Errorf("%v; want unknown, with %q", err, want)
		}
	}
}

// A claim-only backend has no leases and grants slots in any order; its tokens
// follow the grants. It need not have been described by this client.
func TestGrantsOfAClaimOnlyPlugin(t *testing.T) {
	for _, describe := range []bool{false, true} {
		service := described(pb.Kind_KIND_CLAIM_ONLY)
		c := inProcess(t, service)
		if describe {
			if _, err := c.Describe(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		now := time.Now().UnixMilli()
		for i, slot := range []int64{2000, 1000, 3000} {
			service.claims = func(*pb.ClaimRequest) (*pb.ClaimResponse, error) {
				a := &pb.ClaimAnswer{Verdict: pb.Verdict_VERDICT_WON, Attempt: 1, Token: now + int64(i), NowMs: now + int64(i)}
				return &pb.ClaimResponse{Results: []*pb.ClaimResult{{Result: &pb.ClaimResult_Answer{Answer: a}}}}, nil
			}
			req := claim("a")
			req.Slot = slot
			if _, err := c.Claim(t.Context(), req); err != nil {
				t.Errorf("described %v, slot %d, grant %d: %v", describe, slot, i, err)
			}
		}
	}
}

// described is a plugin that says it is of that kind.
func described(kind pb.Kind) *liar {
	return &liar{describe: &pb.DescribeResponse{Result: &pb.DescribeResponse_Description{Description: &pb.Description{
		Kind: kind, Clock: pb.Clock_CLOCK_STORE, Memory: &pb.Memory{Forever: true}, Product: "fake 1", Format: 1,
	}}}}
}
