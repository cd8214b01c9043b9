package postgresstore

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/internal/optiontable"
)

const page = "../../../docs/postgres.md"

// TestPageListsOptions: the page's table of options is made of their schema.
func TestPageListsOptions(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if table := optiontable.WithTypes(Info().Options); !strings.Contains(string(b), table) {
		t.Errorf("docs/postgres.md must have this table, line by line:\n%s", table)
	}
}

// TestPageListsChecks: the page names every setting that the start looks at and
// reports.
func TestPageListsChecks(t *testing.T) {
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range (&facts{}).describe(settings{}).Settings {
		if strings.Contains(s.Name, "_") && !strings.Contains(string(b), "`"+s.Name) {
			t.Errorf("docs/postgres.md does not mention %s", s.Name)
		}
	}
}

// TestPageSQL runs the page's SQL: with its grants alone a role can work, a job is
// forgotten, and the history can be read.
func TestPageSQL(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	set := testSettings(t)
	a := newAdmin(t, set)
	role := a.role()
	owner := open(t, set)
	a.exec("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA " + quoteName(set.schema) + " FROM PUBLIC")
	names := strings.NewReplacer("SCHEMA anarchon", "SCHEMA "+quoteName(set.schema), "anarchon.", quoteName(set.schema)+".", "TO app;", "TO "+quoteName(role)+";")
	blocks := regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of SQL; want the grants, how to forget a job, and how to read the history", len(blocks))
	}
	run := func(i int) {
		t.Helper()
		a.exec(names.Replace(blocks[i][1]), pgx.QueryExecModeSimpleProtocol)
	}
	run(0)
	daily(t, open(t, set.as(t, role)), owner)
	for _, job := range []string{"reports/old", "reports/new"} {
		mustClaim(t, owner, claimOf(job, time.Now().UnixMilli()), store.VerdictWon)
	}
	run(1)
	if len(history(t, owner, "reports/old")) != 0 || len(history(t, owner, "reports/new")) != 1 {
		t.Error("the job that was to be forgotten is there, or the other is not")
	}
	if n := get[int](a, "SELECT count(*) FROM job WHERE name = 'reports/old'"); n != 0 {
		t.Error("the job's row is still there")
	}
	run(2)
}
