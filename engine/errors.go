package engine

import (
	"errors"
	"fmt"
)

// ErrNoAccessRule is an ErrNotFound: the entity or namespace exists, but has no access rule
// by that name.
var ErrNoAccessRule = fmt.Errorf("%w: the access rule does not exist", ErrNotFound)

// The kinds of errors, by the names of semantics §16. Package web/errorcodes has a table of the
// answers of each protocol to them; the texts for people are those of [Refusal].
var (
	ErrNotFound        = errors.New("the messaging entity could not be found")
	ErrExists          = errors.New("the messaging entity already exists")
	ErrDisabled        = errors.New("the messaging entity is disabled")
	ErrLockLost        = errors.New("the lock supplied is invalid")
	ErrMessageNotFound = errors.New("the message could not be found")
	ErrTooLarge        = errors.New("the message is too large")
	ErrQuota           = errors.New("a quota has been exceeded")
	ErrBusy            = errors.New("the server is busy")
	ErrNotAllowed      = errors.New("the operation is not allowed")
	ErrArgument        = errors.New("an argument is invalid")
	ErrOutOfRange      = errors.New("an argument is out of range")
	ErrNotImplemented  = errors.New("the operation is not implemented")
	ErrClosed          = errors.New("the broker is closed")
	ErrSessionLockLost = errors.New("the session lock was lost")
	ErrSessionLocked   = errors.New("the session cannot be locked")
	ErrTimeout         = errors.New("the operation did not complete in time")
	ErrTransaction     = errors.New("the transaction is over")
	// ErrRolledBack means that a transaction was rolled back because one of its operations
	// failed. The returned error also wraps that operation's error, which may be of any kind. An
	// ErrRolledBack is an ErrTransaction: the transaction is over.
	ErrRolledBack = fmt.Errorf("%w: the transaction was rolled back", ErrTransaction)
	// ErrDuplicate means that the destination of an operator's message would drop it as a
	// duplicate. It is an ErrNotAllowed too.
	ErrDuplicate = fmt.Errorf("%w: the message is a duplicate", ErrNotAllowed)
	// ErrChanged means that the state is not the one that the caller saw: the number of messages
	// that the caller agreed to has grown by more than a tenth, or a state differs. Nothing was
	// changed.
	ErrChanged = errors.New("the state has changed since it was read")
)

// A Refusal is an error with a sentence for its reader. Kind is one of the Err… values;
// SubCode is the code of ERR-3: a specific one or the one of the kind, zero if there is none.
type Refusal struct {
	Kind    error
	SubCode int
	Text    string
}

func (r *Refusal) Error() string { return r.Text }

func (r *Refusal) Unwrap() error { return r.Kind }

// Refuse returns a [Refusal] of a kind with the sub-code that ERR-3 gives the kind. The format
// is that of [fmt.Sprintf], and the text is for people: a sentence, or several.
func Refuse(kind error, format string, args ...any) error {
	return &Refusal{Kind: kind, SubCode: subCode(kind), Text: fmt.Sprintf(format, args...)}
}

// RefuseCode is like [Refuse] with a sub-code of its own; zero means none.
func RefuseCode(kind error, code int, format string, args ...any) error {
	return &Refusal{Kind: kind, SubCode: code, Text: fmt.Sprintf(format, args...)}
}

// subCode returns the code of ERR-3 for a kind of error.
func subCode(kind error) int {
	for _, known := range [...]struct {
		kind error
		code int
	}{
		{ErrArgument, 40000}, {ErrOutOfRange, 40000}, {ErrQuota, 40300}, {ErrTooLarge, 40300}, {ErrNotAllowed, 40301},
		{ErrNotFound, 40400}, {ErrExists, 40900}, {ErrBusy, 50004},
	} {
		if errors.Is(kind, known.kind) {
			return known.code
		}
	}
	return 0
}

// A PropertyError names the property of a description that was rejected and why, so that a
// form can show the reason beside the field. It unwraps to Kind, which is ErrArgument or
// ErrOutOfRange.
type PropertyError struct {
	Property string // Service Bus' name of the property
	Value    string // as the caller gave it
	Kind     error
	SubCode  int // the code of ERR-3; zero means 40000
	Text     string
}

func (e *PropertyError) Error() string { return e.Text }

func (e *PropertyError) Unwrap() error { return e.Kind }

// LockLostText is the error text for settling or renewing with a token that is no longer
// valid (LOCK-6).
const LockLostText = "The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue, or was received by a different receiver instance."

// NotLockedText is the error text for receiving a message by number that is missing or locked
// (DEF-7).
const NotLockedText = "Failed to lock one or more specified messages. Either the message is already locked or does not exist."

func lockLost() error { return Refuse(ErrLockLost, "%s", LockLostText) }

func notFound(p Path) error {
	return RefuseCode(ErrNotFound, 40400, "The messaging entity '%s' could not be found.", p)
}
