package show

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
	"mayfly/engine/listing"
	"mayfly/engine/search"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// A showing is which columns a list shows, as its address or a view says.
type showing struct {
	list    listing.List
	columns []listing.Column // empty: those of the list itself
	name    string           // of the view that has them; empty: none
	wrong   component.Text   // what was asked for and is not there
	views   []listing.View   // for this list
}

// choose finds out which columns a list at a place has: those in the address, those of
// the view that it names, or of the view that everybody sees there.
func choose(ctx context.Context, r broker.Reader, at Place, list listing.List) showing {
	c := showing{list: list}
	for _, v := range listing.In(r) {
		if v.For(list) {
			c.views = append(c.views, v)
		}
	}
	name := at.Query.Get(page.AskView)
	switch asked := at.Query[page.AskColumn]; {
	case len(asked) > 0:
		all, err := listing.ParseAll(asked)
		if err != nil {
			c.wrong = component.Said(asSentence(err.Error()))
			return c
		}
		c.columns = all
	case name == listing.Standard:
	case name != "":
		v, err := listing.Named(c.views, name)
		if err != nil {
			c.wrong = component.Text{S: locale.T(ctx, "views.missing", locale.Args{"Name": component.Visible(cut(name, 80))})}
			return c
		}
		c.columns, c.name = v.Columns, v.Name
	default:
		if v, ok := listing.DefaultFor(c.views, list); ok {
			c.columns, c.name = v.Columns, v.Name
		}
	}
	return c
}

// menu is what the list's page says of the choice.
func (p *Pages) menu(ctx context.Context, at Place, c showing) page.MessageColumns {
	bare := at.with(page.AskView, "", page.AskColumn, "")
	form := Place{Namespace: at.Namespace, Kind: Views, Do: "edit", Query: url.Values{"back": {bare.String()}}}
	m := page.MessageColumns{Name: c.name, Missing: c.wrong}
	m.Views = append(m.Views, component.Choice{Label: locale.T(ctx, "views.standard"), Href: p.URL(bare), Current: len(c.columns) == 0})
	if _, ok := listing.DefaultFor(c.views, c.list); ok {
		m.Views[0].Href = p.URL(bare.with(page.AskView, listing.Standard))
	}
	for _, v := range c.views {
		m.Views = append(m.Views, component.Choice{Label: component.Visible(v.Name), Href: p.URL(bare.with(page.AskView, v.Name)), Current: v.Name == c.name})
	}
	if c.name != "" {
		form.Query.Set(page.AskView, c.name)
	} else if len(c.columns) > 0 {
		form.Query[page.AskColumn] = listing.Names(c.columns)
	}
	m.Choose = p.URL(form)
	m.All = p.URL(Place{Namespace: at.Namespace, Kind: Views})
	return m
}

// fillColumns gives rows of a table the cells of the columns that were chosen, and
// the table its head. The rows are in the same order on both sides.
func (p *Pages) fillColumns(ctx context.Context, m *page.MessageColumns, c showing, rows []engine.Row, to []*page.MessageRow, now engine.Instant) error {
	inside, err := p.insides(ctx, c.columns, rows, now)
	if err != nil {
		return err
	}
	for i, col := range c.columns {
		head := page.MessageColumn{Name: col.String(), Label: labelOf(col), Num: true}
		some := false
		for j, r := range rows {
			v := inside[glimpse{r.Message.Content, col}]
			if !col.NeedsBody() {
				v = col.Value(r, now, nil)
			}
			to[j].Cells = append(to[j].Cells[:i:i], p.cell(ctx, col, r, v))
			some = some || v.Kind != listing.Nothing
			head.Num = head.Num && (v.Kind == listing.Nothing || v.Kind == listing.Number || v.Kind == listing.Bytes)
		}
		head.Num = head.Num && some
		m.Own = append(m.Own, head)
	}
	return nil
}

// labelOf is what a column is called that is no field.
func labelOf(c listing.Column) string {
	if name, ok := c.Prop(); ok {
		return name
	}
	if path, ok := c.Path(); ok {
		return path.String()
	}
	return ""
}

// longestCell is how many bytes of a value a cell shows at most, title included.
const longestCell = 300

// cell is a value as a page shows it.
func (p *Pages) cell(ctx context.Context, c listing.Column, r engine.Row, v listing.Value) page.Cell {
	switch v.Kind {
	case listing.Nothing:
		if c.String() == listing.Session && r.Content.HasSessionID() {
			return page.Cell{Text: component.SessionName(ctx, "")}
		}
		return page.Cell{}
	case listing.Moment:
		return page.Cell{At: v.At.Time()}
	case listing.Number, listing.Bytes:
		return page.Cell{Text: cut(v.Text, longestCell), Num: true}
	default:
	}
	cell := page.Cell{Text: component.Visible(cut(v.Text, longestCell))}
	switch c.String() {
	case listing.Entity:
		cell = page.Cell{Text: Shown(r.Path), Href: p.EntityURL(engine.Queue, r.Path)}
	case listing.For:
		cell.Text = Shown(engine.Path(v.Text))
	case listing.By:
		cell.Text = component.Visible(hand(ctx, v.Text))
	}
	return cell
}

// A glimpse is one look into a body, which never changes.
type glimpse struct {
	content engine.Key
	column  listing.Column
}

// glimpses keep what was seen in bodies, so that a page that is rendered five times
// a second does not read them each time. The zero value is ready.
type glimpses struct {
	mu   sync.Mutex
	kept map[glimpse]listing.Value // guarded by mu
}

