package cron

import (
	"hash/maphash"
	"runtime"
	"slices"
	"sort"
	"sync"
	"time"
	"weak"
)

// A segment is a stretch of real time in which a zone's offset stays the same.
type segment struct {
	start, end int64 // Unix seconds, [start, end)
	offset     int64 // seconds east of UTC

	// from is the first civil second that fixed jobs take from this segment: the one after the last that any earlier segment
	// showed. After a gap it is the first skipped civil second, after an overlap the first that comes only once. So the windows
	// [from, end+offset) of all segments tile the civil line: each civil second belongs to one, whatever the clock did.
	from int64
}

// instant maps a civil second of this segment's window to real time: a skipped one to the first instant after the gap.
func (g segment) instant(civil int64) int64 { return max(civil-g.offset, g.start) }

// A zone is the table of a location's segments, with neighbours of equal offset merged. It is made once per location and shared:
// asking the location each time is several times slower where its rules come from the footer of the zone file.
type zone struct {
	segments []segment
	horizon  int64 // from here on the table repeats every 400 years
}

// The table reaches from the beginning of time to repeatUntil. Explicit transitions of the tz database end before repeatFrom
// (the last are Morocco's, in 2087); from there on zones follow a yearly rule, and the Gregorian calendar, weekdays included,
// repeats every 400 years.
var (
	repeatFrom  = time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	repeatUntil = repeatFrom + cycleSeconds
)

// forever stands for an end that never comes; small enough that adding offsets and spans can't overflow.
const forever = int64(1) << 50

// zones holds the tables of the locations that are still in use.
var zones sync.Map // weak.Pointer[time.Location] -> *zone

func zoneOf(loc *time.Location) *zone {
	key := weak.Make(loc)
	if z, ok := zones.Load(key); ok {
		return z.(*zone)
	}
	z, loaded := zones.LoadOrStore(key, shared(newZone(loc)))
	if !loaded {
		runtime.AddCleanup(loc, func(k weak.Pointer[time.Location]) { zones.Delete(k) }, key)
	}
	return z.(*zone)
}

// tables finds a table by its hash, so that equal locations share one: each call of time.LoadLocation gives another, and a table
// takes up to some 40 KB.
var (
	tables    sync.Map // uint64 -> weak.Pointer[zone]
	tableSeed = maphash.MakeSeed()
)

// shared gives the table that is equal to z and in use, or z.
func shared(z *zone) *zone {
	var h maphash.Hash
	h.SetSeed(tableSeed)
	for _, g := range z.segments {
		maphash.WriteComparable(&h, g)
	}
	key := h.Sum64()
	if p, ok := tables.Load(key); ok {
		if o := p.(weak.Pointer[zone]).Value(); o != nil && o.horizon == z.horizon && slices.Equal(o.segments, z.segments) {
			return o
		}
	}
	p := weak.Make(z)
	tables.Store(key, p)
	runtime.AddCleanup(z, func(p weak.Pointer[zone]) { tables.CompareAndDelete(key, p) }, p)
	return z
}

func newZone(loc *time.Location) *zone {
	z := &zone{horizon: forever}
	for at := -forever; at < repeatUntil; {
		offset, end := probe(loc, at)
		g := segment{start: at, end: end, offset: offset, from: -forever}
		at = end
		if n := len(z.segments); n > 0 {
			prev := &z.segments[n-1]
			if prev.offset == offset {
				prev.end = end
				continue
			}
			g.from = max(prev.from, prev.end+prev.offset)
		}
		z.segments = append(z.segments, g)
	}
	z.segments = append([]segment(nil), z.segments...) // drop the spare capacity: the table stays for long
	if z.segments[len(z.segments)-1].end != forever {
		z.horizon = repeatUntil
	}
	return z
}

// probe gives the offset at an instant and an instant after it up to which the offset surely holds.
func probe(loc *time.Location, at int64) (offset, end int64) {
	t := time.Unix(max(at, minUnix), 0).In(loc)
	_, o := t.Zone()
	_, e := t.ZoneBounds()
	if e.IsZero() {
		return int64(o), forever
	}
	end = e.Unix()
	if end <= at {
		// ZoneBounds takes each year to have 365 days where a zone follows its yearly rule, so on 31 December of a leap year its
		// end is not after t (golang/go#81583). The true end of that year is a day later.
		end += secondsPerDay
	}
	return int64(o), max(end, at+1) // a boundary that does not move must never stop the walk
}

// at gives the segment that holds an instant.
func (z *zone) at(unix int64) segment {
	if unix >= z.horizon {
		shift := (unix - repeatFrom) / cycleSeconds * cycleSeconds
		g := z.at(unix - shift)
		g.start, g.end, g.from = g.start+shift, g.end+shift, g.from+shift
		return g
	}
	lo, hi := 0, len(z.segments) // invariant: segments[lo].start <= unix < segments[hi].start
	for hi-lo > 1 {
		mid := int(uint(lo+hi) / 2)
		if z.segments[mid].start <= unix {
			lo = mid
		} else {
			hi = mid
		}
	}
	return z.segments[lo]
}

// instant maps a civil second to the real time at which a fixed job runs. The segment near is where to look first.
func (z *zone) instant(civil int64, near segment) int64 {
	g := near
	if civil < g.from || civil >= g.end+g.offset {
		g = z.at(civil - g.offset)
	}
	for civil < g.from {
		g = z.at(g.start - 1)
	}
	for civil >= g.end+g.offset {
		g = z.at(g.end)
	}
	return g.instant(civil)
}

// changes gives the segments that start in [from, until), after the one that holds from.
func (z *zone) changes(from, until int64) []segment {
	lo := sort.Search(len(z.segments), func(i int) bool { return z.segments[i].end > from })
	hi := sort.Search(len(z.segments), func(i int) bool { return z.segments[i].start >= until })
	return z.segments[lo:hi]
}
