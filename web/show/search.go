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
	"mayfly/engine/search/columns"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	searchHits       = 50                     // of one batch
	searchTime       = 120 * time.Millisecond // time limit of one batch; the page's script asks for the next
	maxSuggestedTerm = 80                     // bytes of a suggested term
)

// search searches messages until there are enough to show or the time is up, and returns where
// to continue.
func (p *Pages) search(ctx context.Context, at Address) (view.Page, uint64, error) {
	m := page.Search{Query: strings.TrimSpace(at.Query.Get(page.SearchText))}
	m.Shell = p.staticShell(ctx, at, locale.T(ctx, "search.title"))
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
	from, err := broker.ParseSearchCursor(at.Query.Get(page.SearchAfter))
	if err != nil {
		return nil, 0, ErrPageNotFound
	}
	m.Continued = from != broker.SearchCursor{}
	c, err := p.readColumnChoice(ctx, at, columns.SearchedMessages)
	if err != nil {
		return nil, 0, err
	}
	m.Columns = p.columnMenu(ctx, at.withQuery(page.SearchAfter, "", page.SearchSo, ""), c)
	return m, 0, p.fillBatch(ctx, &m, at, broker.SearchRequest{Query: q, From: from, Max: searchHits}, c)
}

// fillBatch fills in the results of one batch.
func (p *Pages) fillBatch(ctx context.Context, m *page.Search, from Address, in broker.SearchRequest, c columnChoice) error {
	brief, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var last broker.SearchProgress
	var rows []engine.Row
	err := p.b.Search(brief, in, func(g broker.SearchProgress) error {
		last = g
		rows = append(rows, g.Hits...)
		for _, r := range g.Hits {
			row := p.messageRow(ctx, r, g.Now, 0)
			row.Entity, row.EntityURL, row.Edit = DisplayPath(r.Path), p.EntityURL(engine.Queue, r.Path), p.editURL(r, from)
			m.Hits = append(m.Hits, row)
		}
		return nil
	})
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	to := make([]*page.MessageRow, len(m.Hits))
	for i := range m.Hits {
		to[i] = &m.Hits[i]
	}
	if err := p.fillColumns(ctx, &m.Columns, c, rows, to, last.Now); err != nil {
		return err
	}
	var scanned, total, hits int64
	if n, err := fmt.Sscanf(from.Query.Get(page.SearchSo), "%d.%d.%d", &scanned, &total, &hits); err != nil || n != 3 || !m.Continued || min(scanned, total, hits) < 0 {
		scanned, total, hits = 0, last.Total, 0
	}
	scanned, hits = scanned+last.Scanned, hits+last.Matched
	total = max(total, scanned)
	if !last.Done {
		if last.Next == (broker.SearchCursor{}) { // nothing was examined in time
			last.Next = in.From
		}
		m.Next = p.URL(from.withQuery(page.SearchText, in.Query.String(), page.SearchAfter, last.Next.String(), page.SearchSo, fmt.Sprintf("%d.%d.%d", scanned, total, hits)))
	}
	m.Progress = locale.N(ctx, "search.said", int(hits), locale.Args{"Scanned": locale.Number(ctx, int(scanned)), "Total": locale.Number(ctx, int(total))})
	m.AllMatching = page.AllMatching{Query: in.Query.String(), Shown: len(m.Hits) > 0}
	if last.Done {
		m.AllMatching.Count = int(hits)
	}
	if last.Truncated > 0 {
		m.Cut = locale.N(ctx, "search.cut", int(last.Truncated))
	}
	return nil
}

// searchURL returns the address of the search for q.
func (p *Pages) searchURL(q string) string {
	return p.URL(Address{Namespace: p.b.Name(), Kind: Search}.withQuery(page.SearchText, q))
}

// suggestions returns terms to add to a query: values of a few messages, and the keys that
// always exist.
func (p *Pages) suggestions(ctx context.Context, q *search.Query, typed string) (out []component.Choice, err error) {
	terms, err := p.suggests.Terms(ctx)
	if err != nil {
		return nil, err
	}
	base := typed
	if !q.Empty() {
		base = q.String()
	}
	for _, term := range terms {
		if len(term) <= maxSuggestedTerm {
			out = append(out, component.Choice{Label: term, Href: p.searchURL(strings.TrimSpace(base + " " + term))})
		}
	}
	return out, nil
}
