package show

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/listing"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// views are all that have names.
func (p *Pages) views(ctx context.Context, at Place) (view.Page, uint64, error) {
	all, err := listing.Views(ctx, p.b)
	if err != nil {
		return nil, 0, err //nolint:wrapcheck // it says what it is about
	}
	m := page.Views{Shell: p.still(ctx, at, locale.T(ctx, "views.title")), New: p.URL(Place{Namespace: at.Namespace, Kind: Views, Do: "edit"})}
	for _, v := range all {
		m.Rows = append(m.Rows, p.viewRow(v))
	}
	return m, 0, nil
}

func (p *Pages) viewRow(v listing.View) page.ViewRow {
	to := func(do string) string {
		return p.URL(Place{Namespace: p.b.Name(), Kind: Views, Do: do, Query: url.Values{page.AskView: {v.Name}}})
	}
	row := page.ViewRow{Name: v.Name, Default: v.Default, Edit: to("edit"), Delete: to("delete")}
	for _, l := range v.Lists {
		row.Lists = append(row.Lists, string(l))
	}
	for _, c := range v.Columns {
		row.Columns = append(row.Columns, page.MessageColumn{Name: c.String(), Label: labelOf(c)})
	}
	return row
}

// An Arrangement is the form of a view as somebody has filled it in.
type Arrangement struct {
	View    listing.View // with those columns that are ticked, as far as they are columns
	Was     listing.View // which view it was when it was seen; without a name: none
	Columns []listing.Column
	Hidden  []listing.Column // of these, which are not ticked
	Back    Place            // the list; its Kind is zero if there is none
}

// ReadView reads the form of a view, and does what it says to the columns: it takes
// up what was ticked and typed, and moves one. What is wrong goes into t.
func (p *Pages) ReadView(ctx context.Context, t *Typed) (a Arrangement) {
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	v := t.Values
	a.Was.Name = v.Get(page.AskWas)
	if n, err := strconv.ParseInt(v.Get(page.AskSeen), 10, 64); err == nil {
		a.Was.ChangedAt = engine.Instant(n)
	}
	a.Back = p.listAt(v.Get("back"))
	a.View = listing.View{Name: strings.TrimSpace(v.Get(page.AskName)), Default: v.Get(page.AskDefault) != ""}
	for _, l := range v[page.AskList] {
		a.View.Lists = append(a.View.Lists, listing.List(l))
	}
	shown := v[page.AskShow]
	add := func(text, field string) {
		c, err := listing.Parse(text)
		switch {
		case err != nil:
			t.Errors[field] = component.Said(asSentence(err.Error()))
		case slices.Contains(a.Columns, c):
		case len(a.Columns) >= listing.MostColumns:
			t.Errors[page.AskColumn] = component.Text{S: locale.N(ctx, "views.many", listing.MostColumns)}
		default:
			a.Columns = append(a.Columns, c)
			if field == page.AskColumn && !slices.Contains(shown, text) {
				a.Hidden = append(a.Hidden, c)
			}
		}
	}
	for _, text := range v[page.AskColumn] {
		add(text, page.AskColumn)
	}
	for _, text := range v[page.AskMore] {
		add(text, page.AskMore)
	}
	if text := strings.TrimSpace(v.Get(page.AskOther)); text != "" {
		add(text, page.AskOther)
	}
	a.move(v.Get(page.AskDeed))
	a.View.Columns = slices.DeleteFunc(slices.Clone(a.Columns), func(c listing.Column) bool { return slices.Contains(a.Hidden, c) })
	return a
}

// move moves a column by one.
func (a *Arrangement) move(deed string) {
	by := -1
	text, ok := strings.CutPrefix(deed, page.ViewUp)
	if !ok {
		if text, ok = strings.CutPrefix(deed, page.ViewDown); !ok {
			return
		}
		by = 1
	}
	i := slices.IndexFunc(a.Columns, func(c listing.Column) bool { return c.String() == text })
	if j := i + by; i >= 0 && j >= 0 && j < len(a.Columns) {
		a.Columns[i], a.Columns[j] = a.Columns[j], a.Columns[i]
	}
}

// listAt is the list of messages at an address, which may have the base path.
func (p *Pages) listAt(raw string) Place {
	at, err := p.Parse(strings.TrimPrefix(raw, p.o.Base))
	if err != nil || at.Do != "" || !slices.Contains([]Kind{Entity, Search, Deferred}, at.Kind) {
		return Place{}
	}
	return at
}

// ListWith is the address of a list that shows a view, or columns without a name.
func (p *Pages) ListWith(at Place, view string, columns []listing.Column) string {
	at = at.with(page.AskView, view, page.AskColumn, "")
	if view == "" {
		at.Query[page.AskColumn] = listing.Names(columns)
	}
	return p.URL(at)
}

// Lists tells whether a view is for the list at a place.
func (p *Pages) Lists(at Place, v listing.View) bool { return v.For(listOf(at)) }

