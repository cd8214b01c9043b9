package postgresstore

import (
	"fmt"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// oldest is the oldest version that will do, as server_version_num tells it.
const oldestVersion = 140000

// checkServer refuses a server that can't keep the promises.
func (f *facts) checkServer() error {
	refuse := func(format string, args ...any) error {
		return fmt.Errorf("%w: postgres: %s", store.ErrInvalid, fmt.Sprintf(format, args...))
	}
	switch {
	case f.versionNumber < oldestVersion:
		return refuse("the server is PostgreSQL %s; it must be 14 or newer: upgrade it, or name another", f.version)
	case f.inRecovery:
		return refuse("the server %s is a standby, which can't write; name the primary, or all servers with target_session_attrs=read-write in the url", f.address)
	case f.readOnly == "on":
		return refuse("transactions of role %q are read-only; it must be able to write: look at default_transaction_read_only of the role, the database and the server", f.role)
	}
	return nil
}

// checkTables refuses tables that a crash of the server empties.
func (f *facts) checkTables(schema string) error {
	if len(f.unlogged) == 0 {
		return nil
	}
	var remedies []string
	for _, name := range f.unlogged {
		remedies = append(remedies, fmt.Sprintf("ALTER TABLE %s.%s SET LOGGED", quoteName(schema), name))
	}
	return fmt.Errorf("%w: postgres: tables %s are not logged: a crash of the server would empty them, and slots would run again: %s",
		store.ErrInvalid, strings.Join(f.unlogged, ", "), strings.Join(remedies, "; "))
}

// warnings says what the operator should know.
func (f *facts) warnings() []string {
	var all []string
	add := func(on bool, text string) {
		if on {
			all = append(all, text)
		}
	}
	add(f.fsync == "off", "fsync is off: a crash of the machine loses what was granted, or the whole database; set fsync = on")
	add(f.fullPageWrites == "off", "full_page_writes is off: a crash of the machine may damage the tables unless the file system prevents torn pages; set full_page_writes = on")
	add(f.standbys > 0 && f.standbyNames == "", "replication is asynchronous: a failover forgets the last claims, and their slots may run again; set synchronous_standby_names")
	add(f.standbyNames != "" && f.synchronousCommit == "local", "synchronous_commit is local: a failover forgets the last claims although there are synchronous standbys; set synchronous_commit = on")
	return all
}

func (f *facts) describe(set settings) store.Description {
	setting := func(name, value string) store.Setting { return store.Setting{Name: name, Value: value} }
	commit := f.synchronousCommit
	if commit == "off" {
		commit = "off (on for the plugin's own transactions)"
	}
	return store.Description{
		Kind: store.KindLease, Memory: store.Memory{Forever: true}, Clock: store.ClockStore,
		Fenced: true, History: true,
		Product: "PostgreSQL " + f.version, Format: Format,
		Warnings: f.warnings(),
		Settings: []store.Setting{
			setting("address", f.address),
			setting("database", f.database),
			setting("role", f.role),
			setting("schema", set.schema),
			setting("namespace", set.namespace),
			setting("connection", f.connection()),
			setting("poolSize", fmt.Sprint(set.poolSize)),
			setting("heartbeatPoolSize", fmt.Sprint(set.heartbeatPoolSize)),
			setting("synchronous_commit", commit),
			setting("synchronous_standby_names", f.standbyNames),
			setting("standbys", fmt.Sprint(f.standbys)),
			setting("fsync", f.fsync),
			setting("full_page_writes", f.fullPageWrites),
			setting("default_transaction_isolation", f.isolation),
			setting("statement_timeout", f.statementTimeout),
			setting("lock_timeout", f.lockTimeout),
		},
	}
}

// connection says how the server is reached. A pooler tells a process number of
// its own.
func (f *facts) connection() string {
	how := "direct"
	if f.pid != f.backend {
		how = "through a pooler"
	}
	if f.tls {
		return how + ", TLS"
	}
	return how + ", no TLS"
}
