package entity

import (
	"context"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// A SessionRow is a session in the table of its entity. The caller orders the rows: queued
// sessions first, in the order in which receivers get them.
type SessionRow struct {
	Key      string
	ID       string
	Href     string // the session's page
	Active   int    // ready to be received
	Locked   int
	Deferred int
	Oldest   time.Time // when its oldest message was enqueued; zero if it has none
	Now      time.Time

	// Turn is its position in the queue for receivers that take the next session: 1 is next.
	// Zero means it is not queued, because it is locked or has no active messages.
	Turn      int
	Hold      component.LockInfo // the lock on it
	Holder    string             // the lock's holder; empty if unknown
	HolderURL string             // address of that client; empty means none
	HasState  bool
	State     int64 // bytes of its state
}

// turn returns the text of a position in the queue.
func turn(ctx context.Context, n int) string {
	if n == 1 {
		return locale.T(ctx, "session.next")
	}
	return locale.T(ctx, "session.turn", locale.Args{"N": locale.Number(ctx, n)})
}

// sessionColumns are the headings of the table of sessions.
var sessionColumns = []page.Heading{
	{Name: "session.id", Class: "name"},
	{Name: "session.active", Class: "num"},
	{Name: "state.locked.all", Class: "num"},
	{Name: "state.deferred.all", Class: "num opt"},
	{Name: "session.oldest", Class: "opt"},
	{Name: "session.lock"},
	{Name: "session.state", Class: "num"},
}
