package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// Deferred is the parking lot: every deferred message of the namespace.
type Deferred struct {
	Shell layout.Shell
	Lede  []component.Text
	Bays  []component.Bay
	Pages component.Pages // a zero value shows no pager
}

// Full is the page.
func (m Deferred) Full() templ.Component { return deferred(m) }

// Watches is nil: any entity can have a deferred message.
func (m Deferred) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Deferred) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("lede", component.Lede(m.Lede)),
		list("bays", m.Bays, func(b component.Bay) view.Row {
			return view.Row{Key: b.Key, Content: component.ParkingBay(b)}
		}),
	)
}
