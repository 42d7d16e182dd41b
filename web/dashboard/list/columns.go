package list

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"sync"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/engine/search/columns"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/list"
	"mayfly/web/dashboard/pages"
)

// A ColumnChoice is the choice of columns of a list, from its address or a view.
type ColumnChoice struct {
	List    columns.List
	Columns []columns.Column // empty means the list's default columns
	name    string           // name of the view that the columns come from; empty means none
	problem component.Text   // why the requested columns are not shown
	views   []columns.View   // saved views for this list
}

// ChooseColumns determines the columns of a list: those in the address, else those of the view it
// names, else those of the default view.
func ChooseColumns(ctx context.Context, r broker.Reader, at pages.Address, kind columns.List) ColumnChoice {
	c := ColumnChoice{List: kind}
	for _, v := range columns.ViewsIn(r) {
		if v.AppliesTo(kind) {
			c.views = append(c.views, v)
		}
	}
	name := at.Query.Get(list.FieldView)
	switch asked := at.Query[list.FieldColumn]; {
	case len(asked) > 0:
		all, err := columns.ParseAll(asked)
		if err != nil {
			c.problem = component.ServerText(pages.ToSentence(err.Error()))
			return c
		}
		c.Columns = all
	case name == columns.Standard:
	case name != "":
		v, err := columns.FindView(c.views, name)
		if err != nil {
			c.problem = component.Text{S: locale.T(ctx, "views.missing", locale.Args{"Name": component.ShowInvisible(shorten.To(name, 80))})}
			return c
		}
		c.Columns, c.name = v.Columns, v.Name
	default:
		if v, ok := columns.DefaultFor(c.views, kind); ok {
			c.Columns, c.name = v.Columns, v.Name
		}
	}
	return c
}

// ColumnMenu returns the column menu of a list.
func ColumnMenu(ctx context.Context, p *pages.Pages, at pages.Address, c ColumnChoice) list.MessageColumns {
	bare := at.WithQuery(list.FieldView, "", list.FieldColumn, "")
	form := pages.Address{Namespace: at.Namespace, Kind: pages.Views, Action: "edit", Query: url.Values{"back": {bare.String()}}}
	m := list.MessageColumns{Name: c.name, Missing: c.problem}
	m.Views = append(m.Views, component.Choice{Label: locale.T(ctx, "views.standard"), Href: p.URL(bare), Current: len(c.Columns) == 0})
	if _, ok := columns.DefaultFor(c.views, c.List); ok {
		m.Views[0].Href = p.URL(bare.WithQuery(list.FieldView, columns.Standard))
	}
	for _, v := range c.views {
		m.Views = append(m.Views, component.Choice{Label: component.ShowInvisible(v.Name), Href: p.URL(bare.WithQuery(list.FieldView, v.Name)), Current: v.Name == c.name})
	}
	if c.name != "" {
		form.Query.Set(list.FieldView, c.name)
	} else if len(c.Columns) > 0 {
		form.Query[list.FieldColumn] = columns.Names(c.Columns)
	}
	m.Choose = p.URL(form)
	m.All = p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Views})
	return m
}

// FillColumns adds the cells of the chosen columns to the table rows in `to`, which have the same
// order as `rows`, and the headings to the table.
func FillColumns(ctx context.Context, p *pages.Pages, m *list.MessageColumns, c ColumnChoice, rows []engine.Row, to []*list.MessageRow, now engine.Instant) error {
	inside, err := bodyValues(ctx, p, c.Columns, rows, now)
	if err != nil {
		return err
	}
	for i, col := range c.Columns {
		head := list.MessageColumn{Name: col.String(), Label: columnLabel(col), Num: true}
		some := false
		for j, r := range rows {
			v := inside[bodyColumn{r.Message.Content, col}]
			if !col.NeedsBody() {
				v = col.Value(r, now, nil)
			}
			to[j].Cells = append(to[j].Cells[:i:i], cell(ctx, p, col, r, v))
			some = some || v.Kind != columns.Nothing
			head.Num = head.Num && (v.Kind == columns.Nothing || v.Kind == columns.Number || v.Kind == columns.Bytes)
		}
		head.Num = head.Num && some
		m.Own = append(m.Own, head)
	}
	return nil
}

