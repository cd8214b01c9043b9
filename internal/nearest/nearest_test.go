package nearest

import (
	"strings"
	"testing"
)

func TestWord(t *testing.T) {
	known := []string{"timeout", "path", "poolSize", "user", "users"}
	for in, want := range map[string]string{
		"timeuot": "timeout", "TIMEOUT": "timeout", "pth": "path", "poolsize": "poolSize",
		"usr": "user", "userz": "user", "": "", "completely": "", "ptah": "path",
		strings.Repeat("x", 1000): "",
	} {
		if got := Word(in, known); got != want {
			t.Errorf("Word(%q) = %q; want %q", in, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"größe", "grosse", 3}} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("distance(%q, %q) = %d; want %d", c.a, c.b, got, c.want)
		}
	}
}
