package budget

import "testing"

func TestBounds(t *testing.T) {
	for _, c := range []struct {
		bound Bound
		value float64
		holds bool
		text  string
	}{
		{AtLeast(0.9), 0.9, true, "≥ 0.9"},
		{AtLeast(0.9), 0.89, false, "≥ 0.9"},
		{AtMost(2), 2, true, "≤ 2"},
		{AtMost(2), 2.01, false, "≤ 2"},
	} {
		if got := c.bound.Holds(c.value); got != c.holds {
			t.Errorf("%v.Holds(%v) = %v", c.bound, c.value, got)
		}
		if got := c.bound.String(); got != c.text {
			t.Errorf("%+v reads %q, want %q", c.bound, got, c.text)
		}
	}
}

func TestOfMany(t *testing.T) {
	v := []float64{3, 1, 2}
	if Best(v) != 3 || Least(v) != 1 || Median(v) != 2 {
		t.Errorf("of %v: best %v, least %v, median %v", v, Best(v), Least(v), Median(v))
	}
	if v[0] != 3 {
		t.Error("Median sorted its argument")
	}
}
