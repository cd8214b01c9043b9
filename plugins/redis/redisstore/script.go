package redisstore

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

// The scripts, one per verb and what they share; see script.
//
//go:embed lua/*.lua
var sources embed.FS

// script is what one atomic step runs. Its text is a line of flags and then
// parts of lua/, in order; a part may use what the parts before it define.
type script struct {
	name string // of its last part: the verb
	text string
	sha  string
}

// Flags of scripts, as Redis 7.0 knows them. Without allow-oom a script is
// refused, before it begins, by a server that is out of memory.
const (
	flagsNone     = "#!lua\n"
	flagsAllowOOM = "#!lua flags=allow-oom\n"
	flagsNoWrites = "#!lua flags=no-writes\n"
)

// newScript joins parts. clock is the text of the part "clock".
func newScript(clock, flags string, parts ...string) *script {
	var b strings.Builder
	b.WriteString(flags)
	for _, part := range parts {
		if part == "clock" {
			b.WriteString(clock)
		} else {
			b.WriteString(luaPart(part))
		}
	}
	s := &script{name: parts[len(parts)-1], text: b.String()}
	sum := sha1.Sum([]byte(s.text))
	s.sha = hex.EncodeToString(sum[:])
	return s
}

func luaPart(name string) string {
	text, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic("redisstore: there is no script part " + name) // a fault of this package, found by its first start
	}
	return string(text)
}
