package natsstore

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// spell writes name with the bytes of plain as they are and every other byte as
// "=" and two hexadecimal digits. Different names have different spellings.
func spell(name string, plain func(c byte) bool) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(name) + 8)
	for i := range len(name) {
		if c := name[i]; plain(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('=')
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		}
	}
	return b.String()
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// token spells a name as one token of a subject. A dot, a wildcard or a space
// would make it another subject, or none.
func token(name string) string {
	return spell(name, func(c byte) bool {
		return isLower(c) || isUpper(c) || isDigit(c) || c == '-' || c == '_' || c == '/'
	})
}

// maxAsset is the longest spelling of a namespace in a stream's name, which may
// have 255 bytes.
const maxAsset = 128

// asset spells a namespace as part of a stream's name. The server makes a
// directory of it, on a file system that may not tell "A" from "a"; "_" is what
// separates it from its neighbours.
func asset(namespace string) string {
	s := spell(namespace, func(c byte) bool { return isLower(c) || isDigit(c) || c == '-' })
	if len(s) <= maxAsset {
		return s
	}
	sum := sha256.Sum256([]byte(namespace))
	return "=sha256-" + hex.EncodeToString(sum[:]) // "=sh" is no spelling of a byte
}

// layout is where a namespace has its things.
//
// The subject of a slot is root, era, job and slot. An era is the life of a claims
// stream, named by the time of its making. The stream takes the subjects of its
// own era only, so that who has not noticed that the streams were removed and made
// anew gets no answer, instead of a token that was given before.
type layout struct {
	claims, history string // streams
	root            string // the prefix and the namespace, ends in a dot
}

// era is the time at which a claims stream was made, Unix microseconds: tokens
// count from it, and those of the next era are greater as long as fewer than a
// million are granted in a second.
type era int64

func (e era) String() string { return strconv.FormatInt(int64(e), 10) }

// token is that of the claim whose message has this sequence.
func (e era) token(seq uint64) store.Token { return store.Token(int64(e) + int64(seq)) }

func parseEra(text string) (era, bool) {
	e, err := strconv.ParseInt(text, 10, 64)
	return era(e), err == nil && e > 0 && e < 1<<53 && era(e).String() == text
}

// StreamNames are those of a namespace's streams, of its claims and of its history.
func StreamNames(streamPrefix, namespace string) (claims, history string) {
	l := newLayout(streamPrefix, "", namespace)
	return l.claims, l.history
}

func newLayout(streamPrefix, subjectPrefix, namespace string) layout {
	name := streamPrefix + "_" + asset(namespace)
	return layout{
		claims:  name + "_claims",
		history: name + "_history",
		root:    subjectPrefix + "." + token(namespace) + ".",
	}
}

// all matches the subjects of an era.
func (l *layout) all(e era) string { return l.root + e.String() + ".*.*" }

// ofAll reads the era from what all returned.
func (l *layout) ofAll(subject string) (era, bool) {
	text, ok1 := strings.CutPrefix(subject, l.root)
	text, ok2 := strings.CutSuffix(text, ".*.*")
	e, ok3 := parseEra(text)
	return e, ok1 && ok2 && ok3
}

// everything matches the subjects of all eras.
func (l *layout) everything() string { return l.root + "*.*.*" }

// job matches the subjects of a job's slots in all eras.
func (l *layout) job(name string) string { return l.root + "*." + token(name) + ".*" }

// slot is the subject of one slot.
func (l *layout) slot(e era, job string, slot int64) string {
	return l.root + e.String() + "." + token(job) + "." + strconv.FormatInt(slot, 10)
}

// probe is a subject among those of the slots that no job can have: "=pr" is no
// spelling of a byte.
func (l *layout) probe(e era) string { return l.root + e.String() + ".=probe.0" }

// parseSubject reads era and slot from the subject of a slot.
func parseSubject(subject string) (e era, slot int64, ok bool) {
	parts := strings.Split(subject, ".")
	if len(parts) < 3 {
		return 0, 0, false
	}
	parts = parts[len(parts)-3:]
	e, ok = parseEra(parts[0])
	slot, err := strconv.ParseInt(parts[2], 10, 64)
	return e, slot, ok && err == nil
}
