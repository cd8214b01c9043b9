package main

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/anarchon-go/anarchon/conformance/jobsfile"
	"github.com/anarchon-go/anarchon/core"
)

func nextCommand() *cobra.Command {
	var (
		zone   string
		from   string
		number int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "next EXPRESSION",
		Short: "The next slots of a schedule, and what a clock change does to them",
		Long: `Shows the slots of a cron expression in a time zone, or of an interval ("every 5m"), as
every instance computes them. Where the zone's clock changes on the way, it says what
happens to the slots.`,
		Example: `  anarchon next "30 2 * * *" -tz Europe/Athens -n 5
  anarchon next "30 3 * * *" -tz Europe/Athens -from 2027-03-27T00:00:00Z
  anarchon next "every 90s"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("%d arguments; give one expression, in quotes", len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if number < 1 || number > 10_000 {
				return usageError{fmt.Errorf("-n is %d; it must be 1 to 10000", number)}
			}
			loc, err := jobsfile.Zone(zone)
			if err != nil {
				return usageError{fmt.Errorf("-tz: %w", err)}
			}
			s, err := jobsfile.Schedule(args[0], loc)
			if err != nil {
				return usageError{err}
			}
			at := time.Now()
			if from != "" {
				if at, err = time.Parse(time.RFC3339, from); err != nil {
					return usageError{fmt.Errorf("-from is %q; it must be a time such as 2027-03-27T00:00:00Z (RFC 3339)", from)}
				}
			}
			slots := slotsAfter(s, at, number)
			if asJSON {
				return printJSON(cmd.OutOrStdout(), slots)
			}
			return printSlots(cmd.OutOrStdout(), s, at, slots, loc)
		},
	}
	f := cmd.Flags()
	f.StringVar(&zone, "tz", "UTC", "the time zone of the expression, e.g. Europe/Athens")
	f.StringVar(&from, "from", "", "show slots after this time, RFC 3339; default: now")
	f.IntVarP(&number, "number", "n", 5, "how many slots, at most 10000")
	f.BoolVar(&asJSON, "json", false, "print a JSON list of the slots")
	return cmd
}

// slotsAfter returns the next n slots; fewer if the schedule ends.
func slotsAfter(s core.Schedule, after time.Time, n int) []time.Time {
	slots := make([]time.Time, 0, n)
	for range n {
		if after = s.Next(after); after.IsZero() {
			break
		}
		slots = append(slots, after)
	}
	return slots
}

// clockChange is a moment at which a zone's clock jumps.
type clockChange struct {
	at   time.Time     // what the clock shows from then on
	was  time.Time     // the same moment as the clock showed it up to then
	jump time.Duration // how far the clock jumps; negative: back
}

// changesBetween finds the clock changes of a zone in (from, to]. Halving finds
// where, which needs no more than hours between two changes.
func changesBetween(from, to time.Time, loc *time.Location) (changes []clockChange) {
	const stride = 12 * time.Hour
	offset := func(t time.Time) (string, int) { return t.In(loc).Zone() }
	for t := from; t.Before(to); t = t.Add(stride) {
		end := t.Add(stride)
		if end.After(to) {
			end = to
		}
		name, a := offset(t)
		if _, b := offset(end); a == b {
			continue
		}
		low, high := t.Unix(), end.Unix()
		for high-low > 1 {
			mid := (low + high) / 2
			if _, o := offset(time.Unix(mid, 0)); o == a {
				low = mid
			} else {
				high = mid
			}
		}
		at := time.Unix(high, 0).In(loc)
		_, b := offset(at)
		changes = append(changes, clockChange{at: at, was: at.In(time.FixedZone(name, a)), jump: time.Duration(b-a) * time.Second})
	}
	return changes
}

func (c clockChange) String() string {
	const layout = "15:04:05 MST"
	change := fmt.Sprintf("%s becomes %s, and the times in between", c.was.Format(layout), c.at.Format(layout))
	if c.jump < 0 {
		return "the clock goes back: " + change + " come twice"
	}
	return "the clock goes forward: " + change + " don't exist"
}

// printSlots shows slots and, where they fall, the clock changes between them, from
// the slot before on, so that it is seen what a change does to the distance.
func printSlots(out io.Writer, s core.Schedule, from time.Time, slots []time.Time, loc *time.Location) error {
	fmt.Fprintf(out, "%v; smallest gap %v; after %s\n", s, s.MinGap(), from.In(loc).Format(slotLayout))
	if len(slots) == 0 {
		_, err := fmt.Fprintln(out, "No slot comes after that.")
		return err
	}
	const row = "  %-28s  %-20s  %s\n"
	fmt.Fprintf(out, row, "slot", "in UTC", "after the one before")
	last := from
	for i, slot := range slots {
		// Decades may lie between two slots; all their changes would bury them.
		changes := changesBetween(last, slot, loc)
		if len(changes) > 4 {
			fmt.Fprintf(out, "  (%d clock changes)\n", len(changes))
			changes = nil
		}
		for _, c := range changes {
			fmt.Fprintf(out, "  %s: %v\n", c.at.Format(time.DateOnly), c)
		}
		gap := ""
		if i > 0 {
			gap = slot.Sub(slots[i-1]).String()
		}
		if _, err := fmt.Fprintf(out, row, slot.In(loc).Format(slotLayout), slot.UTC().Format("2006-01-02 15:04:05Z"), gap); err != nil {
			return err
		}
		last = slot
	}
	return nil
}

const slotLayout = "Mon 2006-01-02 15:04:05 MST"
