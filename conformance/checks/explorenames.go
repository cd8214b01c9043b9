package checks

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/core/store"
)

const (
	nameSets   = 60
	nameShrink = 8 * time.Second
)

// awkward are pieces that some store takes for something else.
var awkward = []string{
	"a", "b", "A", "0", "00", "1", " ", "  ", "\t", "\n", "\r\n", "\x00", "\x01", "\x7f", "/", "//", "\\", ":", "::", ".", "..", "*", ">", "#", "%", "%2F", "%41",
	"_", "-", "$", "$JS", "{", "}", "{a}", "[", "]", "'", "''", "\"", "`", ";", "--", "+", "&", "=", "?", "|", ",", "~", "^", "@", "é", "e\u0301", "ß", "ss", "İ", "i", "ı",
	"Ω", "\u2126", "ﬁ", "fi", "\u200d", "\u00a0", "\ufeff", "\ufffd", "\u202e", "日本", "🙂", "👩\u200d👩\u200d👧", "\U0010ffff", "null", "NULL", "0x1", "1e3", "true",
}

func exploreNames(r *kit.Run) {
	p := r.Open(2)
	sets := 0
	failure := ""
	failed := rapidly(r, nameSets, nameShrink, func(t *rapid.T) {
		sets++
		names := drawNames(t, r.Job(fmt.Sprintf("%d|", sets)))
		if fault := distinct(r, p, names); fault != "" {
			failure = fault
			t.Fatal("the names are not different jobs")
		}
	})
	if failed {
		r.Fatalf("%s", failure)
	}
}

// drawNames draws a name and others that differ from it by very little.
func drawNames(t *rapid.T, prefix string) []string {
	piece := rapid.OneOf(rapid.SampledFrom(awkward), rapid.SampledFrom(awkward), rapid.StringN(1, 3, 8))
	pieces := rapid.SliceOfN(piece, 1, 6).Draw(t, "pieces")
	room := store.MaxNameBytes - len(prefix)
	if rapid.IntRange(0, 4).Draw(t, "long") == 4 { // as long as a name may be
		for len(strings.Join(pieces, "")) < room {
			pieces = append(pieces, pieces[len(pieces)%max(1, len(pieces)-1)])
		}
	}
	names := []string{fit(pieces, room)}
	for range rapid.IntRange(1, 4).Draw(t, "others") {
		i := rapid.IntRange(0, len(pieces)-1).Draw(t, "at")
		other := slices.Clone(pieces)
		switch rapid.IntRange(0, 5).Draw(t, "change") {
		case 0:
			other = slices.Insert(other, i, other[i]) // twice
		case 1:
			other = slices.Delete(other, i, i+1)
		case 2:
			other[i] = piece.Draw(t, "piece")
		case 3:
			other[i] = swapCase(other[i])
		case 4:
			other = append(other, piece.Draw(t, "piece"))
		case 5:
			slices.Reverse(other)
		}
		if name := fit(other, room); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

// fit joins pieces to a name that is valid and not too long.
func fit(pieces []string, room int) string {
	s := strings.ToValidUTF8(strings.Join(pieces, ""), "")
	if len(s) > room {
		s = s[:room]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}

func swapCase(s string) string {
	if upper := strings.ToUpper(s); upper != s {
		return upper
	}
	return strings.ToLower(s)
}

// distinct claims a run of each name, and says what shows that they are not
// different jobs.
func distinct(r *kit.Run, p []*kit.Client, names []string) string {
	grants := map[string]kit.Grant{}
	for i, name := range names {
		req := r.Ask(name, 0, fmt.Sprintf("of name %d", i))
		a, err := p[i%2].TryClaim(req)
		switch {
		case err != nil:
			return fmt.Sprintf("a claim of job %q is answered with an error: %v", name, err)
		case a.Verdict != store.VerdictWon:
			return fmt.Sprintf("nobody claimed job %q before, and its claim is answered %v of %q; claimed were %q", name, a.Verdict, a.Holder, names[:i])
		}
		grants[name] = kit.Grant{Claimed: a, Req: req}
	}
	for i, name := range names {
		if r.Leases() {
			runs := p[(i+1)%2].Unfinished(name).Runs
			if len(runs) != 1 || runs[0].Job != name || runs[0].Holder != grants[name].Req.Instance || runs[0].Token != grants[name].Token {
				return fmt.Sprintf("of job %q one run is unfinished, held by %q; recalled are %+v, all names: %q", name, grants[name].Req.Instance, runs, names)
			}
		}
		if r.Description().History {
			h := p[(i+1)%2].History(name)
			if len(h) != 1 || h[0].Instance != grants[name].Req.Instance {
				return fmt.Sprintf("job %q has one attempt, of %q; its history is %+v, all names: %q", name, grants[name].Req.Instance, h, names)
			}
		}
	}
	for _, name := range names {
		p[0].Record(grants[name], store.OutcomeSuccess, "")
	}
	return ""
}
