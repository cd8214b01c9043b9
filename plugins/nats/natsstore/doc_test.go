package natsstore

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPageListsOptions: the page's table of options is made of their schema.
func TestPageListsOptions(t *testing.T) {
	const page = "docs/nats.md"
	text, err := os.ReadFile("../../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	table := "| option | default | |\n|---|---|---|\n"
	for _, o := range Info().Options {
		byDefault := "–"
		switch {
		case o.Required:
			byDefault = "required"
		case o.Default != "":
			byDefault = "`" + o.Default + "`"
		}
		secret := ""
		if o.Secret {
			secret = " Secret."
		}
		table += fmt.Sprintf("| `%s` | %s | %s%s |\n", o.Name, byDefault, o.Help, secret)
	}
	if !strings.Contains(string(text), table) {
		t.Errorf("%s must have this table, line by line:\n%s", page, table)
	}
}
