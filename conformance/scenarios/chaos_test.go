package scenarios

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

var (
	chaosFor  = flag.Duration("chaos", time.Minute, "how long chaos lasts; -short: a quarter of it")
	chaosSeed = flag.Uint64("seed", 0, "seed of chaos; 0: a random one")
)

// TestChaos breaks things at random on a backend without a server and on one with.
func TestChaos(t *testing.T) {
	length, names := *chaosFor, []string{"sqlite", "redis"}
	if testing.Short() {
		length, names = length/4, names[:1]
	}
	seed := *chaosSeed
	if seed == 0 {
		seed = uint64(rand.Uint32())
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := Open(t.Context(), Options{Path: "../../plugins/" + name, Host: instance})
			if err != nil {
				t.Fatal(err)
			}
			defer st.Close()
			r, err := st.Chaos(t.Context(), Short, length, seed)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			var b strings.Builder
			r.Tell(&b)
			t.Logf("again with -seed %d\n%s", seed, b.String())
			if !r.OK() {
				r.TellJobs(t.Output())
				t.Error("chaos broke a rule, see above")
			}
			if r.Fates["ran"] == 0 || r.Acts["kill -9"] == 0 {
				t.Error("too little happened to prove anything")
			}
		})
	}
}
