package postgresstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/anarchon-go/anarchon/core/store"
)

// facts is what is seen of the server at the start.
type facts struct {
	versionNumber int // e.g. 180006
	version       string
	inRecovery    bool
	readOnly      string // of transactions: on, off
	isolation     string // of transactions, by default

	synchronousCommit string
	standbyNames      string // those that a commit waits for
	standbys          int    // connected
	fsync             string
	fullPageWrites    string
	statementTimeout  string
	lockTimeout       string

	backend        int // the server process
	role, database string
	mayMakeSchema  bool // may create schemas in the database
	mayMakeTables  bool // may create tables in the schema
	hasSchema      bool
	tables         []string // of ours that are there
	unlogged       []string // of those, not crash-safe

	// Of the connection.
	address string
	pid     int // of the server process, as told when connecting
	tls     bool
}

// tableNames are the tables of the newest revision.
var tableNames = []string{"attempt", "job", "meta"}

func readFacts(ctx context.Context, conn *pgx.Conn, text texts) (facts, error) {
	var f facts
	err := conn.QueryRow(ctx, text.file("facts"), text.schema, tableNames).Scan(
		&f.versionNumber, &f.version, &f.inRecovery, &f.readOnly, &f.isolation,
		&f.synchronousCommit, &f.standbyNames, &f.standbys, &f.fsync, &f.fullPageWrites, &f.statementTimeout, &f.lockTimeout,
		&f.backend, &f.role, &f.database, &f.mayMakeSchema, &f.mayMakeTables, &f.hasSchema, &f.tables, &f.unlogged)
	pg := conn.PgConn()
	f.address, f.pid = pg.Conn().RemoteAddr().String(), int(pg.PID())
	_, f.tls = pg.Conn().(*tls.Conn)
	return f, err
}

// inspect connects, sets the schema up if need be, and describes the store, or
// says why it can't be used.
func inspect(ctx context.Context, pool *pgxpool.Pool, set settings, text texts) (store.Description, error) {
	conn, err := connect(ctx, pool, set)
	if err != nil {
		return store.Description{}, err
	}
	defer conn.Release()
	f, err := prepare(ctx, conn.Conn(), text)
	if err != nil {
		cfg := conn.Conn().Config()
		return store.Description{}, notApplied(fmt.Sprintf("start on %s:%d, database %q", cfg.Host, cfg.Port, cfg.Database), err)
	}
	return f.describe(set), nil
}

// connect makes the first connection, within the connect timeout altogether.
func connect(ctx context.Context, pool *pgxpool.Pool, set settings) (*pgxpool.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, set.connectTimeout)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	// Which of the two timeouts ends it first, and how its error reads, is chance.
	if errors.Is(err, context.DeadlineExceeded) || pgconn.Timeout(err) {
		err = fmt.Errorf("%w; nothing answered in time: check host, port and firewalls, or raise connectTimeout", err)
	}
	if err != nil {
		return nil, notApplied("connect", err)
	}
	return conn, nil
}

// prepare checks the server, sets the schema up if it is not, and checks that.
func prepare(ctx context.Context, conn *pgx.Conn, text texts) (facts, error) {
	f, err := readFacts(ctx, conn, text)
	if err == nil {
		err = f.checkServer()
	}
	if err == nil {
		err = setUpIfNeeded(ctx, conn, text, &f)
	}
	if err == nil {
		err = f.checkTables(text.schema)
	}
	return f, err
}
