package store

import (
	"strings"
	"unicode/utf8"
)

// CutError makes an error text fit to be stored: invalid UTF-8 and NUL become
// U+FFFD (not every store can hold them), and what is longer than 2000
// characters is cut at a character boundary.
func CutError(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	if len(s) <= MaxErrorLength {
		return s
	}
	n := 0
	for i := range s {
		if n == MaxErrorLength {
			return s[:i]
		}
		n++
	}
	return s
}

// clip shortens a value for an error message, at a character boundary.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
