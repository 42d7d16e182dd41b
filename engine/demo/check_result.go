package demo

import "fmt"

// A CheckResult is the result of checking one expectation of a step.
type CheckResult struct {
	Text   string
	OK     bool
	Actual Actual // the actual state; zero if OK
}

// Actual is the actual state where an expectation failed, for callers that put it into words.
// The zero Actual means that the expectation is met.
type Actual struct {
	Kind    ActualKind
	Subject string // the entity; for HasProperty, the property
	Value   string // a path, state or text; for HasCount, what is counted: active, locked, deferred, scheduled or dead
	Count   int64  // how many there are
	Want    int64  // how many were expected
}

// An ActualKind is the kind of an Actual.
type ActualKind uint8

const (
	IsIn        ActualKind = iota + 1 // the message is in Value
	IsGone                            // the message is gone
	IsUnread                          // the message cannot be read; Value says why
	IsThere                           // the entity Subject exists
	IsMissing                         // the entity Subject is missing
	HasCount                          // the entity Subject has Count of the kind Value, not Want
	HasState                          // the message is active, deferred, scheduled or locked
	HasReason                         // the message is a dead letter, for the reason Value
	HasFailed                         // the message has a delivery count of Count
	HasBody                           // the message's body is Value
	HasProperty                       // the message's property Subject is Value
)

// String returns a sentence, or "" for the zero Actual.
func (i Actual) String() string {
	switch i.Kind {
	case 0:
		return ""
	case IsIn:
		return fmt.Sprintf("The message is in %s.", i.Value)
	case IsGone:
		return "The message no longer exists."
	case IsUnread:
		return i.Value
	case IsThere:
		return fmt.Sprintf("%s exists.", i.Subject)
	case IsMissing:
		return fmt.Sprintf("%s does not exist.", i.Subject)
	case HasCount:
		return fmt.Sprintf("%s has %d %s, not %d.", i.Subject, i.Count, i.Value, i.Want)
	case HasState:
		return fmt.Sprintf("The message is %s.", i.Value)
	case HasReason:
		return fmt.Sprintf("The dead-letter reason is %q.", i.Value)
	case HasFailed:
		return fmt.Sprintf("The message has failed %d times.", i.Count)
	case HasBody:
		return fmt.Sprintf("The body is %q.", i.Value)
	case HasProperty:
		return fmt.Sprintf("The property %s is %q.", i.Subject, i.Value)
	default:
		panic(fmt.Sprintf("unknown kind of actual state %d", i.Kind))
	}
}
