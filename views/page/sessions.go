package page

import (
	"context"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// A SessionRow is a session in the table of its entity. Rows stand in the
// order that the caller gives: those in line first, as receivers get them.
type SessionRow struct {
	Key      string
	ID       string
	Href     string // the session's page
	Active   int    // ready to be received
	Locked   int
	Deferred int
	Oldest   time.Time // when its oldest message was stored; zero: it holds none
	Now      time.Time

	// Turn is its place in the line for receivers that take the next session:
	// 1 is next. Zero: it is not in line, being held or having nothing ready.
	Turn     int
	Hold     component.Hold // the lock on it
	Holder   string         // who holds it; empty: not known
	HolderAt string         // where that client is shown; empty: nowhere
	HasState bool
	State    int64 // bytes of its state
}

// turn is what its place in line is called.
func turn(ctx context.Context, n int) string {
	if n == 1 {
		return locale.T(ctx, "session.next")
	}
	return locale.T(ctx, "session.turn", locale.Args{"N": locale.Number(ctx, n)})
}

// sessionColumns are the headings of the table of sessions.
func sessionColumns() []heading {
	return []heading{
		{name: "session.id", class: "name"},
		{name: "session.active", class: "num"},
		{name: "state.locked.all", class: "num"},
		{name: "state.deferred.all", class: "num opt"},
		{name: "session.oldest", class: "opt"},
		{name: "session.lock"},
		{name: "session.state", class: "num"},
	}
}
