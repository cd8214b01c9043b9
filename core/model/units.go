package model

import (
	"math"
	"time"
)

// ms drops what is finer than the protocol's unit.
func ms(d time.Duration) int64 { return int64(d / time.Millisecond) }

// span is the inverse of ms. The years 1 to 9999 are further apart than a
// time.Duration reaches (292 years), so it stops at the longest one.
func span(ms int64) time.Duration {
	const longest = math.MaxInt64 / int64(time.Millisecond)
	return time.Duration(min(ms, longest)) * time.Millisecond
}
