//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestChooseScenarios(t *testing.T) {
	all, err := chooseScenarios("")
	if err != nil || len(all) < 18 {
		t.Fatalf("%d scenarios, %v", len(all), err)
	}
	for i, s := range all {
		if s.ID != i+1 || s.Name == "" || s.Title == "" || s.Lease == nil && s.ClaimOnly == nil {
			t.Errorf("scenario %d is %+v", i+1, s)
		}
	}
	some, err := chooseScenarios("3, 1")
	if err != nil || len(some) != 2 || some[0].ID != 3 || some[1].ID != 1 {
		t.Errorf("got %v, %v", some, err)
	}
	for _, bad := range []string{"0", "x", "1,,2", "99"} {
		if _, err := chooseScenarios(bad); err == nil || !strings.Contains(err.Error(), "numbered 1 to") {
			t.Errorf("%q: error %v", bad, err)
		}
	}
}

func TestScenarioStages(t *testing.T) {
	f := scenarioFlags{all: true}
	options, err := f.stages()
	if err != nil || len(options) < 5 {
		t.Fatalf("-all: %d plugins, %v", len(options), err)
	}
	f = scenarioFlags{plugins: []string{"redis", "./mine"}, variants: []string{"a", "b"}, config: []string{"url=x"}}
	if options, err = f.stages(); err != nil || len(options) != 4 {
		t.Fatalf("%d stages, %v", len(options), err)
	}
	first, last := options[0], options[3]
	if filepath.Base(first.Path) != "redis" || first.Variant != "a" || first.Config["url"] != "x" || last.Path != "./mine" || last.Variant != "b" {
		t.Errorf("got %+v and %+v", first, last)
	}
	f = scenarioFlags{all: true, plugins: []string{"redis"}}
	if _, err := f.stages(); err == nil {
		t.Error("-all and -plugin together are accepted")
	}
}
