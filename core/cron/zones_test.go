package cron_test

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // so that the named zones of the tests exist on every machine
)

// A zoneSource is one copy of the tz database. Two are tested because they are compiled differently: Go's own leaves years after
// 2007 or so to the rule in the file's footer, those of most systems list every change up to 2037.
type zoneSource struct {
	name  string
	zones []namedZone
}

type namedZone struct {
	name string
	data []byte
}

func (z namedZone) load(t testing.TB) *time.Location {
	loc, err := time.LoadLocationFromTZData(z.name, z.data)
	if err != nil {
		t.Fatalf("%s: %v", z.name, err)
	}
	return loc
}

// zoneSources gives the copies that this machine has, without zones that are other names of an earlier one.
func zoneSources(t testing.TB) []zoneSource {
	var sources []zoneSource
	if s := systemZones(t); len(s.zones) > 0 {
		sources = append(sources, s)
	}
	if s := bundledZones(t); len(s.zones) > 0 {
		sources = append(sources, s)
	}
	if len(sources) == 0 {
		t.Skip("this machine has no tz database")
	}
	return sources
}

func (s *zoneSource) add(seen map[string]bool, name string, data []byte) {
	if bytes.HasPrefix(data, []byte("TZif")) && !seen[string(data)] {
		seen[string(data)] = true
		s.zones = append(s.zones, namedZone{name, data})
	}
}

func systemZones(t testing.TB) zoneSource {
	const root = "/usr/share/zoneinfo"
	s, seen := zoneSource{name: "system"}, map[string]bool{}
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // no such directory: no such source
		}
		if d.IsDir() {
			if d.Name() == "right" || d.Name() == "posix" { // with leap seconds, which Go does not know; the same again
				return fs.SkipDir
			}
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Logf("%s: %v", path, err)
			return nil
		}
		s.add(seen, strings.TrimPrefix(path, root+"/"), data)
		return nil
	})
	return s
}

func bundledZones(t testing.TB) zoneSource {
	s, seen := zoneSource{name: "bundled"}, map[string]bool{}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return s
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		return s
	}
	defer archive.Close()
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		s.add(seen, f.Name, data)
	}
	return s
}

// transitions gives the instants from 1975 to 2040 at which the zone's offset changes, found by bisection from day to day.
func transitions(loc *time.Location) []time.Time {
	offset := func(unix int64) int {
		_, o := time.Unix(unix, 0).In(loc).Zone()
		return o
	}
	const day = 24 * 60 * 60
	from := time.Date(1975, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	to := time.Date(2041, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	var out []time.Time
	for t, o := from, offset(from); t < to; t += day {
		next := offset(t + day)
		if next != o {
			lo, hi := t, t+day
			for hi-lo > 1 {
				if mid := (lo + hi) / 2; offset(mid) == o {
					lo = mid
				} else {
					hi = mid
				}
			}
			out = append(out, time.Unix(hi, 0))
		}
		o = next
	}
	return out
}

func mustLoad(t testing.TB, name string) *time.Location {
	t.Helper()
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func loadAll(t testing.TB, names []string) []*time.Location {
	t.Helper()
	locs := make([]*time.Location, len(names))
	for i, name := range names {
		locs[i] = mustLoad(t, name)
	}
	return locs
}
