package rabbitmqstore

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/core/store"
	"github.com/anarchon-go/anarchon/storekit"
)

// TestBadOptions: what can be told without a broker is told so, names the
// option and no secret.
func TestBadOptions(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("no"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options string
		words   []string
	}{
		{`{"url":"amqp://u:s3cret%zz@h"}`, []string{"url", "%25"}},
		{`{"url":"http://u:s3cret@h"}`, []string{"url", "amqps"}},
		{`{"url":"amqp://"}`, []string{"url", "no host"}},
		{`{"url":"amqp://h:0"}`, []string{"port", "65535"}},
		{`{"url":"amqp://h?heartbeat=1"}`, []string{"?"}},
		{`{"url":"amqp://h/a/b"}`, []string{"%2F"}},
		{`{"url":"amqp://h/a","vhost":"b"}`, []string{"vhost", "give it once"}},
		{`{"url":"amqp://u:s3cret@h","username":"v"}`, []string{"give it once"}},
		{`{"url":"amqp://u@h"}`, []string{"without a password"}},
		{`{"password":"s3cret"}`, []string{"username is not"}},
		{`{"caFile":"x"}`, []string{"amqps"}},
		{`{"url":"amqps://h","caFile":"/no/such"}`, []string{"caFile", "/no/such"}},
		{`{"url":"amqps://h","caFile":"` + notPEM + `"}`, []string{"caFile", "PEM"}},
		{`{"url":"amqps://h","certFile":"x"}`, []string{"keyFile"}},
		{`{"url":"amqps://h","certFile":"/no","keyFile":"/no"}`, []string{"certFile"}},
		{`{"namespace":""}`, []string{"namespace"}},
		{`{"slotTtl":"100ms"}`, []string{"slotTtl"}},
		{`{"slotTTL":"5m"}`, []string{"slotTtl"}},
		{`{"callTimeout":"2"}`, []string{"callTimeout"}},
	} {
		cfg, err := storekit.ParseConfig(Info().Options, json.RawMessage(c.options))
		class := err // of the schema; the SDK classes it
		if err == nil {
			_, err = readSettings(cfg)
			class = store.ErrInvalid
		}
		if err == nil {
			t.Errorf("%s is taken", c.options)
			continue
		}
		wantError(t, err, class, c.words, "s3cret")
	}
}

func TestTargets(t *testing.T) {
	for options, want := range map[string]target{
		`{}`:                                    {host: "127.0.0.1", port: "5672", vhost: "/", username: "guest", password: "guest"},
		`{"url":"rabbit.internal"}`:             {host: "rabbit.internal", port: "5672", vhost: "/", username: "guest", password: "guest"},
		`{"url":"amqp://u:p%2F@[::1]:7/a%2Fb"}`: {host: "::1", port: "7", vhost: "a/b", username: "u", password: "p/"},
		`{"url":"amqp://h/","vhost":"v","username":"u","password":"p"}`: {host: "h", port: "5672", vhost: "v", username: "u", password: "p"},
	} {
		cfg, err := storekit.ParseConfig(Info().Options, json.RawMessage(options))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readTarget(cfg); err != nil || got != want {
			t.Errorf("%s is %+v, %v; want %+v", options, got, err, want)
		}
	}
	cfg, err := storekit.ParseConfig(Info().Options, json.RawMessage(`{"url":"amqps://h"}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := readTarget(cfg); err != nil || got.port != "5671" || got.tls == nil || got.tls.ServerName != "h" {
		t.Errorf("amqps is %+v, %v", got, err)
	}
}

// TestDrift reads what brokers say of a log that was made for another time:
// 4.0 as it was declared, 4.3 in milliseconds.
func TestDrift(t *testing.T) {
	refusal := func(current string) error {
		return &amqp.Error{Code: 406, Reason: "PRECONDITION_FAILED - inequivalent arg 'x-max-age' for queue 'q' in vhost '/': received '60s' but current is '" + current + "'"}
	}
	for current, want := range map[string]time.Duration{"30s": 30 * time.Second, "30000": 30 * time.Second, "2D": 48 * time.Hour, "7m": 7 * time.Minute, "0s": 0} {
		if got, ok := declaredAge(refusal(current)); !ok || got != want {
			t.Errorf("%q is %v, %v", current, got, ok)
		}
	}
	for _, err := range []error{
		nil, refusal("none"), refusal("99999999999999999999s"), refusal("9999999Y"),
		&amqp.Error{Code: 406, Reason: "PRECONDITION_FAILED - inequivalent arg 'x-queue-type' for queue 'q' in vhost '/': received 'stream' but current is 'classic'"},
	} {
		if age, ok := declaredAge(err); ok {
			t.Errorf("%v is read as %v", err, age)
		}
	}
	set := settings{slotTTL: 5 * time.Minute, historyTTL: time.Hour}
	if _, err := judgeAge(10*time.Minute, set, "q"); err == nil {
		t.Error("a log that does not carry the memory is used")
	} else {
		wantError(t, err, store.ErrInvalid, []string{"slotTtl", "11m0s", "10m0s"})
	}
	if warning, err := judgeAge(11*time.Minute, set, "q"); err != nil || warning == "" {
		t.Errorf("a log that carries the memory: %q, %v", warning, err)
	}
}

// TestReach: a log whose beginning is gone must reach back as far as the memory.
func TestReach(t *testing.T) {
	now := time.Now()
	oldest := func(offset int64, age time.Duration) *amqp.Delivery {
		return &amqp.Delivery{Headers: amqp.Table{"x-stream-offset": offset}, Body: (&record{Format: 1, Writer: "w", SentAt: now.Add(-age).UnixMilli()}).encode()}
	}
	if err := judgeReach(oldest(0, time.Second), now, time.Minute, "q"); err != nil {
		t.Error("a new log is refused:", err)
	}
	if err := judgeReach(oldest(7, time.Minute), now, time.Minute, "q"); err != nil {
		t.Error("a log that its age shortened is refused:", err)
	}
	wantError(t, judgeReach(oldest(7, 20*time.Second), now, time.Minute, "q"), store.ErrNotApplied, []string{"20s", "1m0s", "policy", "40s"})
}
