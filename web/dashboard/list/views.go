package list

import (
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search/columns"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/list"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
)

// Views returns the page of all saved views.
func Views(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	all, err := columns.Views(ctx, p.Broker)
	if err != nil {
		return nil, 0, err
	}
	m := list.Views{Shell: p.StaticShell(ctx, at, locale.T(ctx, "views.title")), New: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Views, Action: "edit"})}
	for _, v := range all {
		m.Rows = append(m.Rows, viewRow(p, v))
	}
	return m, 0, nil
}

func viewRow(p *pages.Pages, v columns.View) list.ViewRow {
	to := func(do string) string {
		return p.URL(pages.Address{Namespace: p.Broker.Name(), Kind: pages.Views, Action: do, Query: url.Values{list.FieldView: {v.Name}}})
	}
	row := list.ViewRow{Name: v.Name, Default: v.Default, Edit: to("edit"), Delete: to("delete")}
	for _, l := range v.Lists {
		row.Lists = append(row.Lists, string(l))
	}
	for _, c := range v.Columns {
		row.Columns = append(row.Columns, list.MessageColumn{Name: c.String(), Label: columnLabel(c)})
	}
	return row
}

// A ViewEdit is the submitted form of a view.
type ViewEdit struct {
	View     columns.View // the submitted view, with the selected columns that are valid
	Original columns.View // the stored view as it was when the form was opened; its Name is empty for a new view
	Columns  []columns.Column
	Hidden   []columns.Column // the columns in Columns that are not selected
	Back     pages.Address    // the list to return to; its Kind is zero if there is none
}

// ParseView reads the form of a view and applies its changes to the columns: selected, typed
// and moved ones. Errors go into t.
func ParseView(ctx context.Context, p *pages.Pages, t *pages.FormState) (a ViewEdit) {
	if t.Errors == nil {
		t.Errors = map[string]component.Text{}
	}
	v := t.Values
	a.Original.Name = v.Get(list.FieldOriginalName)
	if n, err := strconv.ParseInt(v.Get(list.FieldChangedAt), 10, 64); err == nil {
		a.Original.ChangedAt = engine.Instant(n)
	}
	a.Back = p.ListAt(v.Get("back"))
	a.View = columns.View{Name: strings.TrimSpace(v.Get(list.FieldViewName)), Default: v.Get(list.FieldDefault) != ""}
	for _, l := range v[list.FieldList] {
		a.View.Lists = append(a.View.Lists, columns.List(l))
	}
	shown := v[list.FieldShownColumn]
	add := func(text, field string) {
		c, err := columns.Parse(text)
		switch {
		case err != nil:
			t.Errors[field] = component.ServerText(pages.ToSentence(err.Error()))
		case slices.Contains(a.Columns, c):
		case len(a.Columns) >= columns.MaxColumns:
			t.Errors[list.FieldColumn] = component.Text{S: locale.N(ctx, "views.many", columns.MaxColumns)}
		default:
			a.Columns = append(a.Columns, c)
			if field == list.FieldColumn && !slices.Contains(shown, text) {
				a.Hidden = append(a.Hidden, c)
			}
		}
	}
	for _, text := range v[list.FieldColumn] {
		add(text, list.FieldColumn)
	}
	for _, text := range v[list.FieldAddedColumn] {
		add(text, list.FieldAddedColumn)
	}
	if text := strings.TrimSpace(v.Get(list.FieldTypedColumn)); text != "" {
		add(text, list.FieldTypedColumn)
	}
	a.moveColumn(v.Get(list.FieldAction))
	a.View.Columns = slices.DeleteFunc(slices.Clone(a.Columns), func(c columns.Column) bool { return slices.Contains(a.Hidden, c) })
	return a
}

// moveColumn moves a column by one position.
func (a *ViewEdit) moveColumn(deed string) {
	by := -1
	text, ok := strings.CutPrefix(deed, list.ViewUp)
	if !ok {
		if text, ok = strings.CutPrefix(deed, list.ViewDown); !ok {
			return
		}
		by = 1
	}
	i := slices.IndexFunc(a.Columns, func(c columns.Column) bool { return c.String() == text })
	if j := i + by; i >= 0 && j >= 0 && j < len(a.Columns) {
		a.Columns[i], a.Columns[j] = a.Columns[j], a.Columns[i]
	}
}

// URLWith returns the address of a list with the saved view named `view` or, if that is empty,
// with the columns in `shown`.
func URLWith(p *pages.Pages, at pages.Address, view string, shown []columns.Column) string {
	at = at.WithQuery(list.FieldView, view, list.FieldColumn, "")
	if view == "" {
		at.Query[list.FieldColumn] = columns.Names(shown)
	}
	return p.URL(at)
}

// ViewApplies reports whether a view is for the list at an address.
func ViewApplies(p *pages.Pages, at pages.Address, v columns.View) bool {
	return v.AppliesTo(listOf(p, at))
}

