package page

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// MessageColumns is what a table of messages shows, and what else it could.
type MessageColumns struct {
	Own     []MessageColumn    // that were chosen, in their order; empty: those that the list has by itself
	Name    string             // of the view that has them; empty: they have no name, or nobody chose
	Views   []component.Choice // all to choose from, the standard one first
	Choose  string             // address of the form where columns are chosen; empty: they cannot be
	All     string             // address of all views
	Missing component.Text     // why what was asked for is not shown; empty: it is
	Sort    ListSort
}

// missing says why what was asked for is not shown, and what is.
func (c MessageColumns) missing(ctx context.Context) component.Notice {
	n := component.Notice{Tone: component.Low, Title: c.Missing.S, Detail: locale.T(ctx, "views.missing.shown")}
	if c.Missing.English {
		n.Title, n.Said = "", c.Missing.S
	}
	return n
}

// A ListSort is the order of a table of messages. Its zero value cannot be changed.
type ListSort struct {
	By   string            // the name of a column
	Down bool              // the largest first
	Href map[string]string // by the name of a column: the table sorted by that, or the other way round
}

// A ListFind narrows a table of messages by a query.
type ListFind struct {
	Query string        // as it was typed; empty: it shows all
	Wrong string        // why it is not a query, in the server's own words; empty: it is one
	Kept  []HiddenField // what else the table is asked for
	Still bool          // it is not in the order of numbers, or not of all: it does not change by itself
	Cut   string        // what is said where not all was looked at; empty: all was
	Again string        // address of the same
	Plain string        // address of all, by number
}

// The words of an address that sort a table of messages.
const (
	AskSort    = "sort" // the name of a column
	AskDir     = "dir"
	Descending = "desc"
)

// A MessageColumn is one of a table of messages.
type MessageColumn struct {
	Name  string // as engine/listing writes it
	Label string // of a property or of something in bodies: what it is called there; empty: Name is a field
	Num   bool   // its values are numbers
	class string // of a standard one
}

// A Cell is what a message has in a column that was chosen. Its zero value is
// nothing.
type Cell struct {
	Text string
	Href string // where Text leads; empty: nowhere
	At   time.Time
	Num  bool
}

// The words of an address that choose columns.
const (
	AskView   = "view"   // its name
	AskColumn = "column" // one of several, in their order
)

// The fields that a table shows in a way of their own.
const (
	colState    = "state"
	colTTL      = "ttl"
	colDue      = "due"
	colLock     = "lock"
	colSeq      = "seq"
	colMessage  = "message"
	colHolder   = "holder"
	colReason   = "reason"
	colSource   = "source"
	colFor      = "for"
	colBy       = "by"
	colSize     = "size"
	colDelivery = "delivery"
	colEnqueued = "enqueued"
	colDied     = "dead-lettered"
	colDeferred = "deferred"
	colEntity   = "entity"
)

// standard are the columns that a tab has by itself.
func standard(t Tab) []MessageColumn {
	all := []MessageColumn{{Name: colState}}
	switch t {
	case Found:
		return append(all, MessageColumn{Name: colEntity}, MessageColumn{Name: colSeq, class: "num"}, MessageColumn{Name: colMessage},
			MessageColumn{Name: colTTL, class: "opt"}, MessageColumn{Name: colEnqueued, class: "opt"})
	case Waiting:
		all = append(all, MessageColumn{Name: colDue})
	case DeadLetters, Transfers:
	default:
		all = append(all, MessageColumn{Name: colTTL})
	}
	if t == Held {
		all = append(all, MessageColumn{Name: colLock})
	}
	all = append(all, MessageColumn{Name: colSeq, class: "num"}, MessageColumn{Name: colMessage})
	switch t {
	case Held:
		all = append(all, MessageColumn{Name: colHolder})
	case DeadLetters:
		all = append(all, MessageColumn{Name: colReason}, MessageColumn{Name: colSource, class: "opt far"})
	case Transfers:
		all = append(all, MessageColumn{Name: colReason}, MessageColumn{Name: colFor, class: "opt"})
	case Parked:
		all = append(all, MessageColumn{Name: colBy, class: "opt"})
	}
	all = append(all, MessageColumn{Name: colSize, class: "num opt"}, MessageColumn{Name: colDelivery, class: "num opt"})
	switch t {
	case DeadLetters, Transfers:
		return append(all, MessageColumn{Name: colDied, class: "opt"})
	case Parked:
		return append(all, MessageColumn{Name: colDeferred, class: "opt"})
	default:
		return append(all, MessageColumn{Name: colEnqueued, class: "opt"})
	}
}