// mostGlimpses is how many are kept, of at most about longestCell bytes each.
const mostGlimpses = 20_000

func (g *glimpses) get(k glimpse) (v listing.Value, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	v, ok = g.kept[k]
	return v, ok
}

func (g *glimpses) put(k glimpse, v listing.Value) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.kept == nil || len(g.kept) >= mostGlimpses {
		g.kept = map[glimpse]listing.Value{}
	}
	g.kept[k] = v
}

// insides are what the columns that want bodies have of some messages. Bodies are
// read beside the broker's turns, and no more than those of a page.
func (p *Pages) insides(ctx context.Context, columns []listing.Column, rows []engine.Row, now engine.Instant) (map[glimpse]listing.Value, error) {
	columns = slices.DeleteFunc(slices.Clone(columns), func(c listing.Column) bool { return !c.NeedsBody() })
	out := map[glimpse]listing.Value{}
	var unread []engine.Delivery
	for _, r := range rows {
		if n := r.Content.BodySize(); len(columns) == 0 || n == 0 || n > listing.MostBody {
			continue
		}
		missing := false
		for _, c := range columns {
			k := glimpse{r.Message.Content, c}
			v, ok := p.inside.get(k)
			out[k], missing = v, missing || !ok
		}
		if missing {
			unread = append(unread, engine.Delivery{Path: r.Path, Message: r.Message, Content: r.Content})
		}
	}
	if len(unread) == 0 {
		return out, nil
	}
	p.b.ReadBodies(ctx, unread)
	for _, d := range unread {
		body, err := p.small(ctx, d)
		if errors.Is(err, engine.ErrMessageNotFound) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		for _, c := range columns {
			k := glimpse{d.Message.Content, c}
			v := c.Value(engine.Row{Path: d.Path, Message: d.Message, Content: d.Content}, now, body)
			v.Text = cut(v.Text, longestCell)
			out[k] = v
			p.inside.put(k, v)
		}
	}
	return out, nil
}

// small is the body of a message whose body is not longer than listing.MostBody.
func (p *Pages) small(ctx context.Context, d engine.Delivery) ([]byte, error) {
	if d.Body != nil {
		return d.Body, nil
	}
	body, err := p.b.Body(ctx, d.Message.Content, d.Content.BodySize())
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	defer body.Close()
	raw, err := io.ReadAll(io.LimitReader(body, listing.MostBody))
	if err != nil {
		return nil, fmt.Errorf("read the body of message %d: %w", d.Message.Key, err)
	}
	return raw, nil
}

// How much is looked at to find out which properties and members there are.
const (
	seenRows   = 100
	seenBodies = 20
	seenMost   = 40 // of each that are offered
	seenRooms  = 20 // places, where a list is of several
	seenThere  = 20 // messages of each of these
)

// offered are the properties that some messages of a list have, and what stands in
// their bodies: what could be a column beside the fields.
func (p *Pages) offered(ctx context.Context, at Place, list listing.List) (props, members []listing.Column, err error) {
	var rows []engine.Row
	err = p.b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		if at.Kind == Entity {
			rows, _ = r.Browse(sampleOf(at.Path, list)) //nolint:errcheck // what is not there has nothing to offer
			return nil
		}
		if at.Kind == Deferred {
			rows = r.Deferred("", 1, seenRows)
			return nil
		}
		rooms := r.Rooms(engine.ClassAll)
		for _, room := range rooms[:min(len(rooms), seenRooms)] {
			some, err := r.Browse(engine.Browse{Path: room.Path, From: 1, Limit: seenThere})
			if err != nil {
				return err //nolint:wrapcheck // it is there in this very turn
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // the caller asked for just this
	}
	add := func(to *[]listing.Column, c listing.Column) {
		if _, err := listing.Parse(c.String()); err == nil && len(*to) < seenMost && !slices.Contains(*to, c) {
			*to = append(*to, c)
		}
	}
	var bodies []engine.Delivery
	for _, r := range rows {
		c, err := r.Content.Content()
		if err != nil {
			continue // rows come out of the broker decoded once already
		}
		for _, prop := range c.Properties {
			add(&props, listing.Prop(prop.Name))
		}
		if n := r.Content.BodySize(); n > 0 && n <= listing.MostBody && len(bodies) < seenBodies {
			bodies = append(bodies, engine.Delivery{Path: r.Path, Message: r.Message, Content: r.Content})
		}
	}
	p.b.ReadBodies(ctx, bodies)
	for _, d := range bodies {
		body, err := p.small(ctx, d)
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
		if doc := search.Document(c.BodyKind, body); doc != nil {
			for _, path := range search.Leaves(doc, seenMost) {
				add(&members, listing.JSON(path))
			}
		}
	}
	return props, members, nil
}

// sampleOf are the first messages of a list.
func sampleOf(path engine.Path, list listing.List) engine.Browse {
	b := engine.Browse{Path: path, From: 1, Limit: seenRows}
	switch list {
	case listing.ScheduledList:
		b.Class = engine.ClassScheduled
	case listing.DeferredList:
		b.Class = engine.ClassDeferred
	case listing.LockedList:
		b.Class = engine.ClassLocked
	case listing.DeadLetterList:
		b.Path = path.DeadLetter()
	case listing.TransferList:
		b.Path = path.Transfer()
	default:
	}
	return b
}
