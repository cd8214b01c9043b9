package main

import (
	"bytes"
	"strings"
	"testing"
)

const output = `=== RUN   TestBudget
    bench_test.go:3: BUDGET {"part":"redis","what":"claims","value":0.93,"unit":"×","rule":"≥ 0.9","detail":"a | b","holds":true}
    bench_test.go:4: BUDGET {"part":"redis","what":"one claim","value":2.5,"unit":"×","rule":"≤ 2","detail":"","holds":false}
--- FAIL: TestBudget (1.00s)
FAIL
`

func TestRead(t *testing.T) {
	var log bytes.Buffer
	rows, failed, err := read(strings.NewReader(output), &log)
	if err != nil || !failed || len(rows) != 2 {
		t.Fatalf("got %d rows, failed %v, error %v", len(rows), failed, err)
	}
	if !rows[0].Holds || rows[1].Holds || rows[0].Value != 0.93 {
		t.Errorf("read %+v", rows)
	}
	if got := log.String(); !strings.Contains(got, "--- FAIL: TestBudget") || strings.Contains(got, "BUDGET") {
		t.Errorf("the log has %q", got)
	}
	var table bytes.Buffer
	writeTable(&table, rows)
	if got := table.String(); !strings.Contains(got, "2.5 ×") || !strings.Contains(got, "MISSED") {
		t.Errorf("the table is\n%s", got)
	}
}

func TestReadRefusesRubbish(t *testing.T) {
	if _, _, err := read(strings.NewReader("x: BUDGET {rubbish\n"), new(bytes.Buffer)); err == nil {
		t.Error("a row that can't be read was taken")
	}
}
