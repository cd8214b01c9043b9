package natsstore

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"github.com/anarchon-go/anarchon/core/store"
)

func TestCredentials(t *testing.T) {
	byUser := configured(t, `jetstream: enabled, authorization: {user: u, password: right}`)
	byToken := configured(t, `jetstream: enabled, authorization: {token: right}`)
	url := strings.Replace(byUser.ClientURL(), "nats://", "nats://u:right@", 1)
	for name, o := range map[string]map[string]any{
		"user":        {"url": byUser.ClientURL(), "user": "u", "password": "right"},
		"user in url": {"url": url},
		"token":       {"url": byToken.ClientURL(), "token": "right"},
	} {
		t.Run(name, func(t *testing.T) { open(t, o) })
	}
	for name, o := range map[string]map[string]any{
		"no user":        {"url": byUser.ClientURL()},
		"wrong password": {"url": byUser.ClientURL(), "user": "u", "password": "wrong"},
		"wrong token":    {"url": byToken.ClientURL(), "token": "wrong"},
	} {
		t.Run(name, func(t *testing.T) { refusedWith(t, o, store.ErrNotApplied, "does not let us in") })
	}
}

func TestNKey(t *testing.T) {
	user, err := nkeys.CreateUser()
	if err != nil {
		t.Fatal(err)
	}
	seed, err1 := user.Seed()
	public, err2 := user.PublicKey()
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	file := filepath.Join(t.TempDir(), "user.nk")
	if err := os.WriteFile(file, seed, 0o600); err != nil {
		t.Fatal(err)
	}
	s := configured(t, `jetstream: enabled, authorization: {users: [{nkey: `+public+`}]}`)
	b := open(t, map[string]any{"url": s.ClientURL(), "nkeySeedFile": file})
	mustClaim(t, b, claimOf("j", noon), store.VerdictWon)
	refusedWith(t, map[string]any{"url": s.ClientURL()}, store.ErrNotApplied, "nkeySeedFile")
}

// TestCredsFile: an account whose user proves itself by a JWT.
func TestCredsFile(t *testing.T) {
	pair := func(create func() (nkeys.KeyPair, error)) (nkeys.KeyPair, string) {
		k, err := create()
		if err != nil {
			t.Fatal(err)
		}
		public, err := k.PublicKey()
		if err != nil {
			t.Fatal(err)
		}
		return k, public
	}
	signed := func(c interface {
		Encode(nkeys.KeyPair) (string, error)
	}, by nkeys.KeyPair) string {
		s, err := c.Encode(by)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	operator, operatorID := pair(nkeys.CreateOperator)
	_, systemID := pair(nkeys.CreateAccount)
	account, accountID := pair(nkeys.CreateAccount)
	user, userID := pair(nkeys.CreateUser)
	claims := jwt.NewAccountClaims(accountID)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{DiskStorage: -1, MemoryStorage: -1, Streams: -1, Consumer: -1}
	operatorClaims := jwt.NewOperatorClaims(operatorID)
	operatorClaims.SystemAccount = systemID
	s := configured(t, fmt.Sprintf(`
		jetstream: enabled
		operator: %s
		system_account: %s
		resolver: MEMORY
		resolver_preload: {%s: %s, %s: %s}`,
		signed(operatorClaims, operator), systemID,
		systemID, signed(jwt.NewAccountClaims(systemID), operator), accountID, signed(claims, operator)))
	seed, err := user.Seed()
	if err != nil {
		t.Fatal(err)
	}
	creds, err := jwt.FormatUserConfig(signed(jwt.NewUserClaims(userID), account), seed)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(file, creds, 0o600); err != nil {
		t.Fatal(err)
	}
	b := open(t, map[string]any{"url": s.ClientURL(), "credsFile": file})
	mustClaim(t, b, claimOf("j", noon), store.VerdictWon)
	refusedWith(t, map[string]any{"url": s.ClientURL()}, store.ErrNotApplied, "credsFile")
}

func TestDomain(t *testing.T) {
	s := configured(t, `jetstream: {domain: hub}`)
	b := open(t, map[string]any{"url": s.ClientURL(), "domain": "hub"})
	mustClaim(t, b, claimOf("j", noon), store.VerdictWon)
	refusedWith(t, map[string]any{"url": s.ClientURL(), "domain": "spoke"}, store.ErrNotApplied, "nobody listens")
}
