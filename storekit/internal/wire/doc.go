// Package wire carries the protocol's types between Go and protobuf. Both sides
// of storekit use it: the host encodes requests and decodes answers, the plugin
// decodes requests and encodes answers.
//
// Encoding never fails: text that is not UTF-8, which protobuf refuses, is
// repaired, so that one bad string of one item can't fail a whole batch.
// Decoding trusts nothing: whatever bytes a peer sends, the result is a valid
// value or an error that names the field. Durations are cut to whole
// milliseconds.
package wire

import (
	"math"
	"strings"
	"time"
)

// text makes s fit for protobuf.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

func texts(ss []string) []string {
	out := make([]string, len(ss))
	for i, s := range ss {
		out[i] = text(s)
	}
	return out
}

const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// duration makes a duration of milliseconds; what does not fit becomes the
// nearest that does, for the bounds of the field to judge.
func duration(ms int64) time.Duration {
	return time.Duration(min(max(ms, -maxMillis), maxMillis)) * time.Millisecond
}

// small makes an int32 of a count; what does not fit becomes the nearest that
// does.
func small(n int) int32 { return int32(min(max(n, math.MinInt32), math.MaxInt32)) }
