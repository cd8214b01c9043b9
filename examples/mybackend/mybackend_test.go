package main

import (
	"testing"

	"github.com/anarchon-go/anarchon/conformance"
)

// TestConformance builds this directory, starts it as a host does, in many
// processes, and judges it. That takes a minute or so; go test -short leaves it out.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: the conformance suite is left out")
	}
	conformance.Run(t, conformance.Options{Plugin: "."})
}
