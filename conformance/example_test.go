package conformance_test

import (
	"testing"

	"github.com/anarchon-go/anarchon/conformance"
)

// In a file of the plugin's own module, beside its package main:
//
//	func TestConformance(t *testing.T) { … }
func ExampleRun() {
	_ = func(t *testing.T) {
		conformance.Run(t, conformance.Options{Plugin: "."})
	}
}
