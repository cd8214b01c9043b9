package rabbitmqstore

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/core/store"
)

// notApplied classes an error of something that surely left no trace in the
// log.
func notApplied(doing string, err error) error {
	if isClassed(err) {
		return err
	}
	return fmt.Errorf("%w: rabbitmq: %s: %w", store.ErrNotApplied, doing, err)
}

// unknown classes an error of a record that was sent and did not come back.
func unknown(err error) error {
	if isClassed(err) {
		return err
	}
	return fmt.Errorf("%w: rabbitmq: %w", store.ErrUnknown, err)
}

func isClassed(err error) bool {
	return errors.Is(err, store.ErrInvalid) || errors.Is(err, store.ErrNotApplied) || errors.Is(err, store.ErrUnknown)
}

// errTimeout: a record that was sent did not come back within callTimeout.
var errTimeout = errors.New("the broker did not deliver the record back within callTimeout; look at its load and alarms, or raise callTimeout")

// errBlocked is why nothing is sent while the broker blocks publishers.
func errBlocked(reason string) error {
	return fmt.Errorf("the broker blocks publishers (%s): it is short of memory or disk; see its alarms (rabbitmq-diagnostics alarms)", reason)
}

// explain adds to an error of connecting or of setting up what it means and
// what to do. It names no secret.
func explain(err error, t *target, queue string) error {
	if hint := hintOf(err, t, queue); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

func hintOf(err error, t *target, queue string) string {
	var reply *amqp.Error
	if errors.As(err, &reply) {
		if hint := hintOfReply(reply, t, queue); hint != "" {
			return hint
		}
	}
	var dns *net.DNSError
	var header tls.RecordHeaderError
	var authority x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(err, &dns):
		return "there is no such host; see url"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no broker listens there; see host and port in url, and whether the broker runs"
	case errors.As(err, &header):
		return "the port does not speak TLS: use amqp:// in url, or the broker's TLS port, usually 5671"
	case errors.As(err, &authority):
		return "name the authority that signed the broker's certificate by caFile"
	case errors.As(err, &name):
		return "the broker's certificate is for another name than the host in url"
	// The driver tells the end of a connection within a handshake as a bad frame.
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), reply != nil && reply.Code == amqp.FrameError:
		if t.tls == nil {
			return "the broker closed the connection at once: is that a TLS port? Then use amqps:// in url"
		}
		return "the broker closed the connection at once: does it want a client certificate (certFile, keyFile)?"
	}
	return ""
}

func hintOfReply(e *amqp.Error, t *target, queue string) string {
	refused := e.Code == amqp.AccessRefused || e.Code == amqp.NotAllowed
	switch text := e.Reason; {
	case strings.Contains(text, "vhost") && strings.Contains(text, "not found"):
		return fmt.Sprintf("there is no vhost %.60q; make it (rabbitmqctl add_vhost) or name another by vhost", t.vhost)
	case refused && strings.Contains(text, "connection limit"):
		return "the broker has as many connections as it may take: raise the limit that it names (rabbitmqctl set_vhost_limits, set_user_limits, or connection_max), or end connections; each plugin needs one"
	case refused && strings.Contains(text, "vhost") && !strings.Contains(text, "access to queue") && !strings.Contains(text, "access to exchange"):
		return fmt.Sprintf("give the user %.60q permissions in the vhost %.60q (rabbitmqctl set_permissions)", t.username, t.vhost)
	case refused && strings.Contains(text, "access to exchange"):
		return fmt.Sprintf("the user %.60q needs the permission write for the exchange amq.default: set_permissions -p %s %s '^anarchon\\.' '^(anarchon\\.|amq\\.default$)' '^anarchon\\.'", t.username, t.vhost, t.username)
	case refused && strings.Contains(text, "access to queue"):
		return fmt.Sprintf("the user %.60q needs the permissions configure and read for the queue %q: set_permissions -p %s %s '^anarchon\\.' '^(anarchon\\.|amq\\.default$)' '^anarchon\\.'", t.username, queue, t.vhost, t.username)
	case refused || errors.Is(e, amqp.ErrSASL):
		return loginHint(t)
	case e.Code == amqp.PreconditionFailed && strings.Contains(text, "x-queue-type"):
		return fmt.Sprintf("a queue %q of another type is there, made by someone else; remove it, or choose another namespace or vhost", queue)
	case e.Code == amqp.PreconditionFailed:
		return fmt.Sprintf("a queue %q is there that was made in another way; remove it (which forgets its claims), or choose another namespace", queue)
	case e.Code == amqp.InternalError:
		return fmt.Sprintf("the broker fails to open the queue %q; its log says why. If it says stream_not_found, the broker was killed within moments of its first stream and forgot that; stop all instances and delete the queue, which forgets its claims", queue)
	case e.Code == amqp.ResourceLocked:
		return fmt.Sprintf("a queue %q that belongs to another connection alone is there, made by someone else; choose another namespace", queue)
	}
	return ""
}

func loginHint(t *target) string {
	hint := fmt.Sprintf("the broker does not let the user %.60q in; see username and password", t.username)
	if t.username == "guest" && !t.loopback() {
		hint = "the user guest may come from the broker's own host only (loopback_users in rabbitmq.conf); make another user and give username and password"
	} else if t.username == "guest" {
		hint += "; guest may come from the broker's own host only, and to a broker in a container this host is another one (loopback_users in rabbitmq.conf)"
	}
	return hint
}

// overdue classes a call that was given up before anything was sent.
func overdue(ctx context.Context) error {
	return fmt.Errorf("%w: rabbitmq: given up before anything was sent: %w", store.ErrNotApplied, context.Cause(ctx))
}
