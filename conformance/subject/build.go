package subject

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles the main package in dir and returns the binary's path, inside
// into. The error holds what the compiler said.
func Build(ctx context.Context, dir, into string) (string, error) {
	binary := filepath.Join(into, "anarchon-plugin-"+filepath.Base(dir))
	cmd := exec.CommandContext(ctx, goCommand(), "build", "-o", binary, ".")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("go build in %s was cut off: %w\n%s", dir, context.Cause(ctx), out.String())
	case err != nil:
		return "", fmt.Errorf("go build in %s: %w\n%s", dir, err, strings.TrimRight(out.String(), "\n"))
	}
	st, err := os.Stat(binary)
	if err != nil || st.Mode()&0o111 == 0 {
		return "", fmt.Errorf("go build in %s made no program; the directory must hold a package main", dir)
	}
	return binary, nil
}

// goCommand is the go command of this test's toolchain, or the one in PATH.
func goCommand() string {
	if path, err := exec.LookPath("go"); err == nil || errors.Is(err, exec.ErrDot) {
		return path
	}
	return "go" // its error says that there is none in PATH
}
