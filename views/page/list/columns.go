package list

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// MessageColumns holds the columns of a table of messages, and the views to choose from.
type MessageColumns struct {
	Own     []MessageColumn    // selected columns, in order; empty means the list's standard ones
	Name    string             // name of their view; empty if it is unnamed or standard
	Views   []component.Choice // all views, the standard one first
	Choose  string             // address of the form that selects columns; empty if not possible
	All     string             // address of all views
	Missing component.Text     // why the requested columns are not shown; empty if they are
	Sort    Sort
}

// missing returns a notice that says why the requested columns are not shown, and which are shown
// instead.
func (c MessageColumns) missing(ctx context.Context) component.Notice {
	n := component.Notice{Tone: component.Low, Title: c.Missing.S, Detail: locale.T(ctx, "views.missing.shown")}
	if c.Missing.English {
		n.Title, n.ServerText = "", c.Missing.S
	}
	return n
}

// A Sort is the order of a table of messages. The zero value cannot be changed.
type Sort struct {
	By   string            // the name of a column
	Down bool              // descending
	Href map[string]string // by column name: address of the table sorted by it, or in the other direction
}

// A Filter is the query that filters a table of messages.
type Filter struct {
	Query         string             // as typed; empty means all
	Wrong         string             // its error, in the server's own words; empty if it is valid
	Kept          []page.HiddenField // the table's other parameters
	NotLive       bool               // the list is filtered or not sorted by sequence number, so it is not live
	Incomplete    string             // text if not all messages were examined; empty if all were
	ReloadURL     string             // address of the same list
	UnfilteredURL string             // address of the unfiltered list, by sequence number
}

// The query parameters that sort a table of messages.
const (
	FieldSort  = "sort" // the name of a column
	FieldDir   = "dir"
	Descending = "desc"
)

// A MessageColumn is a column of a table of messages.
type MessageColumn struct {
	Name  string // as engine/search/columns writes it
	Label string // name of a property or body member; empty means that Name is a field
	Num   bool   // its values are numbers
	class string // of a standard column
}

// A Cell is a message's value in a selected column. The zero value is empty.
type Cell struct {
	Text string
	Href string // link of Text; empty means none
	At   time.Time
	Num  bool
}

// The query parameters that select columns.
const (
	FieldView   = "view"   // name of a view
	FieldColumn = "column" // repeated, in order
)

// The names of the columns that have their own rendering in a table.
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

// standardColumns returns the standard columns of a tab.
func standardColumns(t page.Tab) []MessageColumn {
	all := []MessageColumn{{Name: colState}}
	switch t {
	case page.ListSearch:
		return append(all, MessageColumn{Name: colEntity}, MessageColumn{Name: colSeq, class: "num"}, MessageColumn{Name: colMessage},
			MessageColumn{Name: colTTL, class: "opt"}, MessageColumn{Name: colEnqueued, class: "opt"})
	case page.TabScheduled:
		all = append(all, MessageColumn{Name: colDue})
	case page.TabDeadLetters, page.TabTransfers:
	default:
		all = append(all, MessageColumn{Name: colTTL})
	}
	if t == page.TabLocked {
		all = append(all, MessageColumn{Name: colLock})
	}
	all = append(all, MessageColumn{Name: colSeq, class: "num"}, MessageColumn{Name: colMessage})
	switch t {
	case page.TabLocked:
		all = append(all, MessageColumn{Name: colHolder})
	case page.TabDeadLetters:
		all = append(all, MessageColumn{Name: colReason}, MessageColumn{Name: colSource, class: "opt far"})
	case page.TabTransfers:
		all = append(all, MessageColumn{Name: colReason}, MessageColumn{Name: colFor, class: "opt"})
	case page.TabDeferred:
		all = append(all, MessageColumn{Name: colBy, class: "opt"})
	}
	all = append(all, MessageColumn{Name: colSize, class: "num opt"}, MessageColumn{Name: colDelivery, class: "num opt"})
	switch t {
	case page.TabDeadLetters, page.TabTransfers:
		return append(all, MessageColumn{Name: colDied, class: "opt"})
	case page.TabDeferred:
		return append(all, MessageColumn{Name: colDeferred, class: "opt"})
	default:
		return append(all, MessageColumn{Name: colEnqueued, class: "opt"})
	}
}

