package postgresstore

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/conformance/containers"
	"github.com/anarchon-go/anarchon/internal/budget"
)

// TestBudget: claims in batches reach 0.8 of what pgbench gets out of the server
// with the same function, batch size and number of connections, and three times
// what single claims reach. The three are measured in turn, in the same run, on
// the same server, and the best turn of each is compared.
func TestBudget(t *testing.T) {
	budget.Only(t)
	const size, turns = 64, 7
	const during = time.Second // pgbench knows whole seconds
	c := privateServer(t, "postgres-18")
	ip, err := c.IP(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	direct := func() settings { return settingsOn(t, serverURL(c)).at(t, ip+":5432") } // not through the engine's proxy
	batched, single := newLoad(t, direct(), size), newLoad(t, direct(), 1)
	other := direct()
	open(t, other)
	bench := newPgbench(t, c, other.schema, size)
	bench.rate(during) // histories are full then

	var ours, alone, theirs []float64
	for range turns {
		theirs = append(theirs, bench.rate(during))
		ours = append(ours, batched.rate(t, during))
		alone = append(alone, single.rate(t, during))
	}
	a, b, s := budget.Best(ours), budget.Best(theirs), budget.Best(alone)
	t.Logf("claims/s in all turns: batches %.0f, pgbench %.0f, one by one %.0f", ours, theirs, alone)
	batches := fmt.Sprintf("claims/s in batches of %d, %d connections", size, benchConnections)
	budget.Row(t, "postgres", batches+", against pgbench with the same function", a/b, "×", budget.AtLeast(0.8),
		fmt.Sprintf("%.0f/s; pgbench %.0f/s", a, b))
	budget.Row(t, "postgres", batches+", against one by one", a/s, "×", budget.AtLeast(3),
		fmt.Sprintf("%.0f/s; one by one %.0f/s", a, s))
}

// pgbench runs the claim function in pgbench, in the server's container, which spares
// it the way through the engine's network.
type pgbench struct {
	t      testing.TB
	c      *containers.Container
	size   int
	rounds int
}

const pgbenchScript = "/tmp/claim.sql"

func newPgbench(t testing.TB, c *containers.Container, schema string, size int) *pgbench {
	all := func(value string) string { return fmt.Sprintf("array_fill(%s, ARRAY[%d])", value, size) }
	each := func(value string) string {
		return fmt.Sprintf("(SELECT array_agg(%s) FROM generate_series(1, %d) AS g)", value, size)
	}
	script := `\set n :n + 1` + "\n" + fmt.Sprintf("SELECT count(*) FROM %s.claim_v1(%s) WHERE o_verdict = 'won';\n", quoteName(schema), strings.Join([]string{
		"'default'::bytea",
		each("('reports/customer-' || :client_id || '-' || g)::bytea"),
		all(fmt.Sprintf("%d::bigint + :n", time.Now().UnixMilli())),
		each("uuid_send(gen_random_uuid())"),
		all("0"), all("'a'::bytea"), all("'scheduled'::text"), all("1::bigint"),
		all("31622400000::bigint"), all("31622400000::bigint"), all("'allow'::text"), all("3"), all("3"), all("''::bytea"),
	}, ", "))
	p := &pgbench{t: t, c: c, size: size}
	p.exec("sh", "-c", fmt.Sprintf("cat > %s <<'EOF'\n%sEOF", pgbenchScript, script))
	return p
}

func (p *pgbench) exec(command ...string) string {
	p.t.Helper()
	out, err := p.c.Exec(p.t.Context(), command...)
	if err != nil {
		p.t.Fatal(err)
	}
	return out
}

var tps = regexp.MustCompile(`tps = ([0-9.]+)`)

func (p *pgbench) rate(during time.Duration) float64 {
	p.t.Helper()
	p.rounds++
	// Each run goes on with later slots than the one before.
	command := fmt.Sprintf("PGPASSWORD='%s' pgbench -h 127.0.0.1 -U postgres -n -M prepared -c %d -j 2 -T %.0f -D n=%d -f %s postgres 2>&1",
		testPassword, benchConnections, during.Seconds(), p.rounds*10_000_000, pgbenchScript)
	out := p.exec("sh", "-c", command)
	m := tps.FindStringSubmatch(out)
	if m == nil || strings.Contains(out, "ERROR") {
		p.t.Fatalf("pgbench: %s", out)
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n * float64(p.size)
}
