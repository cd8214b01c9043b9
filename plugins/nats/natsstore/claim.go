package natsstore

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/anarchon-go/anarchon/core/store"
)

// Claim judges one claim.
func (b *Backend) Claim(ctx context.Context, q store.ClaimRequest) (store.ClaimAnswer, error) {
	return single(b.ClaimBatch(ctx, []store.ClaimRequest{q}))
}

func single[A any](rs []store.Result[A]) (A, error) { return rs[0].Answer, rs[0].Err }

// ClaimBatch judges claims in order, each by a publish of its own; the publishes
// are pipelined. Whose publish is refused, the record that is in the way answers.
func (b *Backend) ClaimBatch(ctx context.Context, qs []store.ClaimRequest) []store.Result[store.ClaimAnswer] {
	ctx, cancel := context.WithTimeout(ctx, b.settings.callTimeout)
	defer cancel()
	c := &claiming{b: b, qs: qs, results: make([]store.Result[store.ClaimAnswer], len(qs))}
	var err error
	if c.home, err = b.home(ctx); err != nil {
		return allFailed(c.results, err)
	}
	c.publish(ctx)
	for n := 0; len(c.looks) > 0 && n < inFlightLooks; n++ {
		if n > 0 {
			pause(ctx, n-1)
		}
		c.look(ctx)
	}
	for _, k := range c.looks {
		c.results[k.i].Err = unknown("claim of slot %d of job %.60q: another claim of it is being stored, and the server does not say whose yet; ask again with the same claim id: %w", qs[k.i].Slot, qs[k.i].Job, k.refusal)
	}
	return c.results
}

// allFailed gives every item the same error.
func allFailed[A any](results []store.Result[A], err error) []store.Result[A] {
	for i := range results {
		results[i].Err = err
	}
	return results
}

// claiming is a batch on its way.
type claiming struct {
	b       *Backend
	home    *home
	qs      []store.ClaimRequest
	results []store.Result[store.ClaimAnswer]
	looks   []claimLook
}

// claimLook is a claim that waits for a look at its slot: it was refused, or it
// says itself that the slot was granted before.
type claimLook struct {
	i       int
	refusal *jetstream.APIError // nil if it was not published
}

func (c *claiming) publish(ctx context.Context) {
	var requests []request
	var sent []int
	for i := range c.qs {
		q := &c.qs[i]
		switch err := q.Validate(); {
		case err != nil:
			c.results[i].Err = err
		case q.After > 0:
			c.looks = append(c.looks, claimLook{i: i})
		default:
			requests = append(requests, conditional(c.subject(q), 0, c.home.claims.Name, claimRecord(q).encode()))
			sent = append(sent, i)
		}
	}
	for k, p := range c.b.publish(ctx, requests) {
		i := sent[k]
		switch {
		case p.err != nil:
			c.results[i].Err = p.err
		case p.refusal != nil:
			c.looks = append(c.looks, claimLook{i, p.refusal})
		default:
			c.results[i].Answer = won(c.home.era.token(p.seq))
			c.b.trimmer.granted(c.qs[i].Job, c.qs[i].HistorySize)
		}
	}
}

func (c *claiming) subject(q *store.ClaimRequest) string {
	return c.b.settings.layout.slot(c.home.era, q.Job, q.Slot)
}

// look answers what the records tell, and keeps what must be looked at again.
func (c *claiming) look(ctx context.Context) {
	finds := make([]find, len(c.looks))
	for n, k := range c.looks {
		finds[n] = find{c.home.claims.Name, c.subject(&c.qs[k.i])}
	}
	var again []claimLook
	for n, f := range c.b.api.last(ctx, finds) {
		k, q, result := c.looks[n], &c.qs[c.looks[n].i], &c.results[c.looks[n].i]
		switch {
		case f.err != nil && k.refusal != nil:
			// It may be this claim, sent before, that is in the way.
			result.Err = asUnknown("the claim was refused, and the record in its way could not be read", f.err)
		case f.err != nil:
			result.Err = f.err
		case f.stored != nil:
			result.Answer = decideClaim(f.stored, q)
		case k.refusal == nil:
			// The claim says itself that the slot was granted; it was forgotten.
			result.Answer = store.ClaimAnswer{Verdict: store.VerdictFinished}
		case fateOf(k.refusal) == fateInFlight:
			again = append(again, k)
		case fateOf(k.refusal) == fateTaken:
			result.Err = notApplied("claim of slot %d of job %.60q: it was taken, and forgotten just now: %w", q.Slot, q.Job, k.refusal)
		default:
			result.Err = refused(k.refusal)
		}
	}
	c.looks = again
}
