package postgresstore

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed sql
var embedded embed.FS

// sqlFiles are the files of this version; tests add those of a later one.
var sqlFiles fs.FS = embedded

// storeNow is the server's clock in Unix milliseconds: not the time at which the
// transaction began, which was before it waited for locks.
const storeNow = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

// texts reads embedded SQL, for one schema and one clock.
type texts struct{ schema, now string }

// file returns a file's SQL with $SCHEMA and $NOW replaced.
func (t texts) file(name string) string {
	b, err := fs.ReadFile(sqlFiles, "sql/"+name+".sql")
	if err != nil {
		panic(err) // the file is part of the program
	}
	return strings.NewReplacer("$SCHEMA", quoteName(t.schema), "$NOW", t.now).Replace(string(b))
}

// quoteName makes an identifier.
func quoteName(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// statements are the calls of the verbs.
type statements struct{ claim, heartbeat, finish, unfinished, history string }

func (t texts) statements() statements {
	s := quoteName(t.schema)
	return statements{
		claim:      "SELECT * FROM " + s + ".claim_v1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
		heartbeat:  "SELECT * FROM " + s + ".heartbeat_v1($1, $2, $3, $4, $5)",
		finish:     "SELECT * FROM " + s + ".finish_v1($1, $2, $3, $4, $5, $6, $7)",
		unfinished: "SELECT * FROM " + s + ".unfinished_v1($1, $2)",
		history:    t.file("history"),
	}
}
