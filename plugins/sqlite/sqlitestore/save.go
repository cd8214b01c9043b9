//go:build cgo

package sqlitestore

import (
	"database/sql"
	"errors"
	"fmt"
)

// errTransaction: the transaction is over, not only the item.
var errTransaction = errors.New("transaction lost")

// save writes what a decision changed, all of it or nothing.
func (p *step) save(s *state, name string) error {
	if !s.jobChanged && len(s.updated) == 0 && s.inserted == nil && s.trim == 0 {
		return nil
	}
	if err := execute(p.sql.savepoint); err != nil {
		return fmt.Errorf("%w: %w", errTransaction, err)
	}
	err := p.write(s, name)
	if err != nil {
		// SQLite ends the whole transaction on some errors (a full disk, say);
		// then there is no savepoint to go back to.
		if back := execute(p.sql.back); back != nil {
			return fmt.Errorf("%w: %w", errTransaction, err)
		}
	}
	if release := execute(p.sql.release); release != nil {
		return fmt.Errorf("%w: %w", errTransaction, errors.Join(err, release))
	}
	return err
}

func (p *step) write(s *state, name string) error {
	if s.jobChanged {
		if err := p.saveJob(s, name); err != nil {
			return wrap("write the job", err)
		}
	}
	for _, a := range s.updated {
		err := execute(p.sql.updateAttempt, s.job.id, a.slot, a.number,
			a.lease, a.leaseEnd, a.counted, a.unfinished, a.status.String(), a.handedOver, a.endedAt, a.err)
		if err != nil {
			return wrap("write the attempt", err)
		}
	}
	if a := s.inserted; a != nil {
		err := execute(p.sql.insertAttempt, s.job.id, a.slot, a.number, int64(a.token), a.claim[:], []byte(a.instance),
			a.reason.String(), a.overlap.String(), a.lease, a.leaseEnd, a.max, a.counted, a.unfinished,
			a.status.String(), a.handedOver, a.startedAt, a.endedAt, a.err)
		if err != nil {
			return wrap("write the new attempt", err)
		}
	}
	for range s.trim {
		if err := execute(p.sql.trim, s.job.id); err != nil {
			return wrap("trim the history", err)
		}
	}
	return nil
}

func (p *step) saveJob(s *state, name string) error {
	j := &s.job
	if s.granted() {
		return execute(p.sql.updateJob, j.id, j.newest, int64(j.lastToken), j.historySize, j.ended, []byte(j.fingerprint))
	}
	r, err := p.sql.insertJob.Exec(p.namespace, []byte(name), j.newest, int64(j.lastToken), j.historySize, j.ended, []byte(j.fingerprint))
	if err != nil {
		return err
	}
	j.id, err = r.LastInsertId()
	return err
}

func execute(stmt *sql.Stmt, args ...any) error {
	_, err := stmt.Exec(args...)
	return err
}
