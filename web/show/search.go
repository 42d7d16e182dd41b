package show

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	searchHits    = 50                     // of one portion
	searchFor     = 700 * time.Millisecond // that one portion may take
	sampledRooms  = 20                     // places that suggestions come from
	sampledRows   = 20                     // messages of each
	mostSuggested = 12                     // of each sort
)

// search looks for messages until there are enough to show or the time for it
// is over, and says where to go on.
func (p *Pages) search(ctx context.Context, at Place) (view.Page, uint64, error) {
	m := page.Search{Query: strings.TrimSpace(at.Query.Get(page.SearchText))}
	m.Shell = p.still(ctx, at, locale.T(ctx, "search.title"))
	m.Shell.Back = p.searchURL(m.Query)
	q, err := search.Parse(m.Query)
	if err != nil {
		m.Wrong = err.Error()
		q = nil
	}
	if m.More, err = p.suggestions(ctx, q, m.Query); err != nil {
		return nil, 0, err
	}
	if q.Empty() {
		return m, 0, nil
	}
	for i, t := range q.Terms() {
		m.Chips = append(m.Chips, page.SearchChip{Term: t, Without: p.searchURL(q.Without(i).String())})
	}
	from, err := broker.ParseMark(at.Query.Get(page.SearchAfter))
	if err != nil {
		return nil, 0, ErrNoPage
	}
	m.Going = from != broker.Mark{}
	return m, 0, p.portion(ctx, &m, q, broker.Search{Query: q, From: from, Max: searchHits}, at.Query.Get(page.SearchSo))
}

// portion fills in what is found in the time there is.
func (p *Pages) portion(ctx context.Context, m *page.Search, q *search.Query, in broker.Search, former string) error {
	brief, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	var last broker.Glance
	err := p.b.Search(brief, in, func(g broker.Glance) error {
		last = g
		for _, r := range g.Hits {
			m.Hits = append(m.Hits, page.Hit{
				MessageRow: p.messageRow(ctx, r, g.Now, 0), Entity: Shown(r.Path), EntityAt: p.EntityURL(engine.Queue, r.Path),
			})
		}
		return nil
	})
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err //nolint:wrapcheck // it says what it is about
	}
	var scanned, total, hits int64
	if n, err := fmt.Sscanf(former, "%d.%d.%d", &scanned, &total, &hits); err != nil || n != 3 || !m.Going || min(scanned, total, hits) < 0 {
		scanned, total, hits = 0, last.Total, 0
	}
	scanned, hits = scanned+last.Scanned, hits+last.Matched
	total = max(total, scanned)
	if !last.Done {
		if last.Next == (broker.Mark{}) { // it did not come to look at anything
			last.Next = in.From
		}
		at := Place{Namespace: p.b.Name(), Kind: Search}.with(
			page.SearchText, q.String(), page.SearchAfter, last.Next.String(), page.SearchSo, fmt.Sprintf("%d.%d.%d", scanned, total, hits))
		m.Next = p.URL(at)
	}
	m.Said = locale.N(ctx, "search.said", int(hits), locale.Args{"Scanned": locale.Number(ctx, int(scanned)), "Total": locale.Number(ctx, int(total))})
	if last.Cut > 0 {
		m.Cut = locale.N(ctx, "search.cut", int(last.Cut))
	}
	return nil
}

// searchURL is the search for q.
func (p *Pages) searchURL(q string) string {
	return p.URL(Place{Namespace: p.b.Name(), Kind: Search}.with(page.SearchText, q))
}

// suggestions are terms to add to a query: what a few messages have, and the
// keys that are always there.
func (p *Pages) suggestions(ctx context.Context, q *search.Query, typed string) (out []component.Choice, err error) {
	var rows []engine.Row
	var rooms []engine.Room
	err = p.b.Read(ctx, func(r broker.Reader) error {
		rooms, rows = r.Rooms(engine.ClassAll), nil
		for _, room := range rooms[:min(len(rooms), sampledRooms)] {
			some, err := r.Browse(engine.Browse{Path: room.Path, From: 1, Limit: sampledRows})
			if err != nil {
				return err //nolint:wrapcheck // it is there in this very turn
			}
			rows = append(rows, some...)
		}
		return nil
	})
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller asked for just this
	}
	base := typed
	if !q.Empty() {
		base = q.String()
	}
	had := map[string]bool{}
	add := func(n *int, term string) {
		if _, err := search.Parse(term); err != nil || had[term] || *n == mostSuggested || len(term) > 80 {
			return
		}
		had[term] = true
		*n++
		out = append(out, component.Choice{Label: term, Href: p.searchURL(strings.TrimSpace(base + " " + term))})
	}
	var places, properties, reasons int
	for _, s := range search.States() {
		add(new(int), "state:"+s)
	}
	for _, room := range rooms {
		add(&places, "in:"+search.Quoted(string(room.Path.Entity())))
	}
	for _, r := range rows {
		if x := r.Message.Extra; x != nil && x.Reason != "" && r.Path.IsDeadLetter() {
			add(&reasons, "reason:"+search.Quoted(x.Reason))
		}
		c, err := r.Content.Content()
		if err != nil {
			continue // rows come out of the broker decoded once already
		}
		for _, prop := range c.Properties {
			if !had["prop "+prop.Name] {
				had["prop "+prop.Name] = true
				add(&properties, "prop."+search.Quoted(prop.Name)+":"+search.Quoted(prop.Value.Text()))
			}
		}
	}
	for _, k := range search.Keys() {
		if k.Name != "state" && k.Name != "in" && k.Name != "reason" && k.Name != "prop." {
			add(new(int), k.Example)
		}
	}
	return out, nil
}
