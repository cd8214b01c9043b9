package conformance

import "testing"

func TestAgainNamesTheCommand(t *testing.T) {
	kitTest(t)
	want := "go test -run 'TestMine/claim/running$', with Options.Seed 5\n     or:  anarchon conform . -run '^claim/running$' -seed 5 -variant v"
	if got := (Options{Plugin: ".", Variant: "v"}).again("TestMine", "claim/running", 5); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
