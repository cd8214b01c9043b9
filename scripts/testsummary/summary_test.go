package main

import (
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	tests := []struct {
		name, in     string
		out, closing []string // what must be there
		not          []string // what must not
		err          string
	}{
		{
			name: "all pass",
			in: `building bin/x
{"Action":"start","Package":"a"}
{"Action":"run","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestA","Output":"chatter\n"}
{"Action":"pass","Package":"a","Test":"TestA","Elapsed":0.1}
{"Action":"skip","Package":"none"}
{"Action":"output","Package":"a","Output":"PASS\n"}
{"Action":"output","Package":"a","Output":"ok  \ta\t0.1s\n"}
{"Action":"pass","Package":"a","Elapsed":0.1}
`,
			out:     []string{"building bin/x\n", "ok  \ta\t0.1s\n"},
			closing: []string{"PASS: 1 passed, 0 failed, 0 skipped (tests and subtests), in 1 packages\n"},
			not:     []string{"chatter", "none"},
		},
		{
			name: "one fails, one is skipped",
			in: `{"Action":"output","Package":"a","Test":"TestA","Output":"    a_test.go:1: broken\n"}
{"Action":"fail","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Test":"TestB","Output":"=== RUN   TestB\n"}
{"Action":"output","Package":"a","Test":"TestB","Output":"    a_test.go:2: needs root\n"}
{"Action":"output","Package":"a","Test":"TestB","Output":"--- SKIP: TestB (0.00s)\n"}
{"Action":"skip","Package":"a","Test":"TestB"}
{"Action":"pass","Package":"a","Test":"TestC"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
`,
			out:     []string{"a_test.go:1: broken"},
			closing: []string{"skipped: a TestB: a_test.go:2: needs root\n", "FAILED: a TestA\n", "FAIL: 1 passed, 1 failed, 1 skipped"},
			not:     []string{"=== RUN"},
			err:     "1 tests or packages failed",
		},
		{
			name: "a package does not build",
			in: `{"ImportPath":"a [a.test]","Action":"build-output","Output":"a.go:1: no\n"}
{"ImportPath":"a [a.test]","Action":"build-fail"}
{"Action":"pass","Package":"b","Test":"TestB"}
{"Action":"output","Package":"a","Output":"FAIL\ta [build failed]\n"}
{"Action":"fail","Package":"a"}
`,
			out:     []string{"a.go:1: no\n"},
			closing: []string{"FAILED: a\n", "FAIL: 1 passed, 1 failed"},
			err:     "1 tests or packages failed",
		},
		{
			name: "a test that never ended says what it said last",
			in: `{"Action":"output","Package":"ab","Test":"TestA","Output":"another package's\n"}
{"Action":"output","Package":"a","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"a","Test":"TestA","Output":"ThreadSanitizer: CHECK failed\n"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
{"Action":"pass","Package":"ab","Test":"TestA"}
{"Action":"pass","Package":"ab"}
`,
			out:     []string{"ThreadSanitizer: CHECK failed\n"},
			closing: []string{"FAILED: a TestA (did not end)\n", "FAIL: 1 passed, 1 failed"},
			not:     []string{"another package's"},
			err:     "1 tests or packages failed",
		},
		{
			name: "a package that judges several subjects says which, and why at the end",
			in: `{"Action":"attr","Package":"a","Test":"TestA","Key":"subject","Value":"redis/valkey"}
{"Action":"output","Package":"a","Test":"TestA/b","Output":"    a.go:1: long story\n"}
{"Action":"fail","Package":"a","Test":"TestA/b"}
{"Action":"output","Package":"a","Test":"TestA","Output":"        conformance: FAILED redis/valkey: b: fail: it was late\n"}
{"Action":"fail","Package":"a","Test":"TestA"}
{"Action":"output","Package":"a","Output":"FAIL\ta\t0.1s\n"}
{"Action":"fail","Package":"a"}
{"Action":"attr","Package":"a","Test":"TestA","Key":"subject","Value":"nats/memory"}
{"Action":"output","Package":"a","Test":"TestA/b","Output":"    a.go:2: no clock\n"}
{"Action":"skip","Package":"a","Test":"TestA/b"}
{"Action":"pass","Package":"a","Test":"TestA"}
{"Action":"pass","Package":"a"}
`,
			closing: []string{
				"FAILED: redis/valkey: a TestA/b\n", "FAILED: redis/valkey: a TestA\nconformance: FAILED redis/valkey: b: fail: it was late\n",
				"skipped: nats/memory: a TestA/b: a.go:2: no clock\n",
			},
			err: "2 tests or packages failed",
		},
		{name: "nothing ran", in: "make: nothing\n", closing: []string{"FAIL: 0 passed"}, err: "no test passed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			file := t.TempDir() + "/closing"
			err := run(strings.NewReader(tt.in), &out, file)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error = %v, want one with %q", err, tt.err)
			}
			for _, want := range append(tt.out, tt.closing...) {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
			for _, not := range tt.not {
				if strings.Contains(out.String(), not) {
					t.Errorf("the output has %q:\n%s", not, out.String())
				}
			}
		})
	}
}
