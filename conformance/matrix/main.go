// Command matrix writes docs/conformance-matrix.md: promise, the checks that are
// evidence for it, and the mutants that show that they are.
//
// make generate runs it.
package main

import (
	"fmt"
	"os"
)

//go:generate go run . ../../docs/conformance-matrix.md

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: matrix FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], []byte(page()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}
