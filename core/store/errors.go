package store

import (
	"errors"
	"fmt"
)

// The three classes of errors. They are different things, and a caller must
// treat them differently; test with errors.Is.
var (
	// ErrInvalid: the request breaks a rule of the protocol. Nothing was
	// written; asking again is useless. The error names the field.
	ErrInvalid = errors.New("invalid request")

	// ErrNotApplied: the request surely did not take effect. Asking again is
	// free.
	ErrNotApplied = errors.New("surely not applied")

	// ErrUnknown: the request was sent and no answer came; it may have taken
	// effect, or may yet. A claim is asked again with the same claim id and is
	// never treated as won or as lost.
	ErrUnknown = errors.New("outcome unknown")
)

var (
	// ErrUnsupported: the backend does not have this verb. It is an
	// [ErrInvalid].
	ErrUnsupported = fmt.Errorf("%w: not supported by this backend", ErrInvalid)

	// ErrStoreFormat: the store holds data of a newer format than this plugin
	// knows. Nothing was touched. Upgrade this instance. It is an
	// [ErrNotApplied].
	ErrStoreFormat = fmt.Errorf("%w: store format is newer than this plugin", ErrNotApplied)
)

// InvalidError names the field that broke a rule. It is an [ErrInvalid].
type InvalidError struct {
	Field string // as spelled in the request, e.g. "max attempts"
	Value string // the value, clipped
	Rule  string // what the field must be
}

// Error names the value and the rule.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("invalid request: %s is %s; it must be %s", e.Field, e.Value, e.Rule)
}

// Is makes every InvalidError an [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// IsUnknown reports whether err leaves open if the request took effect. That is
// so for every error that does not say otherwise: a deadline, a cut connection,
// an error of a class that this version does not know.
func IsUnknown(err error) bool {
	return err != nil && !errors.Is(err, ErrInvalid) && !errors.Is(err, ErrNotApplied)
}
