package main

import (
	"os"
	"testing"
)

func TestDocumentIsCurrent(t *testing.T) {
	const path = "../../docs/conformance-matrix.md"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != page() {
		t.Errorf("%s is not what the checks and mutants say; run make generate", path)
	}
}
