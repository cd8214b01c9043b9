package cron

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"time"
)

// The years whose clock changes go into a fingerprint. They are fixed, not counted from now, so that instances that ask at
// different times agree; and they start late, so that a correction of the far past in a newer tz database changes nothing.
var (
	printFrom  = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	printUntil = time.Date(2050, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
)

// Fingerprint gives 12 hexadecimal digits that tell schedules apart by what they do: which times match, whether the job is fixed
// or follows real time, and the offsets of the zone with every change in the years 2025 to 2049. Instances whose fingerprints
// for the same job differ have another expression or another version of the tz database, and compute different slots.
// Two spellings of the same times, or two names of the same rules, have the same fingerprint. It is short: use it for warnings,
// not for decisions.
//
// It is computed at the first call; later calls are free.
func (s *Schedule) Fingerprint() string {
	s.print.Do(func() {
		if s.zone == nil {
			return
		}
		h := sha256.New()
		put := func(v ...uint64) {
			for _, x := range v {
				h.Write(binary.BigEndian.AppendUint64(nil, x))
			}
		}
		h.Write([]byte("cron fingerprint 1"))
		fixed := uint64(0)
		if s.fixed {
			fixed = 1
		}
		put(fixed, s.seconds, s.minutes, uint64(s.hours), uint64(s.months))
		for _, row := range s.days {
			for _, days := range row {
				put(uint64(days))
			}
		}
		for _, g := range s.zone.changes(printFrom, printUntil) {
			put(uint64(max(g.start, printFrom)), uint64(g.offset))
		}
		s.printed = hex.EncodeToString(h.Sum(nil)[:6])
	})
	return s.printed
}
