package subject

import (
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// A command that leaves a process behind, which keeps its output open, is not waited
// for.
func TestCommandLeavesAProcess(t *testing.T) {
	for name, tc := range map[string]struct {
		script  string
		patient bool // as long as the command needs
	}{
		"and ends":     {"cat; sleep 60 &", true},
		"and is ended": {"sleep 60; echo", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if !tc.patient {
				cancel()
				ctx, cancel = context.WithTimeout(t.Context(), 100*time.Millisecond)
			}
			defer cancel()
			began := time.Now()
			lines, err := runWithOptions(exec.CommandContext(ctx, "sh", "-c", tc.script), map[string]any{"path": "x"})
			if took := time.Since(began); took > waitDelay+20*time.Second {
				t.Errorf("it returned after %v", took)
			}
			if err == nil {
				t.Errorf("no error, and %q", lines)
			}
		})
	}
	lines, err := runWithOptions(exec.CommandContext(t.Context(), "sh", "-c", "cat; echo; echo b"), map[string]any{"path": "x"})
	if want := []string{`{"path":"x"}`, "b"}; err != nil || !slices.Equal(lines, want) {
		t.Errorf("%q, %v; want %q", lines, err, want)
	}
}
