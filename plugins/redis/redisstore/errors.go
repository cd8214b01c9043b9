package redisstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/redis/go-redis/v9"

	"github.com/anarchon-go/anarchon/core/store"
)

// refusal is an error reply by which the server says that it did not execute a
// command, and what to do about it.
type refusal struct{ prefix, remedy string }

// refusals are recognised by how they begin. A reply that is not here may come
// from the middle of a script: it is unknown.
var refusals = []refusal{
	{"NOSCRIPT", "the server lost the script twice in one call; ask again"},
	{"OOM", "the server is out of memory: raise maxmemory or free memory; runs that are under way can still be renewed and finished"},
	{"READONLY", "this server is a replica; name the primary, or use Sentinel (sentinelMaster) or a Cluster (cluster), which follow a failover"},
	{"NOAUTH", "the server wants a password; set the option password, and username if it is not the default user's"},
	{"WRONGPASS", "the server does not accept the user or the password; check the options username and password"},
	{"NOPERM", "the user lacks a right; the README lists what each strategy needs"},
	{"LOADING", "the server is loading its data after a start; it will answer when it is done"},
	{"MASTERDOWN", "this server is a replica that lost its primary; name the primary"},
	{"CLUSTERDOWN", "the Cluster does not serve the namespace's hash slot; see CLUSTER INFO and CLUSTER SLOTS on its nodes"},
	{"TRYAGAIN", "the Cluster is moving the namespace's keys to another node; ask again"},
	{"MOVED", "the server is a node of a Cluster; set the option cluster"},
	{"ASK", "the server is a node of a Cluster; set the option cluster"},
	{"CROSSSLOT", "the keys of a namespace must lie in one slot; is a proxy between that changes keys?"},
	{"BUSY", "a script of somebody else keeps the server busy; see SCRIPT KILL"},
	{"MISCONF", "the server can't write to its disk and takes no writes; see its log"},
	{"NOREPLICAS", "fewer replicas follow than min-replicas-to-write asks for; bring them back"},
	{"DENIED", "the server is in protected mode and takes local connections only; give it a password"},
	{"WRONGTYPE", "a key of this namespace holds something of another program; use another namespace"},
	{"DAMAGED", "the record was changed by hand or by another program; restore a backup"},
	{"NOPROTO", "the server does not speak the protocol; is it a Redis or Valkey?"},
	{"ERR max number of clients", "raise maxclients of the server, or lower poolSize"},
	{"ERR unknown command", "the server, or a proxy before it, does not have this command"},
	{"ERR DB index is out of range", "the server has fewer databases; lower the option db"},
	{"ERR SELECT is not allowed in cluster mode", "the server is a node of a Cluster; set the option cluster, and db to 0"},
	{"ERR This instance has cluster support disabled", "the server is no Cluster; leave the option cluster out"},
	{"ERR AUTH <password> called without any password", "the server has no password; leave the option password out"},
	{"ERR Client sent AUTH, but no password is set", "the server has no password; leave the option password out"},
}

func refusalOf(err error) (refusal, bool) {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return refusal{}, false
	}
	text := reply.Error()
	for _, r := range refusals {
		if strings.HasPrefix(text, r.prefix) {
			return r, true
		}
	}
	return refusal{}, false
}

// classify says what an error of a sent call means. Only what surely was not
// executed is [store.ErrNotApplied].
func classify(doing string, err error) error {
	if isClassed(err) {
		return err
	}
	if notSent(err) {
		return notApplied(doing, err)
	}
	if r, refused := refusalOf(err); refused {
		return errorOf(store.ErrNotApplied, doing, err, ": "+r.remedy)
	}
	return errorOf(store.ErrUnknown, doing, err, transportRemedy(err))
}

// notSent reports whether the error came before anything was sent. The driver
// returns the context's own error only while it waits for a connection; when it
// gives up an answer, the error is the network's.
func notSent(err error) bool {
	var dial *dialError
	return errors.As(err, &dial) || errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed) ||
		err == context.DeadlineExceeded || err == context.Canceled
}

// notApplied is an error of something that surely left no trace.
func notApplied(doing string, err error) error {
	if isClassed(err) {
		return err
	}
	hint := transportRemedy(err)
	if r, refused := refusalOf(err); refused {
		hint = ": " + r.remedy
	}
	return errorOf(store.ErrNotApplied, doing, err, hint)
}

// errorOf is an error of a class. The driver's texts hold no secrets: it never
// quotes what it sends.
func errorOf(class error, doing string, err error, hint string) error {
	return fmt.Errorf("%w: redis: %s: %w%s", class, doing, err, hint)
}

func isClassed(err error) bool {
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown)
}

// transportRemedy says what an error of the network means for the operator.
func transportRemedy(err error) string {
	var dns *net.DNSError
	var record tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var certificate x509.CertificateInvalidError
	switch {
	case errors.As(err, &dns):
		return ": the name is not known here; check the host's name and the resolver"
	case errors.As(err, &record):
		return ": the server does not speak TLS on this port; use redis:// and leave tls out, or name its TLS port"
	case errors.As(err, &authority):
		return ": the server's certificate is signed by nobody known here; name the signer's certificate by caFile"
	case errors.As(err, &host):
		return ": the server's certificate is for another name; use a name that it is for"
	case errors.As(err, &certificate):
		return ": the server's certificate is not valid"
	case errors.Is(err, syscall.ECONNREFUSED):
		return ": nothing listens there; check host and port, and that the server runs"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return ": the server closed the connection; it may have been stopped, or have as many connections as its maxclients allows"
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return ": no answer in time; the server is busy, stopped or out of reach"
	}
	return ""
}

// clip shortens a text for an error message.
func clip(s string) string {
	const most = 120
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
