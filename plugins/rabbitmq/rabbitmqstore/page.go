package rabbitmqstore

import (
	"fmt"
	"math"
	"strconv"

	"github.com/anarchon-go/anarchon/core/store"
)

// A page is named by the last slot of the page before; a slot has one attempt.

// firstPage is above every slot.
const firstPage int64 = math.MaxInt64

func parsePage(page string) (int64, error) {
	if page == "" {
		return firstPage, nil
	}
	slot, err := strconv.ParseInt(page, 10, 64)
	if err != nil || formatPage(slot) != page {
		return 0, &store.InvalidError{Field: "page", Value: fmt.Sprintf("%.60q", page), Rule: "empty, or what the page before said in Next"}
	}
	return slot, nil
}

func formatPage(slot int64) string { return strconv.FormatInt(slot, 10) }
