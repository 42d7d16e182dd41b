package show

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/listing"
	"mayfly/engine/search"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	searchHits    = 50                     // of one portion
	searchFor     = 120 * time.Millisecond // that one portion may take; the page's script asks for the next
	mostSuggested = 80                     // bytes of a term that is proposed
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
	c, err := p.chosenFor(ctx, at, listing.SearchedMessages)
	if err != nil {
		return nil, 0, err
	}
	m.Columns = p.menu(ctx, at.with(page.SearchAfter, "", page.SearchSo, ""), c)
	return m, 0, p.portion(ctx, &m, at, broker.Search{Query: q, From: from, Max: searchHits}, c)
}

// portion fills in what is found in the time there is.
func (p *Pages) portion(ctx context.Context, m *page.Search, from Place, in broker.Search, c showing) error {
	brief, cancel := context.WithTimeout(ctx, searchFor)
	defer cancel()
	var last broker.Glance
	var rows []engine.Row
	err := p.b.Search(brief, in, func(g broker.Glance) error {
		last = g
		rows = append(rows, g.Hits...)
		for _, r := range g.Hits {
			row := p.messageRow(ctx, r, g.Now, 0)
			row.Entity, row.EntityAt, row.Edit = Shown(r.Path), p.EntityURL(engine.Queue, r.Path), p.editURL(r, from)
			m.Hits = append(m.Hits, row)
		}
		return nil
	})
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err //nolint:wrapcheck // it says what it is about
	}
	to := make([]*page.MessageRow, len(m.Hits))
	for i := range m.Hits {
		to[i] = &m.Hits[i]
	}
	if err := p.fillColumns(ctx, &m.Columns, c, rows, to, last.Now); err != nil {
		return err
	}
	var scanned, total, hits int64
	if n, err := fmt.Sscanf(from.Query.Get(page.SearchSo), "%d.%d.%d", &scanned, &total, &hits); err != nil || n != 3 || !m.Going || min(scanned, total, hits) < 0 {
		scanned, total, hits = 0, last.Total, 0
	}
	scanned, hits = scanned+last.Scanned, hits+last.Matched
	total = max(total, scanned)
	if !last.Done {
		if last.Next == (broker.Mark{}) { // it did not come to look at anything
			last.Next = in.From
		}
		m.Next = p.URL(from.with(page.SearchText, in.Query.String(), page.SearchAfter, last.Next.String(), page.SearchSo, fmt.Sprintf("%d.%d.%d", scanned, total, hits)))
	}
	m.Said = locale.N(ctx, "search.said", int(hits), locale.Args{"Scanned": locale.Number(ctx, int(scanned)), "Total": locale.Number(ctx, int(total))})
	m.Every = page.Every{Query: in.Query.String(), Shown: len(m.Hits) > 0}
	if last.Done {
		m.Every.N = int(hits)
	}
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
	terms, err := p.suggests.Terms(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	base := typed
	if !q.Empty() {
		base = q.String()
	}
	for _, term := range terms {
		if len(term) <= mostSuggested {
			out = append(out, component.Choice{Label: term, Href: p.searchURL(strings.TrimSpace(base + " " + term))})
		}
	}
	return out, nil
}
