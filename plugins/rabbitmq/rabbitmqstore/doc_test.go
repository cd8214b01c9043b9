package rabbitmqstore

import (
	"os"
	"strings"
	"testing"

	"github.com/anarchon-go/anarchon/internal/optiontable"
)

// TestPageListsOptions: the page's table of options is made of their schema.
func TestPageListsOptions(t *testing.T) {
	const page = "docs/rabbitmq.md"
	text, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	table := optiontable.Brief(Info().Options)
	if !strings.Contains(string(text), table) {
		t.Errorf("%s must have this table, line by line:\n%s", page, table)
	}
}
