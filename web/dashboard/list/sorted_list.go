package list

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/engine/search/columns"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/list"
	"mayfly/web/dashboard/pages"
)

// The list of an entity's messages is live if it is sorted by sequence number. In another order,
// or filtered by a query, it is not live: each request examines messages outside the broker's
// turns, and the page shows how many it has examined (dashboard §3.2).
const (
	maxSorted = 50_000          // number of messages that are examined
	sortTime  = 2 * time.Second // time limit for examining them
)

var errStop = errors.New("enough was looked at")

// A listOrder is the order and filter of a list.
type listOrder struct {
	by      columns.Column // zero means by sequence number
	down    bool
	text    string // the query, as typed
	problem string // the error of the query
}

// IsStatic reports whether a valid query or an order other than by ascending sequence number makes
// the list differ from the live one.
func (o listOrder) IsStatic() bool {
	return o.problem == "" && (o.text != "" || o.by != (columns.Column{}) || o.down)
}

// ParseOrder reads the order and the filter from a list's address. If the list cannot be sorted by
// the column, the order is by sequence number.
func ParseOrder(at pages.Address) (o listOrder) {
	o.text = strings.TrimSpace(at.Query.Get(page.SearchText))
	if _, err := search.Parse(o.text); err != nil {
		o.problem = err.Error()
	}
	if c, err := columns.Parse(at.Query.Get(list.FieldSort)); err == nil && c.Sortable() && c.String() != columns.Seq {
		o.by = c
	}
	o.down = at.Query.Get(list.FieldDir) == list.Descending
	return o
}

// SortMenu adds the choices of order and filter.
func SortMenu(p *pages.Pages, at pages.Address, m *entity.Entity, o listOrder, shown []columns.Column) {
	bare := at.WithQuery("from", "", "page", "")
	if len(shown) == 0 {
		shown, _ = columns.ParseAll(list.StandardColumns(string(m.Tab))) //nolint:errcheck // a test parses them all
	}
	s := &m.Columns.Sort
	s.By, s.Down = columns.Seq, o.down
	if o.by != (columns.Column{}) {
		s.By = o.by.String()
	}
	s.Href = map[string]string{}
	for _, c := range shown {
		if !c.Sortable() {
			continue
		}
		by, dir := c.String(), ""
		if s.By == by && !s.Down {
			dir = list.Descending
		}
		if by == columns.Seq {
			by = ""
		}
		s.Href[c.String()] = p.URL(bare.WithQuery(list.FieldSort, by, list.FieldDir, dir))
	}
	m.ListFilter = list.Filter{Query: o.text, Wrong: o.problem, NotLive: o.IsStatic(), Incomplete: m.ListFilter.Incomplete, ReloadURL: m.Shell.Back, UnfilteredURL: p.URL(bare.WithQuery(page.SearchText, "", list.FieldSort, "", list.FieldDir, ""))}
	for name, values := range bare.Query {
		for _, v := range values {
			if name != page.SearchText {
				m.ListFilter.Kept = append(m.ListFilter.Kept, page.HiddenField{Name: name, Value: v})
			}
		}
	}
	slices.SortStableFunc(m.ListFilter.Kept, func(a, b page.HiddenField) int { return strings.Compare(a.Name, b.Name) })
}

// Sorted returns one page of rows of a list that is not live.
func Sorted(ctx context.Context, p *pages.Pages, at pages.Address, m *entity.Entity, o listOrder, now engine.Instant) (rows []engine.Row, err error) {
	text := strings.TrimSpace(m.AllMatching.Query + " " + o.text)
	q, err := search.Parse(text)
	if err != nil {
		return nil, err
	}
	where := engine.Path(m.AllMatching.Path)
	var found []sortEntry
	var last broker.SearchProgress
	brief, cancel := context.WithTimeout(ctx, sortTime)
	defer cancel()
	err = p.Broker.Search(brief, broker.SearchRequest{Query: q.Within(string(where))}, func(g broker.SearchProgress) error {
		last = g
		for i := range g.Hits {
			if r := &g.Hits[i]; r.Path == where || r.Path.Fold() == where.Fold() {
				found = append(found, o.sortEntry(len(found), r, now))
			}
		}
		if g.Scanned >= maxSorted {
			return errStop
		}
		return nil
	})
	cutOff := errors.Is(err, errStop) && !last.Done || errors.Is(err, context.DeadlineExceeded)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, errStop) && !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err
	}
	o.sort(found)
	if cutOff {
		m.ListFilter.Incomplete = locale.N(ctx, "list.cut", int(last.Scanned), locale.Args{"Total": locale.Number(ctx, int(last.Total))})
	}
	n, _ := pages.ParseNumber(at.Query.Get("page")) // anything else means the first
	from := min(int(min(max(n, 1)-1, maxSorted))*MessagesOnPage, len(found))
	if rows, err = rowsOfEntries(ctx, p, where, found[from:min(from+MessagesOnPage, len(found))]); err != nil {
		return nil, err
	}
	m.AllMatching.NotLive, m.AllMatching.Query, m.AllMatching.Shown, m.AllMatching.Count = true, text, len(found) > len(rows) || o.text != "", len(found)
	if cutOff {
		m.AllMatching.Count = 0
	}
	m.Pages.Note = locale.N(ctx, "pager.note", len(found), locale.Args{"Shown": locale.Number(ctx, len(rows))})
	if from > 0 {
		m.Pages.First = p.URL(at.WithQuery("page", ""))
	}
	if from+MessagesOnPage < len(found) {
		m.Pages.Next = p.URL(at.WithQuery("page", strconv.Itoa(from/MessagesOnPage+2)))
	}
	return rows, nil
}

// A sortEntry is what sorting needs of a message. Whole rows are too large to keep for messages
// that the page may not show.
type sortEntry struct {
	key engine.Key
	n   int           // the message's position by sequence number
	v   columns.Value // the value to sort by
}

func (o listOrder) sortEntry(n int, r *engine.Row, now engine.Instant) sortEntry {
	if o.by == (columns.Column{}) {
		return sortEntry{key: r.Message.Key, n: n}
	}
	return sortEntry{r.Message.Key, n, o.by.Value(*r, now, nil)}
}

// sort sorts entries that are in the order of sequence numbers. Those without a value come last
// in either direction.
func (o listOrder) sort(all []sortEntry) {
	if o.by == (columns.Column{}) {
		if o.down {
			slices.Reverse(all)
		}
		return
	}
	slices.SortFunc(all, func(a, b sortEntry) int {
		by := a.v.Compare(b.v)
		if o.down && a.v.Kind != columns.Nothing && b.v.Kind != columns.Nothing {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(a.n, b.n))
	})
}

// rowsOfEntries returns the current rows of entries, without messages that have left the subqueue
// `where`.
func rowsOfEntries(ctx context.Context, p *pages.Pages, where engine.Path, of []sortEntry) (rows []engine.Row, err error) {
	err = p.Broker.Read(ctx, func(r broker.Reader) error {
		rows = rows[:0]
		for _, m := range of {
			if row, err := r.Message(m.key); err == nil && row.Path.Fold() == where.Fold() {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err
}
