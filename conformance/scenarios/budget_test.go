package scenarios

import (
	"fmt"
	"testing"

	"github.com/anarchon-go/anarchon/internal/budget"
)

// TestBudgetTakeover kills ten runners at once; `anarchon scenarios -takeovers 50`
// kills more, on any lease backend.
func TestBudgetTakeover(t *testing.T) {
	budget.Only(t)
	const kills = 10
	st, err := Open(t.Context(), Options{Path: "../../plugins/sqlite", Host: instance})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	took, err := st.Takeovers(t.Context(), Short, kills, kills)
	if err != nil {
		t.Fatal(err)
	}
	worst, median := took[len(took)-1], took[len(took)/2]
	budget.Row(t, "scenarios", fmt.Sprintf("takeover after kill -9 on SQLite beyond the lease, the worst of %d", kills),
		(worst - Short.Lease).Seconds(), "s", budget.AtMost(1),
		fmt.Sprintf("lease %v, heartbeat %v; from the kill to the backup's start: median %.2f s, worst %.2f s", Short.Lease, Short.Heartbeat, median.Seconds(), worst.Seconds()))
}
