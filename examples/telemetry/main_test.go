package main

import (
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/anarchon-go/anarchon/core"
	"github.com/anarchon-go/anarchon/core/coretest"
	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestAlertsNameWhatIsThere: each metric, label and value that a rule selects is one
// that Prometheus would scrape.
func TestAlertsNameWhatIsThere(t *testing.T) {
	tel, metrics, err := observed()
	if err != nil {
		t.Fatal(err)
	}
	s := tel.Store(coretest.NewStore(store.KindLease))
	run := core.Run{Job: "hello", ScheduledAt: time.Now(), Reason: store.ReasonTakeover}
	for _, e := range []core.Event{
		core.Started{Run: run, At: time.Now()}, core.Succeeded{Run: run}, core.Lost{Run: run}, core.Unrecorded{Run: run},
		core.Unconfirmed{Run: run}, core.Stuck{Run: run}, core.EventsDropped{Count: 1},
	} {
		tel.OnEvent(e)
	}
	for _, reason := range []core.SkipReason{
		core.SkipLate, core.SkipEarly, core.SkipCapacity, core.SkipUnreachable, core.SkipUnknown, core.SkipRefused, core.SkipExhausted,
	} {
		tel.OnEvent(core.Skipped{Job: "hello", Reason: reason})
	}
	tel.OnPluginEvent(storekit.Down{})
	won, err := s.Claim(t.Context(), store.ClaimRequest{
		Job: "hello", Slot: run.ScheduledAt.UnixMilli(), ID: store.NewClaimID(), Instance: "i", Reason: store.ReasonScheduled, Lease: time.Minute,
		MaxLate: time.Minute, Overlap: store.OverlapSkip, MaxAttempts: 1, HistorySize: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Heartbeat(t.Context(), store.HeartbeatRequest{Job: "hello", Slot: run.ScheduledAt.UnixMilli(), Token: won.Token, Lease: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Claim(t.Context(), store.ClaimRequest{}); err == nil {
		t.Fatal("no error")
	}
	page := httptest.NewRecorder()
	metrics.ServeHTTP(page, httptest.NewRequest("GET", "/metrics", nil))
	scraped := page.Body.String()

	b, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal(b, &file); err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, r := range file.Groups[0].Rules {
		rules++
		if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
			t.Errorf("rule %+v is incomplete", r)
		}
		names := regexp.MustCompile(`anarchon_\w+_(total|count|bucket|last_success_seconds)`).FindAllString(r.Expr, -1)
		if len(names) == 0 {
			t.Errorf("%s selects no metric", r.Alert)
		}
		for _, n := range names {
			if !strings.Contains(scraped, "\n"+n+"{") {
				t.Errorf("%s selects %s, which is not scraped", r.Alert, n)
			}
		}
		for _, m := range regexp.MustCompile(`(\w+)=~?"([^"]+)"`).FindAllStringSubmatch(r.Expr, -1) {
			for _, value := range strings.Split(m[2], "|") {
				if !strings.Contains(scraped, m[1]+`="`+value+`"`) {
					t.Errorf("%s selects %s=%q, which is not scraped", r.Alert, m[1], value)
				}
			}
		}
	}
	if rules < 8 {
		t.Errorf("%d rules were read", rules)
	}
	if t.Failed() {
		lines := slices.DeleteFunc(strings.Split(scraped, "\n"), func(l string) bool { return strings.HasPrefix(l, "#") })
		t.Logf("scraped:\n%s", strings.Join(lines, "\n"))
	}
}
