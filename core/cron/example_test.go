package cron_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/anarchon-go/anarchon/core/cron"
)

func Example() {
	athens, err := time.LoadLocation("Europe/Athens")
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := cron.Parse("30 2 * * MON-FRI", athens)
	if err != nil {
		fmt.Println(err)
		return
	}
	now := time.Date(2024, 5, 17, 12, 0, 0, 0, athens) // a Friday
	fmt.Println("latest:", s.Prev(now))
	fmt.Println("next:  ", s.Next(now))
	// Output:
	// latest: 2024-05-17 02:30:00 +0300 EEST
	// next:   2024-05-20 02:30:00 +0300 EEST
}

func ExampleParse_error() {
	_, err := cron.Parse("0 9-17/20 * * *", time.UTC)
	var parseErr *cron.ParseError
	if errors.As(err, &parseErr) {
		fmt.Println(parseErr.Column, parseErr.Hint)
	}
	_, err = cron.Parse("5/15 * * * *", time.UTC)
	fmt.Println(err)
	_, err = cron.Parse("0 0 30 2 *", time.UTC)
	fmt.Println(errors.Is(err, cron.ErrNever))
	// Output:
	// 8 use 1 to 9; for an interval that cron can't say, use core.Every
	// cron: "5/15 * * * *", column 1: "5/15" has a step but no range: write 5-59/15 to go on to the end of the field, or */15
	// true
}

// The clock skips 02:30 on 10 March: a fixed job runs at the first instant after the gap, so that no night is without its run.
func ExampleSchedule_Next() {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		fmt.Println(err)
		return
	}
	s := cron.MustParse("30 2 * * *", newYork)
	at := time.Date(2024, 3, 9, 0, 0, 0, 0, newYork)
	for range 3 {
		at = s.Next(at)
		fmt.Println(at)
	}
	// Output:
	// 2024-03-09 02:30:00 -0500 EST
	// 2024-03-10 03:00:00 -0400 EDT
	// 2024-03-11 02:30:00 -0400 EDT
}

func ExampleSchedule_MinGap() {
	fmt.Println(cron.MustParse("*/7 * * * *", time.UTC).MinGap())
	fmt.Println(cron.MustParse("0 9 * * MON-FRI", time.UTC).MinGap())
	// Output:
	// 4m0s
	// 24h0m0s
}

func ExampleSchedule_String() {
	fmt.Println(cron.MustParse("0  0 9 ? jan,JUL fri-7", time.UTC))
	// Output:
	// 0 9 * 1,7 5-0 UTC
}
