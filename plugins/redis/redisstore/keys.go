package redisstore

import (
	"fmt"
	"strings"
)

// keyspace names the keys of one namespace. All of them have the same hash tag:
// in a Cluster a namespace lies in one slot, so that a step may touch any of its
// keys. That is what lets one step check a claim id against all jobs, and keep
// the list of unfinished runs exact.
//
//	anarchon:{default}:meta              hash: format, strategy, memory
//	anarchon:{default}:open              lease: hash, claim id of each unfinished run -> job
//	anarchon:{default}:job:reports       hash: state of a job
//	anarchon:{default}:history:reports   lease: sorted set of ended runs
//	anarchon:{default}:runs:reports      claim-only: hash of runs
//	anarchon:{default}:order:reports     claim-only: list or stream of slots
type keyspace string

// KeyPrefix is how the keys of a namespace begin.
func KeyPrefix(namespace string) string { return string(newKeyspace(namespace)) }

func newKeyspace(namespace string) keyspace {
	return keyspace("anarchon:{" + escape(namespace, plainInKey) + "}:")
}

func (k keyspace) meta() string { return string(k) + "meta" }
func (k keyspace) open() string { return string(k) + "open" }

// leaseKeys are the keys of a job, by its escaped name, in the order of
// lua/lease.lua.
func (k keyspace) leaseKeys(job string) [3]string {
	return [3]string{string(k) + "job:" + job, string(k) + "history:" + job, k.open()}
}

// takenKeys are those of lua/taken.lua.
func (k keyspace) takenKeys(job string) [3]string {
	return [3]string{string(k) + "job:" + job, string(k) + "runs:" + job, string(k) + "order:" + job}
}

// plainInKey are the bytes of a name that stand for themselves in a key: no
// colon or brace, so that keys are unambiguous and the hash tag whole, and
// nothing that a key pattern would take for more than itself. It is for bytes
// below 0x80; UTF-8 stays readable.
func plainInKey(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-_./@+=,~", c) >= 0
}

// plainInWord are the bytes that stand for themselves in a word of a record.
func plainInWord(c byte) bool { return c > ' ' && c != '%' && c != 0x7f }

// escape writes every byte that is not plain as % and two hexadecimal digits, so
// that different texts stay different.
func escape(s string, plain func(byte) bool) string {
	n := 0
	for i := range len(s) {
		if c := s[i]; c < 0x80 && !plain(c) {
			n++
		}
	}
	if n == 0 {
		return s
	}
	const hex = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if c := s[i]; c < 0x80 && !plain(c) {
			b = append(b, '%', hex[c>>4], hex[c&15])
		} else {
			b = append(b, c)
		}
	}
	return string(b)
}

// unescape is the inverse of escape, whatever was plain.
func unescape(s string) (string, error) {
	if strings.IndexByte(s, '%') < 0 {
		return s, nil
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b = append(b, s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", fmt.Errorf("%.60q ends inside an escape", s)
		}
		high, ok1 := unhex(s[i+1])
		low, ok2 := unhex(s[i+2])
		if !ok1 || !ok2 {
			return "", fmt.Errorf("%.60q has %q, which is no escape", s, s[i:i+3])
		}
		b = append(b, high<<4|low)
		i += 2
	}
	return string(b), nil
}

func unhex(c byte) (byte, bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
