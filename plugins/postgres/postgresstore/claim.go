package postgresstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/core/store"
)

func (b *Backend) askClaims(ctx context.Context, qs []store.ClaimRequest) ([]store.Result[store.ClaimAnswer], error) {
	results := make([]store.Result[store.ClaimAnswer], 0, len(qs))
	err := b.claims.query(ctx, b.sql.claim, claimArgs(b.namespace(), qs), func(rows pgx.Rows) error {
		if len(results) == len(qs) {
			return errors.New("one row too many")
		}
		r, err := scanClaim(rows, &qs[len(results)])
		results = append(results, r)
		return err
	})
	return results, complete(len(results), len(qs), err)
}

// claimArgs makes one array per field, as claim_v1 wants it.
func claimArgs(namespace []byte, qs []store.ClaimRequest) []any {
	n := len(qs)
	jobs, ids, instances, fingerprints := make([][]byte, n), make([][]byte, n), make([][]byte, n), make([][]byte, n)
	slots, leases, early, late := make([]int64, n), make([]int64, n), make([]int64, n), make([]int64, n)
	after, attempts, sizes := make([]int32, n), make([]int32, n), make([]int32, n)
	reasons, overlaps := make([]string, n), make([]string, n)
	for i := range qs {
		q := &qs[i]
		jobs[i], slots[i], ids[i], after[i] = []byte(q.Job), q.Slot, q.ID[:], int32(q.After)
		instances[i], reasons[i], overlaps[i] = []byte(q.Instance), q.Reason.String(), q.Overlap.String()
		leases[i], early[i], late[i] = ms(q.Lease), ms(q.MaxEarly), ms(q.MaxLate)
		attempts[i], sizes[i], fingerprints[i] = int32(q.MaxAttempts), int32(q.HistorySize), []byte(q.Fingerprint)
	}
	return []any{namespace, jobs, slots, ids, after, instances, reasons, leases, early, late, overlaps, attempts, sizes, fingerprints}
}

func scanClaim(rows pgx.Rows, q *store.ClaimRequest) (store.Result[store.ClaimAnswer], error) {
	var a store.ClaimAnswer
	var verdict, status, misuse string
	var holder, fingerprint []byte
	var left, by int64
	err := rows.Scan(&verdict, &a.Attempt, &a.Token, &left, &holder, &a.Slot, &status, &by, &fingerprint, &a.Now, &misuse)
	if err != nil {
		return store.Result[store.ClaimAnswer]{}, err
	}
	if misuse != "" {
		return store.Result[store.ClaimAnswer]{Err: misusedID(q.ID, misuse, string(holder), a.Slot)}, nil
	}
	a.Left, a.By, a.Holder, a.Fingerprint = span(left), span(by), string(holder), string(fingerprint)
	if err := a.Verdict.UnmarshalText([]byte(verdict)); err != nil {
		return store.Result[store.ClaimAnswer]{}, err
	}
	if status != "" {
		err = a.Status.UnmarshalText([]byte(status))
	}
	return store.Result[store.ClaimAnswer]{Answer: a}, err
}

// misusedID refuses an id that an unfinished run holds for another wish.
func misusedID(id store.ClaimID, misuse, name string, slot int64) error {
	var used string
	switch misuse {
	case "job":
		used = fmt.Sprintf("for job %q", name)
	case "slot":
		used = fmt.Sprintf("for slot %d of the job", slot)
	default:
		used = fmt.Sprintf("by instance %q", name)
	}
	return &store.InvalidError{Field: "claim id", Value: id.String(), Rule: "a fresh one: this one was used " + used}
}
