package core

import "time"

// instant is one reading of both clocks, in nanoseconds. The wall clock decides
// when a slot is due; for everything that must not be believed too long, such
// as a lease, time counts on whichever clock ran further: the monotonic one
// stops while a machine is suspended, the wall clock is stepped.
type instant struct {
	wall int64 // since the Unix epoch
	mono int64 // since some start
}

// ms returns the wall clock in Unix milliseconds, as slots are counted.
func (t instant) ms() int64 { return floorDiv(t.wall, int64(time.Millisecond)) }

// time returns the wall clock.
func (t instant) time() time.Time { return time.Unix(0, t.wall) }

// since returns how long ago u was, on the clock that ran further; never
// negative.
func (t instant) since(u instant) time.Duration {
	return time.Duration(max(t.mono-u.mono, t.wall-u.wall, 0))
}

// wallMs is a slot as a reading of the wall clock.
func wallMs(ms int64) int64 { return ms * int64(time.Millisecond) }
