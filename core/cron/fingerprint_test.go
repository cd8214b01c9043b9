package cron_test

import (
	"testing"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

func TestFingerprint(t *testing.T) {
	athens, newYork := mustLoad(t, "Europe/Athens"), mustLoad(t, "America/New_York")
	base := cron.MustParse("30 2 * * *", athens).Fingerprint()
	if len(base) != 12 {
		t.Errorf("fingerprint %q has not 12 digits", base)
	}
	same := map[string]*cron.Schedule{
		"a second load of the zone": cron.MustParse("30 2 * * *", mustLoad(t, "Europe/Athens")),
		"another spelling":          cron.MustParse("0 30 2 ? * ?", athens),
		"another name of the zone":  cron.MustParse("30 2 * * *", mustLoad(t, "EET")),
	}
	for what, s := range same {
		if got := s.Fingerprint(); got != base {
			t.Errorf("%s: %s, want %s", what, got, base)
		}
	}
	others := map[string]*cron.Schedule{
		"another minute":         cron.MustParse("31 2 * * *", athens),
		"a second":               cron.MustParse("1 30 2 * * *", athens),
		"another day":            cron.MustParse("30 2 1 * *", athens),
		"another month":          cron.MustParse("30 2 * 1-11 *", athens),
		"the same as interval":   cron.MustParse("30-30/1 2 * * *", athens),
		"another zone":           cron.MustParse("30 2 * * *", newYork),
		"an offset, not a zone":  cron.MustParse("30 2 * * *", time.FixedZone("EET", 2*60*60)),
		"another offset":         cron.MustParse("30 2 * * *", time.FixedZone("EET", 3*60*60)),
		"UTC":                    cron.MustParse("30 2 * * *", time.UTC),
		"the last, not the 31st": cron.MustParse("30 2 L * *", athens),
		"the 31st":               cron.MustParse("30 2 31 * *", athens),
	}
	seen := map[string]string{base: "30 2 * * * in Athens"}
	for what, s := range others {
		got := s.Fingerprint()
		if before, ok := seen[got]; ok {
			t.Errorf("%s has the fingerprint of %s", what, before)
		}
		seen[got] = what
	}
}

// TestFingerprintIsStable: it travels between versions of a service, so it must not change by accident. Neither expression nor zone
// depends on the tz database here. Whoever changes this value changes what it is for.
func TestFingerprintIsStable(t *testing.T) {
	if got, want := cron.MustParse("30 2 * * MON-FRI", time.UTC).Fingerprint(), "bb99576d667e"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFingerprintAcrossDatabases: the two forms in which a zone's rules are compiled (every change listed, or a rule in the footer) make
// no difference where the rules are the same.
func TestFingerprintAcrossDatabases(t *testing.T) {
	byName := map[string]map[string]string{}
	for _, source := range zoneSources(t) {
		for _, z := range source.zones {
			if byName[z.name] == nil {
				byName[z.name] = map[string]string{}
			}
			byName[z.name][source.name] = cron.MustParse("30 2 * * *", z.load(t)).Fingerprint()
		}
	}
	both, differ := 0, 0
	for name, prints := range byName {
		if len(prints) < 2 {
			continue
		}
		both++
		if prints["system"] != prints["bundled"] {
			differ++
			t.Logf("%s has other rules in the two databases", name)
		}
	}
	// Versions of the database differ in a few zones; a difference of form would show in all with summer time.
	if differ*10 > both {
		t.Errorf("%d of %d zones differ", differ, both)
	}
}
