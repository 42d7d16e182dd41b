// Package page holds the pages of the dashboard, each with a model and its markup. A model
// is plain values: the caller decides what is true, the page decides how it looks. Every
// model is a [view.Page], so that updates pushed to a browser and a reload come from the
// same markup.
package page

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/static"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// slot returns a part whose content is replaced as a whole.
func slot(name string, content templ.Component) view.Part {
	return view.Part{Name: name, Slot: content}
}

// list returns a part made of one row for each of items.
func list[T any](name string, items []T, row func(T) view.Row) view.Part {
	rows := make([]view.Row, 0, len(items))
	for _, it := range items {
		rows = append(rows, row(it))
	}
	return view.Part{Name: name, Rows: rows}
}

// noEntity is a name that no entity can have, so that no event concerns it.
const noEntity = "$connections"

// staticURL returns the address of a file in folder static.
func staticURL(ctx context.Context, name string) string { return view.Base(ctx) + static.URL(name) }

// figure formats a rate, with one decimal if that is useful.
func figure(ctx context.Context, f float64) string {
	if f >= 100 || f == float64(int(f)) {
		return component.ShortCount(ctx, int(f+.5))
	}
	return locale.Decimal(ctx, f, 1)
}
