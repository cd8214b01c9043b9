package redisstore

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestEscape(t *testing.T) {
	for _, c := range []struct{ name, key, word string }{
		{"invoices/nightly", "invoices/nightly", "invoices/nightly"},
		{"a:b", "a%3Ab", "a:b"},
		{"{a}", "%7Ba%7D", "{a}"},
		{"100%", "100%25", "100%25"},
		{"a b\n\x00\x7f", "a%20b%0A%00%7F", "a%20b%0A%00%7F"},
		{"*?[a]^\\", "%2A%3F%5Ba%5D%5E%5C", "*?[a]^\\"},
		{"é😀", "é😀", "é😀"},
		{"\u2028", "\u2028", "\u2028"},
	} {
		if got := escape(c.name, plainInKey); got != c.key {
			t.Errorf("%q in a key is %q; want %q", c.name, got, c.key)
		}
		if got := escape(c.name, plainInWord); got != c.word {
			t.Errorf("%q in a word is %q; want %q", c.name, got, c.word)
		}
	}
	for _, bad := range []string{"%", "%4", "%4g", "a%zz", "%-1", "% 1"} {
		if got, err := unescape(bad); err == nil {
			t.Errorf("unescape %q = %q; want an error", bad, got)
		}
	}
}

// Two names must never share a key, and a namespace never a slot of a Cluster
// with half of its keys elsewhere.
func TestKeysAreUnambiguous(t *testing.T) {
	seen := map[string]string{}
	for _, ns := range []string{"a", "a:", "a:b", "{", "}", "a}", "a}:{b", "%3A", "\x00"} {
		k := newKeyspace(ns)
		keys := []string{k.meta(), k.open()}
		for _, job := range []string{"b", "b:c", ":b", "meta", "}", "{b}"} {
			lease, taken := k.leaseKeys(escape(job, plainInKey)), k.takenKeys(escape(job, plainInKey))
			keys = append(keys, lease[0], lease[1], taken[1], taken[2])
			if lease[2] != k.open() || taken[0] != lease[0] {
				t.Errorf("keys of %q: %q, %q", job, lease, taken)
			}
		}
		for _, key := range keys {
			if other, twice := seen[key]; twice {
				t.Errorf("key %q is of namespaces %q and %q", key, other, ns)
			}
			seen[key] = ns
			if got, want := hashTag(key), hashTag(k.meta()); got != want || got == "" {
				t.Errorf("key %q of namespace %q has hash tag %q; want %q", key, ns, got, want)
			}
		}
	}
}

// hashTag is the part of a key that a Cluster hashes: from the first brace to
// the first one that closes it, if there is something between.
func hashTag(key string) string {
	_, rest, ok := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !ok || !closed {
		return ""
	}
	return tag
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "a", "%", "{x}:y", "\x00\xff", "é😀", strings.Repeat("%", store.MaxNameBytes)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, plain := range []func(byte) bool{plainInKey, plainInWord} {
			e := escape(s, plain)
			if back, err := unescape(e); err != nil || back != s {
				t.Fatalf("%q is escaped as %q and comes back as %q, %v", s, e, back, err)
			}
			if strings.ContainsAny(e, " \n\r\x00") || utf8.ValidString(s) != utf8.ValidString(e) {
				t.Fatalf("%q is escaped as %q, which is no word", s, e)
			}
		}
		if strings.ContainsAny(escape(s, plainInKey), ":{}") {
			t.Fatalf("%q has a byte in a key that means something there", s)
		}
	})
}

func FuzzUnescape(f *testing.F) {
	f.Add("%41%")
	f.Fuzz(func(t *testing.T, s string) { _, _ = unescape(s) }) // must not panic
}
