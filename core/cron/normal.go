package cron

import (
	"cmp"
	"slices"
	"strconv"
)

// sortItems sorts the items from start on and drops repeated ones.
func sortItems(items []item, start int) []item {
	if len(items)-start < 2 {
		return items
	}
	slices.SortFunc(items[start:], func(a, b item) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi), cmp.Compare(a.step, b.step))
	})
	return items[:start+len(slices.Compact(items[start:]))]
}

// normalForm writes the items of sorted fields; it gives the expression itself if that is the normal form already.
func normalForm(fields *fieldItems, expr string) string {
	var buf [128]byte
	out := buf[:0]
	for f, items := range fields {
		if f == fieldSecond && len(items) == 1 && items[0] == (item{kind: kindRange}) {
			continue
		}
		if len(out) > 0 {
			out = append(out, ' ')
		}
		for i, it := range items {
			if i > 0 {
				out = append(out, ',')
			}
			out = it.append(out)
		}
	}
	if string(out) == expr {
		return expr
	}
	return string(out)
}

// append writes an item as it would be parsed.
func (it item) append(out []byte) []byte {
	num := func(n uint8) { out = strconv.AppendInt(out, int64(n), 10) }
	switch it.kind {
	case kindAny:
		out = append(out, '*')
	case kindRange:
		num(it.lo)
		if it.hi != it.lo || it.step != 0 {
			out = append(out, '-')
			num(it.hi)
		}
	case kindLast:
		out = append(out, 'L')
		if it.lo != 0 {
			out = append(out, '-')
			num(it.lo)
		}
	case kindNearest:
		num(it.lo)
		out = append(out, 'W')
	case kindLastBiz:
		out = append(out, 'L', 'W')
	case kindLastDow:
		num(it.lo)
		out = append(out, 'L')
	case kindNthDow:
		num(it.lo)
		out = append(out, '#')
		num(it.hi)
	}
	if it.step != 0 {
		out = append(out, '/')
		num(it.step)
	}
	return out
}
