package subject

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// buildCommand returns a command of a settings file as it can be run: its first
// word, if it is a directory, is a Go program, which is built.
func buildCommand(ctx context.Context, dir, into string, words []string) ([]string, error) {
	words = slices.Clone(words)
	source := words[0]
	if !filepath.IsAbs(source) {
		source = filepath.Join(dir, source)
	}
	st, err := os.Stat(source)
	if err != nil || !st.IsDir() {
		return words, nil // a program in PATH, or it says itself what is wrong
	}
	binary, err := Build(ctx, source, into)
	if err != nil {
		return nil, err
	}
	words[0] = binary
	return words, nil
}

// waitDelay is how long a command's output is still read when it has ended: a process
// that it left behind may hold it open for ever.
const waitDelay = 5 * time.Second

// runWithOptions runs a command with a plugin's options as JSON on its standard
// input, where passwords are nobody else's to see, and returns the lines of its
// output.
func runWithOptions(cmd *exec.Cmd, options map[string]any) ([]string, error) {
	input, err := json.Marshal(options)
	if err != nil {
		return nil, err
	}
	var out, words bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &words
	cmd.WaitDelay = waitDelay
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%q: %w: %s", cmd.Args, err, strings.TrimSpace(words.String()))
	}
	text := strings.TrimRight(out.String(), "\n")
	if text == "" {
		return nil, nil
	}
	return strings.Split(text, "\n"), nil
}
