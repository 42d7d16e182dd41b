package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Deferred is the parking lot: every deferred message of the namespace.
type Deferred struct {
	Shell   layout.Shell
	Lede    []component.Text
	Columns MessageColumns
	Bays    []component.Bay // where no columns were chosen
	Rows    []MessageRow    // else
	Pages   component.Pages // a zero value shows no pager
	Every   Every           // all that are deferred
}

// table tells whether the messages stand in one.
func (m Deferred) table() bool { return len(m.Columns.Own) > 0 }

// Full is the page.
func (m Deferred) Full() templ.Component {
	m.Shell.Live.Picking = true
	return deferred(m)
}

// Watches is nil: any entity can have a deferred message.
func (m Deferred) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Deferred) Parts() []view.Part {
	parts := append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		slot("pages", pager(m.Pages)),
		slot("every", everyBox(m.Every)),
	)
	if !m.table() {
		return append(parts, list("bays", m.Bays, func(b component.Bay) view.Row {
			return view.Row{Key: b.Key, Content: component.ParkingBay(b)}
		}))
	}
	return append(parts,
		slot("head", messageHead(Parked, m.Columns)),
		list("rows", m.Rows, func(r MessageRow) view.Row {
			return view.Row{Key: r.Key, Content: messageRow(Parked, m.Columns.Own, &r)}
		}),
		slot("empty", deferredEmpty(m)),
	)
}