// listOf is the sort of list that a place is.
func listOf(at Place) listing.List {
	switch at.Kind {
	case Search:
		return listing.SearchedMessages
	case Deferred:
		return listing.DeferredList
	default:
	}
	if l := listing.List(at.Query.Get("tab")); slices.Contains(listing.Lists(), l) {
		return l
	}
	return listing.Messages
}

// viewForm asks which columns a list has, or whether a view is to go.
func (p *Pages) viewForm(ctx context.Context, at Place, t Typed) (view.Page, error) {
	if at.Do == "delete" {
		return p.askDropView(ctx, at)
	}
	var a Arrangement
	if t.Values != nil {
		a = p.ReadView(ctx, &t)
	} else {
		var err error
		if a, err = p.arrangement(ctx, at); err != nil {
			return nil, err
		}
	}
	all := Place{Namespace: at.Namespace, Kind: Views}
	m := page.ViewForm{
		Shell: p.still(ctx, at, locale.T(ctx, "views.columns")), To: p.URL(Place{Namespace: at.Namespace, Kind: Views, Do: "edit"}), Cancel: p.URL(all),
		Name: a.View.Name, Was: a.Was.Name, Seen: strconv.FormatInt(int64(a.Was.ChangedAt), 10), Default: a.View.Default, Errors: t.Errors, Refused: t.Refused,
	}
	if t.Errors[page.AskOther].S != "" {
		m.Other = t.Values.Get(page.AskOther)
	}
	list := listing.Messages
	if a.Back.Kind != 0 {
		list, m.Back, m.Cancel = listOf(a.Back), p.URL(a.Back), p.URL(a.Back)
		if v, own := at.Query.Get(page.AskView), at.Query[page.AskColumn]; v != "" || len(own) > 0 {
			was := a.Back.with(page.AskView, v)
			was.Query[page.AskColumn] = own
			m.Cancel = p.URL(was)
		}
	}
	for _, l := range listing.Lists() {
		m.Lists = append(m.Lists, page.Tick{Value: string(l), On: slices.Contains(a.View.Lists, l)})
	}
	for _, c := range a.Columns {
		m.Columns = append(m.Columns, page.Tick{Value: c.String(), Label: labelOf(c), On: !slices.Contains(a.Hidden, c)})
	}
	props, members, err := p.offered(ctx, a.Back, list)
	if err != nil {
		return nil, err
	}
	var fields []listing.Column
	for _, f := range listing.Fields() {
		if c, err := listing.Parse(f); err == nil {
			fields = append(fields, c)
		}
	}
	for _, g := range []struct {
		label string
		all   []listing.Column
	}{{"views.more.props", props}, {"views.more.members", members}, {"views.more.fields", fields}} {
		group := page.TickGroup{Label: g.label}
		for _, c := range g.all {
			if !slices.Contains(a.Columns, c) {
				group.Ticks = append(group.Ticks, page.Tick{Value: c.String(), Label: labelOf(c)})
			}
		}
		if len(group.Ticks) > 0 {
			m.More = append(m.More, group)
		}
	}
	return m, nil
}

// arrangement is a form that nobody has touched: of a view, or of the columns that
// a list has.
func (p *Pages) arrangement(ctx context.Context, at Place) (a Arrangement, err error) {
	a.Back = p.listAt(at.Query.Get("back"))
	list := listOf(a.Back)
	if name := at.Query.Get(page.AskView); name != "" {
		all, err := listing.Views(ctx, p.b)
		if err != nil {
			return a, err //nolint:wrapcheck // it says what it is about
		}
		if a.View, err = listing.Named(all, name); err != nil {
			return a, err //nolint:wrapcheck // it says what it is about
		}
		a.Was, a.Columns = a.View, a.View.Columns
		return a, nil
	}
	if a.Columns, err = listing.ParseAll(at.Query[page.AskColumn]); err != nil || len(a.Columns) == 0 {
		names := page.StandardColumns(string(list))
		if a.Back.Kind == Deferred { // of several entities
			names = slices.Insert(names, 1, listing.Entity)
		}
		if a.Columns, err = listing.ParseAll(names); err != nil {
			return a, err //nolint:wrapcheck // it says what it is about
		}
	}
	if a.Back.Kind != 0 {
		a.View.Lists = []listing.List{list}
	}
	return a, nil
}

func (p *Pages) askDropView(ctx context.Context, at Place) (view.Page, error) {
	all, err := listing.Views(ctx, p.b)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	v, err := listing.Named(all, at.Query.Get(page.AskView))
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	return page.DropView{
		Shell: p.still(ctx, at, locale.T(ctx, "views.title")), To: p.URL(at), Cancel: p.URL(Place{Namespace: at.Namespace, Kind: Views}), Row: p.viewRow(v),
	}, nil
}

// chosenFor is choose in a turn of its own, for lists that are not made in one.
func (p *Pages) chosenFor(ctx context.Context, at Place, list listing.List) (c showing, err error) {
	err = p.b.Read(ctx, func(r broker.Reader) error { c = choose(ctx, r, at, list); return nil })
	return c, err //nolint:wrapcheck // the caller asked for just this
}