// columnLabel returns the heading of a column that is a property or a body member, or "" for a
// field.
func columnLabel(c columns.Column) string {
	if name, ok := c.Prop(); ok {
		return name
	}
	if path, ok := c.Path(); ok {
		return path.String()
	}
	return ""
}

// maxCellBytes is how many bytes of a value a cell shows at most, including its tooltip.
const maxCellBytes = 300

// cell returns a value as a page shows it.
func cell(ctx context.Context, p *pages.Pages, c columns.Column, r engine.Row, v columns.Value) list.Cell {
	switch v.Kind {
	case columns.Nothing:
		if c.String() == columns.Session && r.Content.HasSessionID() {
			return list.Cell{Text: component.SessionName(ctx, "")}
		}
		return list.Cell{}
	case columns.Moment:
		return list.Cell{At: v.At.Time()}
	case columns.Number, columns.Bytes:
		return list.Cell{Text: shorten.To(v.Text, maxCellBytes), Num: true}
	default:
	}
	cell := list.Cell{Text: component.ShowInvisible(shorten.To(v.Text, maxCellBytes))}
	switch c.String() {
	case columns.Entity:
		cell = list.Cell{Text: pages.DisplayPath(r.Path), Href: p.EntityURL(engine.Queue, r.Path)}
	case columns.Destination:
		cell.Text = pages.DisplayPath(engine.Path(v.Text))
	case columns.Actor:
		cell.Text = component.ShowInvisible(pages.ActorName(ctx, v.Text))
	}
	return cell
}

// A bodyColumn identifies the value of a column in a body. The value never changes, because
// bodies do not.
type bodyColumn struct {
	content engine.Key
	column  columns.Column
}

// bodyValueCache caches values found in bodies, so that a page that is rendered five times a second
// does not read them each time. The zero value is ready to use.
type bodyValueCache struct {
	mu     sync.Mutex
	values map[bodyColumn]columns.Value // guarded by mu
}

// maxBodyValues is how many values are cached, of about maxCellBytes bytes each at most.
const maxBodyValues = 20_000

func (g *bodyValueCache) get(k bodyColumn) (v columns.Value, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok = g.values[k]
	return v, ok
}

func (g *bodyValueCache) put(k bodyColumn, v columns.Value) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.values == nil || len(g.values) >= maxBodyValues {
		g.values = map[bodyColumn]columns.Value{}
	}
	g.values[k] = v
}

// bodyValues returns the values of the columns that need bodies. It reads bodies outside the
// broker's turns, and only those of the rows on one page.
func bodyValues(ctx context.Context, p *pages.Pages, shown []columns.Column, rows []engine.Row, now engine.Instant) (map[bodyColumn]columns.Value, error) {
	shown = slices.DeleteFunc(slices.Clone(shown), func(c columns.Column) bool { return !c.NeedsBody() })
	out := map[bodyColumn]columns.Value{}
	var unread []engine.Delivery
	for _, r := range rows {
		if n := r.Content.BodySize(); len(shown) == 0 || n == 0 || n > columns.MaxBody {
			continue
		}
		missing := false
		for _, c := range shown {
			k := bodyColumn{r.Message.Content, c}
			v, ok := pages.State[bodyValueCache](p).get(k)
			out[k], missing = v, missing || !ok
		}
		if missing {
			unread = append(unread, engine.Delivery{Path: r.Path, Message: r.Message, Content: r.Content})
		}
	}
	if len(unread) == 0 {
		return out, nil
	}
	p.Broker.ReadBodies(ctx, unread)
	for _, d := range unread {
		body, err := smallBody(ctx, p, d)
		if errors.Is(err, engine.ErrMessageNotFound) {
			continue // the message has been removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, c := range shown {
			k := bodyColumn{d.Message.Content, c}
			v := c.Value(engine.Row{Path: d.Path, Message: d.Message, Content: d.Content}, now, body)
			v.Text = shorten.To(v.Text, maxCellBytes)
			out[k] = v
			pages.State[bodyValueCache](p).put(k, v)
		}
	}
	return out, nil
}

