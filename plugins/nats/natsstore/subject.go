package natsstore

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
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
type layout struct {
	claims, history string // streams
	root            string // of all subjects: the prefix and the namespace, ends in a dot
}

func newLayout(streamPrefix, subjectPrefix, namespace string) layout {
	name := streamPrefix + "_" + asset(namespace)
	return layout{
		claims:  name + "_claims",
		history: name + "_history",
		root:    subjectPrefix + "." + token(namespace) + ".",
	}
}

// all matches the subjects of all slots.
func (l *layout) all() string { return l.root + "*.*" }

// job matches the subjects of a job's slots.
func (l *layout) job(name string) string { return l.root + token(name) + ".*" }

// slot is the subject of one slot.
func (l *layout) slot(job string, slot int64) string {
	return l.root + token(job) + "." + strconv.FormatInt(slot, 10)
}

// probe is a subject among those of the slots that no job can have: "=pr" is no
// spelling of a byte.
func (l *layout) probe() string { return l.root + "=probe.0" }

// slotOf reads the slot from a subject.
func slotOf(subject string) (int64, bool) {
	slot, err := strconv.ParseInt(subject[strings.LastIndexByte(subject, '.')+1:], 10, 64)
	return slot, err == nil && slot != math.MinInt64
}
