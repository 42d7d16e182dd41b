package page

import (
	"context"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// The names of the inputs of forms that ask to confirm an action on messages or an entity.
const (
	FieldCount       = "count"      // the number shown
	FieldCountOf     = "count-"     // for Purge, followed by a State: the number shown for it
	FieldConfirm     = "confirm"    // the typed confirmation
	FieldState       = "state"      // for Purge, repeated: a State
	FieldFilter      = "filter"     // for Purge: SQL; also a query parameter
	FieldCountOnly   = "look"       // for Purge, a submit button: only count the matches
	FieldCounted     = "counted"    // for Purge: the filter for which the page shows a number of matches
	FieldCountedOf   = "counted-of" // for Purge, repeated: a State in which these matches were counted
	FieldMatching    = "matching"   // for Purge: the number of matches shown, or its upper bound
	FieldReason      = "reason"
	FieldDescription = "description"
	FieldBy          = "by"   // a duration added to the remaining time; negative shortens it
	FieldHow         = "how"  // "move" or "copy"
	FieldLockToken   = "lock" // the lock token of a message received for inspection; also a query parameter
	FieldKey         = "key"
	FieldSession     = "session"   // for receiving: the session to take; empty means the next
	FieldDuplicate   = "duplicate" // for Resubmit, "drop": a message whose id was seen is dropped
	FieldTo          = "to"        // for SetStatus, a Status, also a query parameter; for MoveTo, the path of an entity
	FieldAll         = "all"       // for tables: all matching messages instead of the selected ones
)

// A HiddenField is a hidden input.
type HiddenField struct{ Name, Value string }

// The fields of the form for a new job.
const (
	FieldFormToken = "once" // of this form and of the form for messages: a token that no other copy of the form has
	FieldJobKind   = "kind"
	FieldJobPath   = "path"
	FieldQuery     = "q"
	FieldUntil     = "until" // for reschedule: an instant in UTC; extend uses FieldBy
)

// SafeNotice returns the notice that Safe mode refuses a form.
func SafeNotice(ctx context.Context) component.Notice {
	return component.Notice{Tone: component.Low, Title: locale.T(ctx, "safe.refused"), Detail: safeHow(ctx)}
}

// safeHow returns how to switch Safe mode off.
func safeHow(ctx context.Context) string {
	if view.SafeModeOf(ctx) == view.SafeModeServer {
		return locale.T(ctx, "safe.all")
	}
	return locale.T(ctx, "safe.here")
}
