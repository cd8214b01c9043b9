package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/anarchon-go/anarchon/conformance/kit"
	"github.com/anarchon-go/anarchon/storekit"
)

const module = "github.com/anarchon-go/anarchon"

// suiteOf identifies the suite: two runs with the same hash made the same checks.
func suiteOf(results []kit.Result) Kit {
	var lines []string
	for _, r := range results {
		lines = append(lines, fmt.Sprintf("%s %v %s", r.Check.ID, r.Check.Promises, r.Check.Says))
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
	return Kit{Version: Version(), Protocol: storekit.ProtocolVersion, Suite: "sha256:" + hex.EncodeToString(sum[:8])}
}

// Version is the version of this module in the running program, or "devel" where
// the go command stamped none.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if info.Main.Path == module && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	for _, d := range info.Deps {
		if d.Path == module && d.Version != "" {
			return d.Version
		}
	}
	return "devel"
}
