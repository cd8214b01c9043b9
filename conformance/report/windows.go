package report

import (
	"fmt"
	"regexp"
	"time"
)

// window is a span that was measured against one that was asked for or declared, drawn
// as two bars.
type window struct {
	Name              string
	Want, Got         time.Duration
	WantWide, GotWide int // per cent of the longest
	GotSays           string
}

var leaseFigure = regexp.MustCompile(`^lease of (\S+) granted again after$`)

// windows finds the measured spans among the figures: how long leases really held, and
// how long slots were remembered.
func windows(c Certificate) []window {
	var out []window
	for _, k := range c.Checks {
		for _, f := range k.Figures {
			got, err := time.ParseDuration(f.Value)
			if err != nil {
				continue
			}
			if m := leaseFigure.FindStringSubmatch(f.Name); m != nil {
				if want, err := time.ParseDuration(m[1]); err == nil {
					out = append(out, window{Name: fmt.Sprintf("lease of %v", want), Want: want, Got: got, GotSays: fmt.Sprintf("granted again after %v", got)})
				}
			}
			if f.Name == "remembered for at least" {
				out = append(out, window{Name: "slots remembered; declared: " + c.Description.Memory, Want: got, Got: got, GotSays: fmt.Sprintf("still known after %v, as long as was waited", got)})
			}
		}
	}
	var longest time.Duration
	for _, w := range out {
		longest = max(longest, w.Want, w.Got)
	}
	for i, w := range out {
		out[i].WantWide, out[i].GotWide = int(100*w.Want/longest), int(100*w.Got/longest)
	}
	return out
}
