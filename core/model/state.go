package model

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// Newest returns the highest slot ever granted, and false if none was.
func (j *Job) Newest() (slot int64, granted bool) { return j.newest, j.granted }

// Equal reports whether both remember the same: no sequence of calls could tell
// them apart. Faults are not compared.
func (j *Job) Equal(o *Job) bool {
	return j.granted == o.granted && j.newest == o.newest && j.lastToken == o.lastToken &&
		j.historySize == o.historySize && j.fingerprint == o.fingerprint &&
		slices.EqualFunc(j.unfinished, o.unfinished, (*run).equal) &&
		slices.EqualFunc(j.ended, o.ended, (*run).equal)
}

func (r *run) equal(o *run) bool {
	return r == o || r.slot == o.slot && r.max == o.max && r.counted == o.counted &&
		r.id == o.id && r.open == o.open && r.skip == o.skip && r.end == o.end && r.length == o.length &&
		r.last == o.last && slices.Equal(r.earlier, o.earlier)
}

// Key returns a string that is the same for equal jobs and differs for others.
func (j *Job) Key() string { return string(j.AppendKey(nil)) }

// Hash returns a 64-bit hash of [Job.Key].
func (j *Job) Hash() uint64 {
	h := fnv.New64a()
	h.Write(j.AppendKey(nil))
	return h.Sum64()
}

// AppendKey appends [Job.Key] to b.
func (j *Job) AppendKey(b []byte) []byte {
	b = appendBool(b, j.granted)
	b = binary.AppendVarint(b, j.newest)
	b = binary.AppendVarint(b, int64(j.lastToken))
	b = binary.AppendVarint(b, int64(j.historySize))
	b = appendText(b, j.fingerprint)
	for _, runs := range [][]*run{j.unfinished, j.ended} {
		b = binary.AppendVarint(b, int64(len(runs)))
		for _, r := range runs {
			b = r.appendKey(b)
		}
	}
	return b
}

func (r *run) appendKey(b []byte) []byte {
	b = binary.AppendVarint(b, r.slot)
	b = binary.AppendVarint(b, int64(r.max))
	b = binary.AppendVarint(b, int64(r.counted))
	b = append(b, r.id[:]...)
	b = appendBool(b, r.open)
	b = appendBool(b, r.skip)
	b = binary.AppendVarint(b, r.end)
	b = binary.AppendVarint(b, r.length)
	b = binary.AppendVarint(b, int64(len(r.earlier)))
	for i := range r.earlier {
		b = appendAttempt(b, &r.earlier[i])
	}
	return appendAttempt(b, &r.last)
}

func appendAttempt(b []byte, a *store.Attempt) []byte {
	b = binary.AppendVarint(b, a.Slot)
	b = binary.AppendVarint(b, int64(a.Attempt))
	b = binary.AppendVarint(b, int64(a.Token))
	b = appendText(b, a.Instance)
	b = append(b, byte(a.Reason), byte(a.Status))
	b = appendBool(b, a.HandedOver)
	b = binary.AppendVarint(b, a.StartedAt)
	b = binary.AppendVarint(b, a.EndedAt)
	return appendText(b, a.Error)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// String describes the job in a line, for reports: its newest slot, and its
// runs as slot: attempt, who, and until when or how.
func (j *Job) String() string {
	if !j.granted {
		return "nothing granted yet"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "newest %d, token %d", j.newest, j.lastToken)
	for _, r := range j.unfinished {
		fmt.Fprintf(&b, "; %d: attempt %d of %s", r.slot, r.last.Attempt, r.last.Instance)
		if r.open {
			fmt.Fprintf(&b, " until %d", r.end)
		} else {
			b.WriteString(" handed over")
		}
	}
	for _, r := range j.ended {
		fmt.Fprintf(&b, "; %d: attempt %d %v", r.slot, r.last.Attempt, r.last.Status)
	}
	return b.String()
}
