package scenarios

import (
	"strings"
	"testing"
)

// backends are the plugins whose default variants are played on.
var backends = []string{"sqlite", "redis", "postgres", "nats", "rabbitmq"}

// atOncePlays is how many plays are performed at once. Each has three instances with
// a plugin each, which mostly wait.
const atOncePlays = 10

// TestScenarios plays every scenario on every backend. With -short, on SQLite only: it
// needs no server.
func TestScenarios(t *testing.T) {
	var all []Options
	for _, b := range backends {
		if b == "sqlite" || !testing.Short() {
			all = append(all, Options{Path: "../../plugins/" + b, Host: instance})
		}
	}
	stages, err := OpenAll(t.Context(), all)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := CloseAll(stages); err != nil {
			t.Error(err)
		}
	}()
	Perform(t.Context(), stages, Scenarios(), Short, atOncePlays, func(r *Result) {
		t.Run(r.Backend+"/"+r.Scenario.Name, func(t *testing.T) { judge(t, r) })
	})
}

func judge(t *testing.T, r *Result) {
	if r.NA != "" {
		t.Skip("does not apply: " + r.NA)
	}
	if r.Err != nil {
		t.Error(r.Err)
	}
	for _, j := range r.Judged {
		switch {
		case j.Err != nil:
			t.Errorf("%s: %v", j.Says, j.Err)
		case j.Figure != "":
			t.Logf("%s: %s", j.Says, j.Figure)
		}
	}
	if t.Failed() && r.Record != nil {
		var b strings.Builder
		r.Record.Timeline(&b)
		t.Logf("timeline:\n%s", b.String())
	}
}