// label is what a column is called.
func (c MessageColumn) label(ctx context.Context) string {
	if c.Label != "" {
		return component.Visible(c.Label)
	}
	return locale.T(ctx, fieldName(c.Name))
}

// fieldName is the id of what a field is called.
func fieldName(name string) string {
	return map[string]string{
		colState: "column.state", colTTL: "column.left", "expires": "column.expires", colDue: "column.due", "scheduled": "column.scheduled",
		colLock: "column.lock", "locked-since": "column.lock.since", "renewals": "column.lock.renewals", "renewed": "column.lock.renewed", colHolder: "column.holder", colSeq: "column.number", "enqueued-seq": "column.first",
		colMessage: "column.message", "subject": "column.subject", "id": "column.id", "correlation": "column.correlation",
		"session": "column.of.session", "to": "column.to", "reply-to": "column.reply", "reply-to-session": "column.reply.session",
		"partition": "column.partition", "type": "column.type", "body": "column.body", colSize: "column.size", colDelivery: "column.tries",
		colEnqueued: "column.stored", colReason: "column.reason", "error": "column.error", colSource: "column.source", colFor: "column.for",
		colDied: "column.died", colDeferred: "column.deferred", colBy: "column.by", colEntity: "search.where", "key": "column.key",
	}[name]
}

// right tells whether what stands in the column is lined up at its end.
func (c MessageColumn) right() bool {
	return c.Num || c.Name == colSeq || c.Name == colSize || c.Name == colDelivery || c.Name == "enqueued-seq" || c.Name == "renewals"
}

// links tells whether the column's cells lead to the message: where no column has
// what it is called, its number does.
func links(all []MessageColumn) bool {
	return !slices.ContainsFunc(all, func(c MessageColumn) bool { return c.Name == colMessage })
}

// numbered tells whether there is a number to lead to the message.
func numbered(all []MessageColumn) bool {
	return slices.ContainsFunc(all, func(c MessageColumn) bool { return c.Name == colSeq })
}

// frame is the class of what is around the table.
func (c MessageColumns) frame() string {
	if len(c.Own) == 0 {
		return "frame"
	}
	return "frame across"
}

// table is the class of the table.
func (c MessageColumns) table() string {
	if len(c.Own) == 0 {
		return "rows"
	}
	return "rows own"
}

// current is what the view is called that is shown.
func (c MessageColumns) current(ctx context.Context) string {
	switch {
	case c.Name != "":
		return component.Visible(c.Name)
	case len(c.Own) > 0:
		return locale.T(ctx, "views.unnamed")
	default:
		return locale.T(ctx, "views.standard")
	}
}

// cell is what the message has in the i-th of the columns that were chosen.
func (r *MessageRow) cell(i int) Cell {
	if i >= len(r.Cells) {
		return Cell{}
	}
	return r.Cells[i]
}

// picks tells whether the rows of a list can be chosen.
func (t Tab) picks() bool { return t != InSession }

// StandardColumns are the names of those that a list has by itself.
func StandardColumns(list string) (names []string) {
	for _, c := range standard(Tab(list)) {
		names = append(names, c.Name)
	}
	return names
}

// attrs tells in the head of a column that the table is sorted by it.
func (s ListSort) attrs(name string) templ.Attributes {
	if s.By != name || len(s.Href) == 0 {
		return nil
	}
	if s.Down {
		return templ.Attributes{"aria-sort": "descending"}
	}
	return templ.Attributes{"aria-sort": "ascending"}
}
