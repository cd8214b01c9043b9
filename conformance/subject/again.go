package subject

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Again is the command that repeats one check of a run, with its random draws. Of
// options it has the names only: a value may be a secret.
func (o Options) Again(id string, seed uint64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "anarchon conform %s -run '^%s$' -seed %d", o.Path, id, seed)
	if o.Variant != "" {
		fmt.Fprintf(&b, " -variant %s", o.Variant)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Config)) {
		fmt.Fprintf(&b, " -config %s=…", name)
	}
	return b.String()
}
