// Command testsummary reads the output of go test -json, possibly of several
// runs and mixed with other lines, and shows what a reader of a CI log needs:
// the line of each package as it ends, all output of what failed, and at the end
// the counts, with the name and the reason of every skipped test.
//
//	go test -json ./... 2>&1 | testsummary [-o FILE]
//
// With -o the closing lines go to FILE too. The exit status is 1 if a test
// failed or nothing ran.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	out := flag.String("o", "", "also write the closing lines to this file")
	flag.Parse()
	if err := run(os.Stdin, os.Stdout, *out); err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, file string) error {
	var s summary
	if err := s.read(in, out); err != nil {
		return err
	}
	var closing strings.Builder
	s.close(&closing)
	if _, err := io.WriteString(out, closing.String()); err != nil {
		return err
	}
	if file != "" {
		if err := os.WriteFile(file, []byte(closing.String()), 0o644); err != nil {
			return err
		}
	}
	return s.err()
}
