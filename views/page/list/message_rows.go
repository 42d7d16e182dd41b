package list

import (
	"cmp"
	"context"
	"strings"
	"time"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// A MessageRow is a message in a table.
type MessageRow struct {
	Key        string // the message's key, in decimal
	Href       string // the message's page
	State      page.State
	Number     int64 // the sequence number
	Subject    string
	ID         string // the message id
	Pills      []Pill // scalars of the body; empty means that First is shown
	First      string // the first line of the body, truncated
	Session    string // its session; empty means none
	Size       int64
	Tries      int
	Max        int       // largest number of deliveries; zero if not shown
	At         time.Time // enqueued
	SetAsideAt time.Time // when it was dead-lettered or deferred; zero if unknown, or neither

	Clock     component.Clock    // its time to live; Now is set even if it never expires
	Expired   bool               // it has expired but still exists, as deferred messages do
	Hold      component.LockInfo // the lock on it
	Due       component.Clock    // for scheduled messages
	Holder    string             // the lock's holder; empty if unknown
	HolderURL string             // address of that client; empty means none
	Edit      string             // address of the form that edits and resends it; empty if not possible

	Entity, EntityURL string // its entity, and the address of the entity's list; empty in a list of one entity
	By                string // the client that deferred it; empty if unknown

	Cells []Cell // in the order of the selected columns; empty if none are selected

	Reason, Description string // of a dead letter
	TransferTarget      string // of a failed transfer: its target
	Source              string // where it was dead-lettered, if elsewhere
}

// A Pill is a scalar from a body.
type Pill struct{ Key, Value string }

// What returns the name of the message: its subject, else its id, else a placeholder.
func (r *MessageRow) What(ctx context.Context) string {
	return cmp.Or(r.Subject, r.ID, locale.T(ctx, "message.unnamed"))
}

// moment returns the time in the last column of a tab: when the message was dead-lettered
// or deferred on those tabs, otherwise when it was enqueued.
func (r *MessageRow) moment(t page.Tab) time.Time {
	switch t {
	case page.TabDeadLetters, page.TabTransfers, page.TabDeferred:
		return r.SetAsideAt
	default:
		return r.At
	}
}

// small returns the id to show beside a subject.
func (r *MessageRow) small() string {
	if r.Subject == "" {
		return ""
	}
	return r.ID
}

// Brief returns the beginning of a body on one line.
func (r *MessageRow) Brief() string {
	var pills []string
	for _, p := range r.Pills {
		pills = append(pills, p.Key+": "+p.Value)
	}
	return cmp.Or(strings.Join(pills, ", "), r.First)
}

// cell returns the message's value in the i-th selected column.
func (r *MessageRow) cell(i int) Cell {
	if i >= len(r.Cells) {
		return Cell{}
	}
	return r.Cells[i]
}
