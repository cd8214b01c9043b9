package postgresstore

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
	attempt int32
}

// newest is before every attempt.
var newest = place{math.MaxInt64, math.MaxInt32}

func (p place) String() string { return fmt.Sprintf("%d.%d", p.slot, p.attempt) }

func parsePlace(page string) (place, error) {
	if page == "" {
		return newest, nil
	}
	left, right, _ := strings.Cut(page, ".")
	slot, err1 := strconv.ParseInt(left, 10, 64)
	attempt, err2 := strconv.ParseInt(right, 10, 32)
	p := place{slot, int32(attempt)}
	if err1 != nil || err2 != nil || attempt < 1 || p.String() != page {
		return place{}, &store.InvalidError{Field: "page", Value: fmt.Sprintf("%.60q", page), Rule: "empty, or what the page before said in Next"}
	}
	return p, nil
}
