package storekit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// checkPins reads what a plugin must be; the error names the setting, the value
// and the rule.
func (p Plugin) checkPins() error {
	var faults []error
	if b, err := hex.DecodeString(p.SHA256); p.SHA256 != "" && (err != nil || len(b) != sha256.Size) {
		faults = append(faults, fmt.Errorf("SHA256 is %q; it must be 64 hexadecimal digits, as sha256sum prints them", clip(p.SHA256)))
	}
	if p.MinVersion != "" {
		if _, err := parseVersion(p.MinVersion); err != nil {
			faults = append(faults, fmt.Errorf("MinVersion: %w", err))
		}
	}
	return errors.Join(faults...)
}

// checkSum holds a file against the sum that it must have.
func checkSum(path, want string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("the checksum can't be read: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return fmt.Errorf("the checksum can't be read: %w", err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); !strings.EqualFold(got, want) {
		return fmt.Errorf("its file has the SHA-256 sum %s, and %s is pinned: it is another build, or somebody changed it; it was not started", got, strings.ToLower(want))
	}
	return nil
}

// checkVersion holds a plugin's version against the least that it may have.
func checkVersion(has, least string) error {
	want, err := parseVersion(least)
	if err != nil {
		return err
	}
	got, err := parseVersion(has)
	if err != nil {
		return fmt.Errorf("its version can't be compared with the least that is asked for, %s: %w", least, err)
	}
	if got.compare(want) < 0 {
		return fmt.Errorf("its version is %s, and %s is the least that is asked for: install a newer one", clip(has), least)
	}
	return nil
}

// version is a semantic version (semver.org 2.0.0) without its build part, which
// does not count.
type version struct {
	numbers    [3]uint64
	prerelease []string
}

func parseVersion(s string) (version, error) {
	var v version
	fault := fmt.Errorf("%q is no semantic version; write it as 1.2.3 or 1.2.3-rc.1", clip(s))
	text, _, _ := strings.Cut(strings.TrimPrefix(s, "v"), "+")
	text, pre, hasPre := strings.Cut(text, "-")
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return v, fault
	}
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 64)
		if err != nil || len(p) > 1 && p[0] == '0' {
			return v, fault
		}
		v.numbers[i] = n
	}
	if hasPre {
		v.prerelease = strings.Split(pre, ".")
		for _, p := range v.prerelease {
			if p == "" {
				return v, fault
			}
		}
	}
	return v, nil
}

// compare is negative if v comes before o.
func (v version) compare(o version) int {
	for i, n := range v.numbers {
		if n != o.numbers[i] {
			return sign(n < o.numbers[i])
		}
	}
	switch {
	case len(v.prerelease) == 0 || len(o.prerelease) == 0:
		return len(o.prerelease) - len(v.prerelease) // one without comes after all that have one
	}
	for i, a := range v.prerelease {
		if i == len(o.prerelease) {
			return 1
		}
		if b := o.prerelease[i]; a != b {
			return comparePart(a, b)
		}
	}
	return len(v.prerelease) - len(o.prerelease)
}

// comparePart compares parts of a prerelease that differ: numbers by value and
// before words, words by their bytes.
func comparePart(a, b string) int {
	m, errA := strconv.ParseUint(a, 10, 64)
	n, errB := strconv.ParseUint(b, 10, 64)
	switch {
	case errA == nil && errB == nil && m != n:
		return sign(m < n)
	case errA == nil && errB != nil:
		return -1
	case errA != nil && errB == nil:
		return 1
	}
	return strings.Compare(a, b)
}

func sign(less bool) int {
	if less {
		return -1
	}
	return 1
}
