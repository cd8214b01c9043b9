package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Summary writes a Markdown table of certificates: what each store is and remembers, and
// how the checks went.
func Summary(w io.Writer, certificates []Certificate) error {
	var b strings.Builder
	b.WriteString("| backend | variant | store | kind | remembers a slot | fences | history | checks | verdict |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, c := range certificates {
		fmt.Fprintf(&b, "| %s %s | %s | %s | %s | %s | %s | %s | %d of %d in %.0f s | %s |\n",
			escape(c.Subject.Plugin), escape(c.Subject.Version), escape(c.Subject.Variant), escape(c.Description.Product), c.Description.Kind,
			c.Description.Memory, yes(c.Description.Fenced), yes(c.Description.History), c.Verdict.Passed, c.Verdict.Expected, c.Seconds, c.Verdict.Word())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Compare writes a Markdown page that lays certificates side by side: the summary, the
// checks that did not pass everywhere, and what is known of each store.
func Compare(w io.Writer, certificates []Certificate) error {
	if err := Summary(w, certificates); err != nil {
		return err
	}
	var b strings.Builder
	b.WriteString("\nChecks that did not pass everywhere they were asked for:\n\n")
	rows := differing(certificates)
	if len(rows) == 0 {
		b.WriteString("none.\n")
	} else {
		b.WriteString("| check |")
		for _, c := range certificates {
			fmt.Fprintf(&b, " %s, %s |", escape(c.Subject.Plugin), escape(c.Subject.Variant))
		}
		b.WriteString("\n|---|" + strings.Repeat("---|", len(certificates)) + "\n")
		for _, id := range rows {
			fmt.Fprintf(&b, "| `%s` |", id)
			for _, c := range certificates {
				fmt.Fprintf(&b, " %s |", outcomeOf(c, id))
			}
			b.WriteByte('\n')
		}
	}
	for _, c := range certificates {
		fmt.Fprintf(&b, "\n## %s, %s\n\n%s\n", escape(c.Subject.Plugin), escape(c.Subject.Variant), escape(c.Line))
		if len(c.Description.Settings) > 0 {
			b.WriteString("\n| setting | observed |\n|---|---|\n")
			for _, s := range c.Description.Settings {
				fmt.Fprintf(&b, "| %s | %s |\n", escape(s.Name), escape(s.Value))
			}
		}
		if len(c.NotCovered) > 0 {
			b.WriteString("\nNot covered:\n\n")
			for _, n := range c.NotCovered {
				fmt.Fprintf(&b, "- %s\n", escape(n))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// differing returns the checks that did not pass on every store that was asked.
func differing(certificates []Certificate) (ids []string) {
	for _, c := range certificates {
		for _, k := range c.Checks {
			if k.Outcome != "pass" && !slices.Contains(ids, k.ID) {
				ids = append(ids, k.ID)
			}
		}
	}
	return ids
}

func outcomeOf(c Certificate, id string) string {
	for _, k := range c.Checks {
		if k.ID == id {
			return k.Outcome
		}
	}
	return "n/a" // it judges the other kind of backend
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// escape makes a text fit for one cell of a table.
func escape(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "\r", " ", "<", "&lt;").Replace(s)
}
