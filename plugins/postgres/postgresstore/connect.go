package postgresstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// pingTimeout is how long an idle connection may take to show that it lives
// before another is made.
const pingTimeout = 2 * time.Second

// newPool makes a pool that connects when it is first asked. idle connections
// are kept ready.
func newPool(base *pgxpool.Config, set settings, size, idle int) (*pgxpool.Pool, error) {
	cfg := base.Copy()
	cfg.MaxConns, cfg.MinConns, cfg.MinIdleConns = int32(size), int32(idle), 0
	cfg.MaxConnLifetime = set.maxConnLifetime
	cfg.MaxConnLifetimeJitter = set.maxConnLifetime / 10
	cfg.PingTimeout = pingTimeout
	cfg.ConnConfig.ConnectTimeout = set.connectTimeout
	cfg.ConnConfig.OnNotice = noteWarning
	if _, given := cfg.ConnConfig.RuntimeParams["application_name"]; !given {
		cfg.ConnConfig.RuntimeParams["application_name"] = "anarchon"
	}
	return pgxpool.NewWithConfig(context.Background(), cfg)
}

// notReplicated marks a connection whose last commit did not wait for the
// standbys.
const notReplicated = "anarchon: not replicated"

// noteWarning looks for the warning that a commit stopped waiting for the
// synchronous standbys (it was cancelled, or the server is being stopped): it is
// there, and a failover may undo it. The name of the server's function tells it
// in any language.
func noteWarning(c *pgconn.PgConn, n *pgconn.Notice) {
	if n.Routine == "SyncRepWaitForLSN" {
		c.CustomData()[notReplicated] = n.Message
	}
}

// takeWarning returns and forgets what noteWarning noted.
func takeWarning(c *pgx.Conn) string {
	data := c.PgConn().CustomData()
	text, _ := data[notReplicated].(string)
	delete(data, notReplicated)
	return text
}
