package postgresstore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/anarchon-go/anarchon/core/store"
)

// caller makes calls on the connections of one pool. It is safe for concurrent
// use.
type caller struct {
	pool    *pgxpool.Pool
	timeout time.Duration
	// explicit is set when the server's default isolation was found to be another
	// than read committed. It is shared by all callers of a backend.
	explicit *atomic.Bool
}

// query runs one statement in a transaction of its own, in one round trip, and
// calls row for each of its rows. What row was given counts only if the error is
// nil: the rows arrive before the commit. The error is classed; it is never
// asked twice what may have been done.
func (c *caller) query(ctx context.Context, text string, args []any, row func(pgx.Rows) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	explicit := c.explicit.Load()
	err := c.once(ctx, explicit, text, args, row)
	if !explicit && sqlState(err) == wrongIsolation {
		c.explicit.Store(true)
		err = c.once(ctx, true, text, args, row)
	}
	return err
}

func (c *caller) once(ctx context.Context, explicit bool, text string, args []any, row func(pgx.Rows) error) error {
	conn, err := c.pool.Acquire(ctx)
	if err != nil {
		return notApplied("connect", err)
	}
	defer conn.Release()
	send := autocommit
	if explicit {
		send = inTransaction
	}
	rowErr, err := send(ctx, conn.Conn(), text, args, row)
	warning := takeWarning(conn.Conn())
	switch {
	case err != nil:
		if sqlState(err) == readOnly { // a failover: look for the new primary
			c.pool.Reset()
		}
		return classify(err)
	case warning != "":
		return fmt.Errorf("%w: postgres: committed, but maybe not on the standbys: %s", store.ErrUnknown, warning)
	case rowErr != nil:
		return fmt.Errorf("%w: postgres: answer: %w", store.ErrUnknown, rowErr)
	}
	return nil
}

// autocommit sends the statement alone. Its transaction is as isolated as the
// server's default says.
func autocommit(ctx context.Context, conn *pgx.Conn, text string, args []any, row func(pgx.Rows) error) (rowErr, err error) {
	rows, err := conn.Query(ctx, text, args...)
	if err != nil {
		return nil, err
	}
	return readAll(rows, row)
}

// inTransaction sends the statement between BEGIN and COMMIT, all at once. If it
// fails, the connection is left in the transaction, and the pool drops it.
func inTransaction(ctx context.Context, conn *pgx.Conn, text string, args []any, row func(pgx.Rows) error) (rowErr, err error) {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	batch.Queue(text, args...)
	batch.Queue("COMMIT")
	results := conn.SendBatch(ctx, batch)
	defer func() {
		if e := results.Close(); err == nil {
			err = e
		}
	}()
	if _, err := results.Exec(); err != nil {
		return nil, err
	}
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	if rowErr, err = readAll(rows, row); err != nil {
		return rowErr, err
	}
	tag, err := results.Exec()
	if err == nil && tag.String() != "COMMIT" {
		err = errors.New("COMMIT was answered " + tag.String())
	}
	return rowErr, err
}

// readAll reads to the end of the answer, commit included, whatever row says.
func readAll(rows pgx.Rows, row func(pgx.Rows) error) (rowErr, err error) {
	for rows.Next() {
		if rowErr == nil {
			rowErr = row(rows)
		}
	}
	return rowErr, rows.Err()
}
