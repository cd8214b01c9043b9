// Package nearest finds what somebody probably meant.
package nearest

import (
	"strings"
	"unicode/utf8"
)

// Word returns the known word that s is most likely a slip of, or "" if none
// is near. The first of equals wins.
func Word(s string, known []string) string {
	if len(s) > 64 { // nobody mistypes that much, and the table would grow with it
		return ""
	}
	best, least := "", max(2, utf8.RuneCountInString(s)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(s), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour that make b of a (optimal string alignment).
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	before, prev, row := make([]int, len(rb)+1), make([]int, len(rb)+1), make([]int, len(rb)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(ra); i++ {
		row[0] = i
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev, row = prev, row, before
	}
	return prev[len(rb)]
}
