// Package optiontable writes a plugin's options as the Markdown table that the page of
// its backend must have.
package optiontable

import (
	"fmt"
	"strings"

	"github.com/anarchon-go/anarchon/storekit"
)

// Brief has a row for each option: name, default, and what it is for.
func Brief(options []storekit.Option) string {
	var table strings.Builder
	table.WriteString("| option | default | |\n|---|---|---|\n")
	for _, o := range options {
		byDefault := defaultOf(o)
		if o.Required {
			byDefault = "required"
		}
		secret := ""
		if o.Secret {
			secret = " Secret."
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s%s |\n", o.Name, byDefault, o.Help, secret)
	}
	return table.String()
}

// WithTypes has a column besides for the type, with bounds or the values to choose from.
func WithTypes(options []storekit.Option) string {
	var table strings.Builder
	table.WriteString("| option | type | default | |\n|---|---|---|---|\n")
	for _, o := range options {
		kind := string(o.Type)
		switch {
		case o.Secret:
			kind += ", secret"
		case o.Min != nil && o.Type == storekit.TypeInt:
			kind += fmt.Sprintf(", %d to %d", *o.Min, *o.Max)
		case len(o.Enum) > 0:
			kind = "`" + strings.Join(o.Enum, "` `") + "`"
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", o.Name, kind, defaultOf(o), o.Help)
	}
	return table.String()
}

func defaultOf(o storekit.Option) string {
	if o.Default == "" {
		return "–"
	}
	return "`" + o.Default + "`"
}
