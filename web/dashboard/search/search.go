package search

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
	listpage "mayfly/views/page/list"
	searchpage "mayfly/views/page/search"
	"mayfly/views/view"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
)

const (
	searchHits       = 50                     // results of one batch
	searchTime       = 120 * time.Millisecond // time limit of one batch, after which the script requests the next
	maxSuggestedTerm = 80                     // bytes of a suggested term
)

// Search returns the page of a search, with one batch of its results and the address of the next
// batch.
func Search(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	m := searchpage.Search{Query: strings.TrimSpace(at.Query.Get(page.SearchText))}
	m.Shell = p.StaticShell(ctx, at, locale.T(ctx, "search.title"))
	m.Shell.Back = p.SearchURL(m.Query)
	q, err := search.Parse(m.Query)
	if err != nil {
		m.Wrong = err.Error()
		q = nil
	}
	if m.More, err = suggestions(ctx, p, q, m.Query); err != nil {
		return nil, 0, err
	}
	if q.Empty() {
		return m, 0, nil
	}
	for i, t := range q.Terms() {
		m.Chips = append(m.Chips, page.SearchChip{Term: t, Without: p.SearchURL(q.Without(i).String())})
	}
	from, err := broker.ParseSearchCursor(at.Query.Get(page.SearchAfter))
	if err != nil {
		return nil, 0, pages.ErrPageNotFound
	}
	m.Continued = from != broker.SearchCursor{}
	c, err := list.ReadColumnChoice(ctx, p, at, columns.SearchedMessages)
	if err != nil {
		return nil, 0, err
	}
	m.Columns = list.ColumnMenu(ctx, p, at.WithQuery(page.SearchAfter, "", page.SearchSo, ""), c)
	return m, 0, fillBatch(ctx, p, &m, at, broker.SearchRequest{Query: q, From: from, Max: searchHits}, c)
}

// fillBatch fills in the results of one batch.
func fillBatch(ctx context.Context, p *pages.Pages, m *searchpage.Search, from pages.Address, in broker.SearchRequest, c list.ColumnChoice) error {
	brief, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var last broker.SearchProgress
	var rows []engine.Row
	err := p.Broker.Search(brief, in, func(g broker.SearchProgress) error {
		last = g
		rows = append(rows, g.Hits...)
		for _, r := range g.Hits {
			row := list.MessageRow(ctx, p, r, g.Now, 0)
			row.Entity, row.EntityURL, row.Edit = pages.DisplayPath(r.Path), p.EntityURL(engine.Queue, r.Path), p.EditURL(r, from)
			m.Hits = append(m.Hits, row)
		}
		return nil
	})
	if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
		return err
	}
	to := make([]*listpage.MessageRow, len(m.Hits))
	for i := range m.Hits {
		to[i] = &m.Hits[i]
	}
	if err := list.FillColumns(ctx, p, &m.Columns, c, rows, to, last.Now); err != nil {
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
		m.Next = p.URL(from.WithQuery(page.SearchText, in.Query.String(), page.SearchAfter, last.Next.String(), page.SearchSo, fmt.Sprintf("%d.%d.%d", scanned, total, hits)))
	}
	m.Progress = locale.N(ctx, "search.said", int(hits), locale.Args{"Scanned": locale.Number(ctx, int(scanned)), "Total": locale.Number(ctx, int(total))})
	m.AllMatching = listpage.AllMatching{Query: in.Query.String(), Shown: len(m.Hits) > 0}
	if last.Done {
		m.AllMatching.Count = int(hits)
	}
	if last.Truncated > 0 {
		m.Cut = locale.N(ctx, "search.cut", int(last.Truncated))
	}
	return nil
}

// suggestions returns terms to add to a query: values of a few messages, and the keys that
// always exist.
func suggestions(ctx context.Context, p *pages.Pages, q *search.Query, typed string) (out []component.Choice, err error) {
	terms, err := p.Suggests.Terms(ctx)
	if err != nil {
		return nil, err
	}
	base := typed
	if !q.Empty() {
		base = q.String()
	}
	for _, term := range terms {
		if len(term) <= maxSuggestedTerm {
			out = append(out, component.Choice{Label: term, Href: p.SearchURL(strings.TrimSpace(base + " " + term))})
		}
	}
	return out, nil
}
