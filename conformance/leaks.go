package conformance

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// ours are the packages whose goroutines must have ended when a run is over.
var ours = []string{"anarchon/storekit.", "anarchon/conformance/link.", "anarchon/conformance/kit.", "anarchon/conformance/subject."}

// leftGoroutines returns the stacks of goroutines of this module's that still run
// after a while.
func leftGoroutines(within time.Duration) []string {
	for end := time.Now().Add(within); ; time.Sleep(20 * time.Millisecond) {
		var left []string
		for _, stack := range stacks() {
			for _, p := range ours {
				if strings.Contains(stack, p) {
					left = append(left, stack)
					break
				}
			}
		}
		if len(left) == 0 || time.Now().After(end) {
			return left
		}
	}
}

// stacks are those of all goroutines but this one.
func stacks() []string {
	for size := 1 << 20; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return strings.Split(string(b[:n]), "\n\n")[1:]
		}
	}
}

// leak says what a run left behind in this process; "" if nothing.
func leak(within time.Duration) string {
	left := leftGoroutines(within)
	if len(left) == 0 {
		return ""
	}
	return fmt.Sprintf("%d goroutines of the suite still run after everything was closed; the first:\n%s", len(left), left[0])
}
