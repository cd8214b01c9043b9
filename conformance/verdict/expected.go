package verdict

import (
	"bufio"
	"embed"
	"fmt"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

//go:embed lease.txt claim-only.txt
var lists embed.FS

// Expected is a check that a backend must pass.
type Expected struct {
	ID string
	// Needs, if not 0, allows the check to be skipped where the backend declares
	// that it does not have this.
	Needs kit.Needs
}

// For returns the checks that backends of a kind must pass.
func For(kind store.Kind) ([]Expected, error) {
	name := kind.String() + ".txt"
	b, err := lists.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("no list of expected checks for backends of kind %v", kind)
	}
	list, err := parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// parse reads a list: a check's id per line, perhaps followed by "needs" and
// what the check may be skipped for; "#" begins a comment.
func parse(text string) ([]Expected, error) {
	var list []Expected
	seen := map[string]bool{}
	scanner := bufio.NewScanner(strings.NewReader(text))
	for n := 1; scanner.Scan(); n++ {
		line, _, _ := strings.Cut(scanner.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		e := Expected{ID: words[0]}
		switch {
		case seen[e.ID]:
			return nil, fmt.Errorf("line %d: %s is there twice", n, e.ID)
		case len(words) == 3 && words[1] == "needs":
			var err error
			if e.Needs, err = kit.ParseNeed(words[2]); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
		case len(words) != 1:
			return nil, fmt.Errorf("line %d is %q; it must be a check's id, or a check's id, \"needs\" and what it needs", n, line)
		}
		seen[e.ID] = true
		list = append(list, e)
	}
	return list, scanner.Err()
}
