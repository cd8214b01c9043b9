package postgresstore

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/anarchon-go/anarchon/core/store"
)

// SQLSTATEs that this package looks at; those of class Z are its own.
const (
	wrongIsolation = "ZA001"
	readOnly       = "25006"
)

// sqlState returns the SQLSTATE of a server's error, empty if it is none.
func sqlState(err error) string {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// notApplied classes an error of something that surely left no trace.
func notApplied(doing string, err error) error {
	if isClassed(err) {
		return err
	}
	return fmt.Errorf("%w: postgres: %s: %w%s", store.ErrNotApplied, doing, err, remedy(err))
}

// unknown classes an error of a call whose answer did not arrive.
func unknown(err error) error {
	return fmt.Errorf("%w: postgres: %w%s", store.ErrUnknown, err, remedy(err))
}

func isClassed(err error) bool {
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown)
}

// classify classes the error of a statement: an error that the server tells and
// survives means that the transaction was rolled back, and so does one from
// before anything was sent. All else is open: the commit may have happened, and
// its answer was lost.
func classify(err error) error {
	var e *pgconn.PgError
	switch {
	case errors.As(err, &e) && rolledBack(e), pgconn.SafeToRetry(err):
		return notApplied("call", err)
	}
	return unknown(err)
}

// rolledBack reports whether an error proves that its transaction was rolled
// back. One that ends the connection does not: it may come right after the
// commit, and a pooler makes one of its own when it lost the server.
func rolledBack(e *pgconn.PgError) bool {
	const connectionException, completionUnknown = "08", "40003"
	return e.SeverityUnlocalized == "ERROR" && !strings.HasPrefix(e.Code, connectionException) && e.Code != completionUnknown
}

// concernsItem reports whether an error that rolled a batch back is likely to be
// of one item's data, so that the others may do better without it.
func concernsItem(err error) bool {
	if !errors.Is(err, store.ErrNotApplied) {
		return false
	}
	code := sqlState(err)
	for _, class := range []string{
		"22", // data exception
		"23", // integrity constraint: a check that somebody added
		"54", // limit exceeded
		"P0", // raised by PL/pgSQL: a trigger
		"XX", // internal: a damaged page or index
	} {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}

// remedies say what an SQLSTATE means for the operator, and what to do.
var remedies = map[string]string{
	"0A000": "the tables were changed while a statement was prepared; the next call prepares it anew",
	"25006": "the server is read-only, a standby perhaps; name the primary, or all servers with target_session_attrs=read-write in the url",
	"26000": "a pooler mixes up prepared statements; set max_prepared_statements in PgBouncer (1.21 or newer), or default_query_exec_mode=exec in the url",
	"42P05": "a pooler mixes up prepared statements; set max_prepared_statements in PgBouncer (1.21 or newer), or default_query_exec_mode=exec in the url",
	"28000": "the server does not admit this role from here; look at its pg_hba.conf and at sslMode",
	"28P01": "check user and password",
	"3D000": "create the database, or name another in the url",
	"3F000": "the schema is gone; restart the plugin to set it up, or restore it",
	"42501": "grant the role what is missing; anarchon store setup postgres prints all that it needs",
	"42883": "a function is gone; was the schema restored half? restart the plugin to find out",
	"42704": "create it first",
	"42P01": "a table is gone; was the schema restored half? restart the plugin to find out",
	"53100": "the server's disk is full; free space",
	"53300": "the server has no connection left; raise its max_connections, lower poolSize and heartbeatPoolSize, or put PgBouncer between",
	"55P03": "somebody held a job's row all the while; look for long transactions, or raise lock_timeout",
	"57014": "the server's statement_timeout cut it, or somebody cancelled it; look for long transactions, or raise statement_timeout",
	"57P03": "the server is starting or stopping; try again",
	"XX001": "a page is damaged; see the server's log, and restore a backup",
	"XX002": "an index is damaged; see the server's log, and REINDEX",
	"08P01": "the pooler lost the server, or does not know a parameter; see its log",
	"40001": "another transaction was faster; try again",
	"40P01": "transactions waited for each other in a circle; do others write the plugin's tables? try again",
}

func remedy(err error) string {
	// PgBouncer has one code for all that it does not like.
	var e *pgconn.PgError
	if errors.As(err, &e) && strings.Contains(e.Message, "no more connections allowed") {
		return "; the pooler has as many clients as it takes: raise its max_client_conn, or lower poolSize and heartbeatPoolSize"
	}
	if text := remedies[sqlState(err)]; text != "" {
		return "; " + text
	}
	var dns *net.DNSError
	if errors.As(err, &dns) && dns.IsNotFound {
		return "; there is no such host: check the url"
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return "; is the server running, and does it listen there?"
	}
	return ""
}
