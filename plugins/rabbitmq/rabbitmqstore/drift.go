package rabbitmqstore

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/anarchon-go/anarchon/core/store"
)

// segmentBytes is the size of the log's files. The broker drops whole files, and
// only when it begins a new one: a quiet log is never shortened.
const segmentBytes = 16 << 20

// logArgs are the arguments of the log's declaration.
func logArgs(keep time.Duration) amqp.Table {
	return amqp.Table{
		// Explicit, for the vhost's default may be another one.
		"x-queue-type":                    "stream",
		"x-max-age":                       strconv.Itoa(int(keep.Seconds())) + "s",
		"x-stream-max-segment-size-bytes": int64(segmentBytes),
	}
}

// RabbitMQ 4.0 names ages as they were declared, 4.3 in milliseconds.
var otherAge = regexp.MustCompile(`inequivalent arg 'x-max-age' .* current is '(\d+)([smhDMY]?)'`)

var ageUnits = map[string]time.Duration{
	"": time.Millisecond, "s": time.Second, "m": time.Minute, "h": time.Hour,
	"D": 24 * time.Hour, "M": 30 * 24 * time.Hour, "Y": 365 * 24 * time.Hour,
}

// declaredAge reads from a refused declaration how far back the log that is
// there is kept. ok is false if that is not why it was refused.
func declaredAge(err error) (age time.Duration, ok bool) {
	var reply *amqp.Error
	if !errors.As(err, &reply) || reply.Code != amqp.PreconditionFailed {
		return 0, false
	}
	m := otherAge.FindStringSubmatch(reply.Reason)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil || n > int64(100*ageUnits["Y"]/ageUnits[m[2]]) {
		return 0, false
	}
	return time.Duration(n) * ageUnits[m[2]], true
}

// judgeAge says what to do with a log that is kept for another time than this
// configuration asks for: warn if it carries the memory, refuse if not.
func judgeAge(age time.Duration, set settings, queue string) (warning string, err error) {
	least := 2*set.slotTTL + time.Minute
	if age < least {
		return "", fmt.Errorf("%w: rabbitmq: the log %q was made to be kept for %v, and slotTtl %v needs %v (twice and a minute); lower slotTtl, choose another namespace, or stop all instances and delete the queue, which forgets its claims",
			store.ErrInvalid, queue, age, set.slotTTL, least)
	}
	return fmt.Sprintf("the log %s was made to be kept for %v, not for the %v that historyTtl and slotTtl ask for; history follows the log. It can be changed only by deleting the queue while all instances are stopped", queue, age, set.keep()), nil
}
