package recipes

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/anarchon-go/anarchon/core"
)

// reportsSchema has the token beside what it protects.
const reportsSchema = `CREATE TABLE reports (
	job   TEXT   NOT NULL,
	slot  BIGINT NOT NULL,
	token BIGINT NOT NULL,
	body  TEXT   NOT NULL,
	PRIMARY KEY (job, slot)
)`

// saveReport writes the report of a slot, unless a later attempt of it has: then the
// runner that asks was replaced while it was frozen or cut off, and its write is
// refused. Written again by the same attempt it is the same row, so it is idempotent as
// well. It needs no transaction: the comparison and the write are one statement. (The
// statement is PostgreSQL's and SQLite's.)
func saveReport(ctx context.Context, db *sql.DB, run core.Run, body string) error {
	res, err := db.ExecContext(ctx, `
		INSERT INTO reports (job, slot, token, body) VALUES ($1, $2, $3, $4)
		ON CONFLICT (job, slot) DO UPDATE SET token = excluded.token, body = excluded.body
		WHERE reports.token <= excluded.token`, run.Job, run.Slot, int64(run.Token), body)
	if err != nil {
		return err
	}
	rows, err := res.RowsAffected()
	if err == nil && rows == 0 {
		err = fmt.Errorf("attempt %d was replaced: a later one has written the report", run.Attempt)
	}
	return err
}
