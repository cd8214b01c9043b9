package rabbitmqstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// queuePrefix begins the names of the logs; permissions and policies are given
// for it.
const queuePrefix = "anarchon."

// maxEscaped keeps the name below the 255 bytes that AMQP allows.
const maxEscaped = 200

// LogName is the name of the queue that holds a namespace's log.
func LogName(namespace string) string { return logName(namespace) }

// logName is the name of a namespace's log. Bytes that look odd in tools and
// in regular expressions are written as =XX; what becomes too long by that is
// hashed. The two forms can't be mistaken for each other.
func logName(namespace string) string {
	var b strings.Builder
	for i := range len(namespace) {
		switch c := namespace[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "=%02X", c)
		}
	}
	if b.Len() <= maxEscaped {
		return queuePrefix + "log." + b.String()
	}
	sum := sha256.Sum256([]byte(namespace))
	return queuePrefix + "hashed-log." + hex.EncodeToString(sum[:])
}