// listOf returns the kind of list at an address.
func listOf(p *pages.Pages, at pages.Address) columns.List {
	if r := p.Route(at); r != nil && r.Kind != pages.Entity && r.List != "" {
		return r.List
	}
	if l := columns.List(at.Query.Get("tab")); slices.Contains(columns.Lists(), l) {
		return l
	}
	return columns.Messages
}

// ViewForm returns the form for a list's columns, or asks to confirm the deletion of a view.
func ViewForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	if at.Action == "delete" {
		return confirmDeleteView(ctx, p, at)
	}
	var a ViewEdit
	if t.Values != nil {
		a = ParseView(ctx, p, &t)
	} else {
		var err error
		if a, err = initialViewEdit(ctx, p, at); err != nil {
			return nil, err
		}
	}
	all := pages.Address{Namespace: at.Namespace, Kind: pages.Views}
	m := list.ViewForm{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "views.columns")), To: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Views, Action: "edit"}), Cancel: p.URL(all),
		Name: a.View.Name, Was: a.Original.Name, Seen: strconv.FormatInt(int64(a.Original.ChangedAt), 10), Default: a.View.Default, Errors: t.Errors, Refused: t.Refused,
	}
	if t.Errors[list.FieldTypedColumn].S != "" {
		m.Other = t.Values.Get(list.FieldTypedColumn)
	}
	kind := columns.Messages
	if a.Back.Kind != "" {
		kind, m.Back, m.Cancel = listOf(p, a.Back), p.URL(a.Back), p.URL(a.Back)
		if v, own := at.Query.Get(list.FieldView), at.Query[list.FieldColumn]; v != "" || len(own) > 0 {
			was := a.Back.WithQuery(list.FieldView, v)
			was.Query[list.FieldColumn] = own
			m.Cancel = p.URL(was)
		}
	}
	for _, l := range columns.Lists() {
		m.Lists = append(m.Lists, list.Checkbox{Value: string(l), On: slices.Contains(a.View.Lists, l)})
	}
	for _, c := range a.Columns {
		m.Columns = append(m.Columns, list.Checkbox{Value: c.String(), Label: columnLabel(c), On: !slices.Contains(a.Hidden, c)})
	}
	props, members, err := suggestColumns(ctx, p, a.Back, kind)
	if err != nil {
		return nil, err
	}
	var fields []columns.Column
	for _, f := range columns.Fields() {
		if c, err := columns.Parse(f); err == nil {
			fields = append(fields, c)
		}
	}
	for _, g := range []struct {
		label string
		all   []columns.Column
	}{{"views.more.props", props}, {"views.more.members", members}, {"views.more.fields", fields}} {
		group := list.CheckboxGroup{Label: g.label}
		for _, c := range g.all {
			if !slices.Contains(a.Columns, c) {
				group.Ticks = append(group.Ticks, list.Checkbox{Value: c.String(), Label: columnLabel(c)})
			}
		}
		if len(group.Ticks) > 0 {
			m.More = append(m.More, group)
		}
	}
	return m, nil
}

// initialViewEdit returns the initial form for a view, or for the columns of a list.
func initialViewEdit(ctx context.Context, p *pages.Pages, at pages.Address) (a ViewEdit, err error) {
	a.Back = p.ListAt(at.Query.Get("back"))
	kind := listOf(p, a.Back)
	if name := at.Query.Get(list.FieldView); name != "" {
		all, err := columns.Views(ctx, p.Broker)
		if err != nil {
			return a, err
		}
		if a.View, err = columns.FindView(all, name); err != nil {
			return a, err
		}
		a.Original, a.Columns = a.View, a.View.Columns
		return a, nil
	}
	if a.Columns, err = columns.ParseAll(at.Query[list.FieldColumn]); err != nil || len(a.Columns) == 0 {
		names := list.StandardColumns(string(kind))
		if a.Back.Kind == pages.Deferred { // the list covers several entities
			names = slices.Insert(names, 1, columns.Entity)
		}
		if a.Columns, err = columns.ParseAll(names); err != nil {
			return a, err
		}
	}
	if a.Back.Kind != "" {
		a.View.Lists = []columns.List{kind}
	}
	return a, nil
}

func confirmDeleteView(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, error) {
	all, err := columns.Views(ctx, p.Broker)
	if err != nil {
		return nil, err
	}
	v, err := columns.FindView(all, at.Query.Get(list.FieldView))
	if err != nil {
		return nil, err
	}
	return list.ConfirmDeleteView{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "views.title")), To: p.URL(at), Cancel: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Views}), Row: viewRow(p, v),
	}, nil
}

// ReadColumnChoice calls ChooseColumns in a turn of its own, for pages whose list is not read in a
// single turn.
func ReadColumnChoice(ctx context.Context, p *pages.Pages, at pages.Address, kind columns.List) (c ColumnChoice, err error) {
	err = p.Broker.Read(ctx, func(r broker.Reader) error { c = ChooseColumns(ctx, r, at, kind); return nil })
	return c, err
}
