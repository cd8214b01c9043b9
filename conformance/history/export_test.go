package history

import "time"

// Reductions returns what the steps of [Minimise] make of each job's history, taken
// as far as they go without looking if the rest is illegal.
func Reductions(h *History, cuts int) map[string][]*History {
	all := map[string][]*History{}
	for _, of := range h.byJob() {
		ops, err := resolve(h.Kind, of.ops)
		if err != nil {
			continue
		}
		end := ops[len(ops)-1].Return
		for n := 1; n <= cuts; n++ {
			m := minimiser{h: h, ops: cutAt(ops, end*time.Duration(n)/time.Duration(cuts)), illegal: func([]*Op) bool { return true }}
			add := func(name string) { all[name] = append(all[name], h.with(m.ops)) }
			add("cut")
			cut := m.ops
			m.idle()
			add("idle")
			m.ops = cut
			if slots := m.slots(); len(slots) > 1 {
				if rest, sound := m.without(slots[0]); sound {
					m.ops = rest
					add("oldest slot")
				}
			}
			m.idle()
			m.pending()
			add("all")
		}
	}
	return all
}
