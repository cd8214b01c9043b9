package subject

import "testing"

func TestAgain(t *testing.T) {
	for want, o := range map[string]Options{
		"anarchon conform . -run '^claim/running$' -seed 5":                                        {Path: "."},
		"anarchon conform ./b -run '^claim/running$' -seed 5 -variant v -config a=… -config url=…": {Path: "./b", Variant: "v", Config: map[string]string{"url": "redis://:secret@host", "a": "1"}},
	} {
		if got := o.Again("claim/running", 5); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
