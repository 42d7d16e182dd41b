package list

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/view"
)

// Deferred is the page of all deferred messages of the namespace.
type Deferred struct {
	Shell       layout.Shell
	Lede        []component.Text
	Columns     MessageColumns
	Cards       []component.DeferredMessage // cards, if no columns are selected
	Rows        []MessageRow                // otherwise
	Pages       component.Pages             // zero means no pager
	AllMatching AllMatching                 // all deferred messages
}

// table reports whether the messages are shown as a table.
func (m Deferred) table() bool { return len(m.Columns.Own) > 0 }

// Full returns the whole page.
func (m Deferred) Full() templ.Component {
	m.Shell.Live.Selectable = true
	return deferred(m)
}

// Watches returns nil, because any entity can have a deferred message.
func (m Deferred) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m Deferred) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		page.Slot("lede", component.Lede(m.Lede)),
		page.Slot("pages", page.Pager(m.Pages)),
		page.Slot("every", EveryBox(m.AllMatching)),
	)
	if !m.table() {
		return append(parts, page.List("bays", m.Cards, func(b component.DeferredMessage) view.Row {
			return view.Row{Key: b.Key, Content: component.DeferredCard(b)}
		}))
	}
	return append(parts,
		page.Slot("head", MessageTableHead(page.TabDeferred, m.Columns)),
		page.List("rows", m.Rows, func(r MessageRow) view.Row {
			return view.Row{Key: r.Key, Content: MessageTableRow(page.TabDeferred, m.Columns.Own, &r)}
		}),
		page.Slot("empty", deferredEmpty(m)),
	)
}