// smallBody returns the body of a message whose body is no longer than columns.MaxBody.
func smallBody(ctx context.Context, p *pages.Pages, d engine.Delivery) ([]byte, error) {
	if d.Body != nil {
		return d.Body, nil
	}
	body, err := p.Broker.Body(ctx, d.Message.Content, d.Content.BodySize())
	if err != nil {
		return nil, err
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, columns.MaxBody))
	if err != nil {
		return nil, fmt.Errorf("read the body of message %d: %w", d.Message.Key, err)
	}
	return raw, nil
}

// Limits of the search for properties and body members.
const (
	sampledRows         = 100
	sampledBodies       = 20
	maxSuggestedColumns = 40 // suggested properties, and as many suggested body members
	sampledSubqueues    = 20 // subqueues sampled for a list of several
	sampledPerSubqueue  = 20 // messages sampled from each subqueue
)

// suggestColumns returns the properties and body members of some messages of a list: the columns that
// it could have besides fields.
func suggestColumns(ctx context.Context, p *pages.Pages, at pages.Address, kind columns.List) (props, members []columns.Column, err error) {
	var rows []engine.Row
	err = p.Broker.Read(ctx, func(r broker.Reader) error {
		rows = nil
		if at.Kind == pages.Entity {
			rows, _ = r.Browse(sampleQuery(at.Path, kind)) //nolint:errcheck // a missing entity has nothing to suggest
			return nil
		}
		if at.Kind == pages.Deferred {
			rows = r.Deferred("", 1, sampledRows)
			return nil
		}
		rooms := r.SubqueuesWith(engine.ClassAll)
		for _, room := range rooms[:min(len(rooms), sampledSubqueues)] {
			some, err := r.Browse(engine.Browse{Path: room.Path, From: 1, Limit: sampledPerSubqueue})
			if err != nil {
				return err
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	add := func(to *[]columns.Column, c columns.Column) {
		if _, err := columns.Parse(c.String()); err == nil && len(*to) < maxSuggestedColumns && !slices.Contains(*to, c) {
			*to = append(*to, c)
		}
	}
	var bodies []engine.Delivery
	for _, r := range rows {
		c, err := r.Content.Content()
		if err != nil {
			continue // the broker has decoded every row it returns
		}
		for _, prop := range c.Properties {
			add(&props, columns.Prop(prop.Name))
		}
		if n := r.Content.BodySize(); n > 0 && n <= columns.MaxBody && len(bodies) < sampledBodies {
			bodies = append(bodies, engine.Delivery{Path: r.Path, Message: r.Message, Content: r.Content})
		}
	}
	p.Broker.ReadBodies(ctx, bodies)
	for _, d := range bodies {
		body, err := smallBody(ctx, p, d)
		if errors.Is(err, engine.ErrMessageNotFound) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		c, err := d.Content.Content()
		if err != nil {
			continue
		}
		if doc := search.JSONDocument(c.BodyKind, body); doc != nil {
			for _, path := range search.LeafPaths(doc, maxSuggestedColumns) {
				add(&members, columns.JSON(path))
			}
		}
	}
	return props, members, nil
}

// sampleQuery returns a query for the first messages of a list.
func sampleQuery(path engine.Path, kind columns.List) engine.Browse {
	b := engine.Browse{Path: path, From: 1, Limit: sampledRows}
	switch kind {
	case columns.ScheduledList:
		b.Class = engine.ClassScheduled
	case columns.DeferredList:
		b.Class = engine.ClassDeferred
	case columns.LockedList:
		b.Class = engine.ClassLocked
	case columns.DeadLetterList:
		b.Path = path.DeadLetter()
	case columns.TransferList:
		b.Path = path.Transfer()
	default:
	}
	return b
}