// label returns the heading of a column.
func (c MessageColumn) label(ctx context.Context) string {
	if c.Label != "" {
		return component.ShowInvisible(c.Label)
	}
	return locale.T(ctx, fieldName(c.Name))
}

// fieldName returns the text id of a field's name.
func fieldName(name string) string {
	return fieldNames[name]
}

// fieldNames are the text ids of the names of fields.
var fieldNames = map[string]string{
	colState: "column.state", colTTL: "column.left", "expires": "column.expires", colDue: "column.due", "scheduled": "column.scheduled",
	colLock: "column.lock", "locked-since": "column.lock.since", "renewals": "column.lock.renewals", "renewed": "column.lock.renewed", colHolder: "column.holder", colSeq: "column.number", "enqueued-seq": "column.first",
	colMessage: "column.message", "subject": "column.subject", "id": "column.id", "correlation": "column.correlation",
	"session": "column.of.session", "to": "column.to", "reply-to": "column.reply", "reply-to-session": "column.reply.session",
	"partition": "column.partition", "type": "column.type", "body": "column.body", colSize: "column.size", colDelivery: "column.tries",
	colEnqueued: "column.stored", colReason: "column.reason", "error": "column.error", colSource: "column.source", colFor: "column.for",
	colDied: "column.died", colDeferred: "column.deferred", colBy: "column.by", colEntity: "search.where", "key": "column.key",
}

// right reports whether the column is right-aligned.
func (c MessageColumn) right() bool {
	return c.Num || c.Name == colSeq || c.Name == colSize || c.Name == colDelivery || c.Name == "enqueued-seq" || c.Name == "renewals"
}

// needsMessageLink reports whether another cell must link to the message because no column has its name.
func needsMessageLink(all []MessageColumn) bool {
	return !slices.ContainsFunc(all, func(c MessageColumn) bool { return c.Name == colMessage })
}

// hasNumberColumn reports whether there is a sequence number column to link from.
func hasNumberColumn(all []MessageColumn) bool {
	return slices.ContainsFunc(all, func(c MessageColumn) bool { return c.Name == colSeq })
}

// Frame returns the class of the element around the table.
func (c MessageColumns) Frame() string {
	if len(c.Own) == 0 {
		return "frame"
	}
	return "frame across"
}

// Table returns the class of the table.
func (c MessageColumns) Table() string {
	if len(c.Own) == 0 {
		return "rows"
	}
	return "rows own"
}

// current returns the name of the current view.
func (c MessageColumns) current(ctx context.Context) string {
	switch {
	case c.Name != "":
		return component.ShowInvisible(c.Name)
	case len(c.Own) > 0:
		return locale.T(ctx, "views.unnamed")
	default:
		return locale.T(ctx, "views.standard")
	}
}

// selectable reports whether rows of the list can be selected.
func selectable(t page.Tab) bool { return t != page.ListSession }

// StandardColumns returns the names of a list's standard columns.
func StandardColumns(list string) (names []string) {
	for _, c := range standardColumns(page.Tab(list)) {
		names = append(names, c.Name)
	}
	return names
}

// attrs returns the aria-sort attribute for the heading of a column if the table is sorted by that
// column, else nil.
func (s Sort) attrs(name string) templ.Attributes {
	if s.By != name || len(s.Href) == 0 {
		return nil
	}
	if s.Down {
		return templ.Attributes{"aria-sort": "descending"}
	}
	return templ.Attributes{"aria-sort": "ascending"}
}
