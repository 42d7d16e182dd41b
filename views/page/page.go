// Package page holds the pages of the dashboard, each with a model and its markup. A model
// is plain values: the caller decides what is true, the page decides how it looks. Every
// page that can be live is a [view.Page], so that updates pushed to a browser and a reload
// come from the same markup.
//
// The pages of an area of the dashboard are in a package below this one, named after the package
// in web/dashboard that fills in their models. This package has what several areas share, and the
// pages that belong to no area: sign-in, denied links, failures and a server on standby.
package page

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/static"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Slot returns a part whose content is replaced as a whole.
func Slot(name string, content templ.Component) view.Part {
	return view.Part{Name: name, Slot: content}
}

// List returns a part made of one row for each of items.
func List[T any](name string, items []T, row func(T) view.Row) view.Part {
	rows := make([]view.Row, 0, len(items))
	for _, it := range items {
		rows = append(rows, row(it))
	}
	return view.Part{Name: name, Rows: rows}
}

// NoEntity is a name that no entity can have, so that no event concerns it.
const NoEntity = "$connections"

// StaticURL returns the address of a file in folder static.
func StaticURL(ctx context.Context, name string) string { return view.Base(ctx) + static.URL(name) }

// Figure formats a rate, with one decimal if that is useful.
func Figure(ctx context.Context, f float64) string {
	if f >= 100 || f == float64(int(f)) {
		return component.ShortCount(ctx, int(f+.5))
	}
	return locale.Decimal(ctx, f, 1)
}
