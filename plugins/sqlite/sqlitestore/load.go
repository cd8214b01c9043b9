//go:build cgo

package sqlitestore

import (
	"context"
	"database/sql"
	"encoding"
	"errors"
	"fmt"

	"github.com/anarchon-go/anarchon/core/store"
)

// step is the I/O of one atomic step, inside the writer's transaction.
type step struct {
	sql       *writing
	namespace []byte
}

// load reads the store's now, the job and its unfinished runs, and the name of
// another job that remembers the claim id, if there is one.
func (p *step) load(name string, claim store.ClaimID) (s *state, owner string, err error) {
	s = &state{}
	var id, newest, lastToken, history, ended sql.NullInt64
	var fingerprint, other sql.NullString
	err = p.sql.job.QueryRow(p.namespace, []byte(name), claim[:]).Scan(
		&s.now, &id, &newest, &lastToken, &history, &ended, &fingerprint, &other)
	if err != nil || !id.Valid {
		return s, other.String, wrap("read the job", err)
	}
	s.job = job{
		id: id.Int64, newest: newest.Int64, lastToken: store.Token(lastToken.Int64),
		historySize: int(history.Int64), ended: int(ended.Int64), fingerprint: fingerprint.String,
	}
	s.runs, err = p.attempts(p.sql.unfinished, s.job.id)
	return s, other.String, wrap("read the unfinished runs", err)
}

// lastOf returns the last attempt of a run of the job, nil if none is kept.
func (p *step) lastOf(s *state, slot int64) (*attempt, error) {
	// A slot after the newest granted one has no record: most claims that win.
	if !s.granted() || slot > s.job.newest {
		return nil, nil
	}
	return p.one("read the run", p.sql.last, s.job.id, slot)
}

// byToken returns the attempt that a token was granted to, nil if none is kept.
func (p *step) byToken(s *state, slot int64, token store.Token) (*attempt, error) {
	if a := s.run(slot); a != nil && a.token == token {
		return a, nil
	}
	if !s.granted() {
		return nil, nil
	}
	return p.one("read the attempt", p.sql.byToken, s.job.id, slot, int64(token))
}

func (p *step) one(doing string, stmt *sql.Stmt, args ...any) (*attempt, error) {
	all, err := p.attempts(stmt, args...)
	if err != nil || len(all) == 0 {
		return nil, wrap(doing, err)
	}
	return all[0], nil
}

func (p *step) attempts(stmt *sql.Stmt, args ...any) (_ []*attempt, err error) {
	rows, err := stmt.QueryContext(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var all []*attempt
	for rows.Next() {
		a, err := scanAttempt(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, rows.Err()
}

func scanAttempt(rows *sql.Rows) (*attempt, error) {
	a := &attempt{}
	var claim sql.RawBytes
	var reason, overlap, status string
	err := rows.Scan(&a.slot, &a.number, &a.token, &claim, &a.instance, &reason, &overlap, &a.lease, &a.leaseEnd,
		&a.max, &a.counted, &a.unfinished, &status, &a.handedOver, &a.startedAt, &a.endedAt, &a.err)
	if err != nil {
		return nil, err
	}
	if copy(a.claim[:], claim) != len(claim) || len(claim) != len(a.claim) {
		err = fmt.Errorf("claim id of %d bytes", len(claim))
	}
	err = errors.Join(err, parse(&a.reason, reason), parse(&a.overlap, overlap), parse(&a.status, status))
	if err == nil {
		err = a.check()
	}
	if err != nil {
		return nil, fmt.Errorf("row of slot %d, attempt %d, is none of this plugin's: %w; restore the file from a backup", a.slot, a.number, err)
	}
	return a, nil
}

func parse(v encoding.TextUnmarshaler, s string) error { return v.UnmarshalText([]byte(s)) }

func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
