package redisstore

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/anarchon-go/anarchon/core/store"
)

// place is the last attempt of a history page; the next page is what is older.
// Its text is opaque to callers.
type place struct {
	slot    int64
	attempt int
}

// newest is before every attempt.
var newest = place{math.MaxInt64, math.MaxInt32}

func (p place) String() string {
	return strconv.FormatInt(p.slot, 10) + "." + strconv.Itoa(p.attempt)
}

func parsePlace(page string) (place, error) {
	if page == "" {
		return newest, nil
	}
	slot, attempt, _ := strings.Cut(page, ".")
	var p place
	var errSlot, errAttempt error
	p.slot, errSlot = strconv.ParseInt(slot, 10, 64)
	p.attempt, errAttempt = strconv.Atoi(attempt)
	if errSlot != nil || errAttempt != nil || p.attempt < 1 || p.String() != page {
		return place{}, &store.InvalidError{Field: "page", Value: fmt.Sprintf("%.60q", page), Rule: "empty, or what the page before said in Next"}
	}
	return p, nil
}
