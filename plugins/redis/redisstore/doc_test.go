package redisstore

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/internal/optiontable"
)

// readPage is what is written about this backend.
func readPage(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The page's table of options is made of their schema.
func TestPageListsOptions(t *testing.T) {
	table := optiontable.WithTypes(Info().Options)
	if !strings.Contains(readPage(t), table) {
		t.Errorf("docs/redis.md must have this table, line by line:\n%s", table)
	}
}

// The page names each right that a strategy needs, beside the strategy.
func TestPageNamesTheRights(t *testing.T) {
	_, section, _ := strings.Cut(readPage(t), "**ACL.**")
	section, _, _ = strings.Cut(section, "\n### ")
	first, rest, ok := strings.Cut(section, "```\n\n")
	if !ok {
		t.Fatal("docs/redis.md has no block with a user's rules")
	}
	common, _, _ := strings.Cut(first, "\n  ")
	for _, strategy := range strategies {
		rules := first
		if strategy != strategyLease {
			// The strategy's name, and its rules up to the end of the code.
			m := regexp.MustCompile("`" + strategy + "`[^`]*`([^`]*)`").FindStringSubmatch(rest)
			if m == nil {
				t.Errorf("docs/redis.md has no rules for strategy %s", strategy)
				continue
			}
			rules = common + " " + m[1]
		}
		needed := map[string]bool{"info": true}
		for _, name := range rightsNeeded(strategy) {
			needed[name] = true
		}
		for _, m := range regexp.MustCompile(`\+([a-z]+)`).FindAllStringSubmatch(rules, -1) {
			if !needed[m[1]] {
				t.Errorf("strategy %s does not need %s, which docs/redis.md names", strategy, m[1])
			}
			delete(needed, m[1])
		}
		for name := range needed {
			t.Errorf("strategy %s needs %s, which docs/redis.md does not name", strategy, name)
		}
	}
}

// The page says what every warning is about.
func TestPageListsWarnings(t *testing.T) {
	page := readPage(t)
	for _, name := range []string{"maxmemory-policy allkeys-", "appendonly no", "appendfsync everysec", "aof_last_write_status", "aof-use-rdb-preamble", "min-replicas-to-write", "waitReplicas"} {
		if !strings.Contains(page, "`"+name) {
			t.Errorf("docs/redis.md does not mention %s", name)
		}
	}
}
