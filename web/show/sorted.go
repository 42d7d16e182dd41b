package show

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
	"mayfly/engine/listing"
	"mayfly/engine/search"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// A list of an entity's messages is in the order of their numbers, and live. In another
// order, or narrowed by a query, it stands still: it is made beside the broker's turns
// whenever the page is asked for, and says how far it looked (dashboard §3.2).
const (
	sortMost = 50_000          // messages that are looked at
	sortFor  = 2 * time.Second // and for how long
)

var errEnough = errors.New("enough was looked at")

// An ordering is what a list is asked for beside its order by number.
type ordering struct {
	by    listing.Column // the zero Column: by number
	down  bool
	text  string // the query, as it was typed
	wrong string // why it is none
}

// still tells whether the list is another one than the live one.
func (o ordering) still() bool {
	return o.wrong == "" && (o.text != "" || o.by != (listing.Column{}) || o.down)
}

// orderingAt reads the address of a list. What cannot be sorted by is by number.
func orderingAt(at Place) (o ordering) {
	o.text = strings.TrimSpace(at.Query.Get(page.SearchText))
	if _, err := search.Parse(o.text); err != nil {
		o.wrong = err.Error()
	}
	if c, err := listing.Parse(at.Query.Get(page.AskSort)); err == nil && c.Sorts() && c.String() != listing.Seq {
		o.by = c
	}
	o.down = at.Query.Get(page.AskDir) == page.Descending
	return o
}

// sortMenu fills in how the list can be sorted and narrowed.
func (p *Pages) sortMenu(at Place, m *page.Entity, o ordering, shown []listing.Column) {
	bare := at.with("from", "", "page", "")
	if len(shown) == 0 {
		shown, _ = listing.ParseAll(page.StandardColumns(string(m.Tab))) //nolint:errcheck // a test reads them all
	}
	s := &m.Columns.Sort
	s.By, s.Down = listing.Seq, o.down
	if o.by != (listing.Column{}) {
		s.By = o.by.String()
	}
	s.Href = map[string]string{}
	for _, c := range shown {
		if !c.Sorts() {
			continue
		}
		by, dir := c.String(), ""
		if s.By == by && !s.Down {
			dir = page.Descending
		}
		if by == listing.Seq {
			by = ""
		}
		s.Href[c.String()] = p.URL(bare.with(page.AskSort, by, page.AskDir, dir))
	}
	m.Find = page.ListFind{Query: o.text, Wrong: o.wrong, Still: o.still(), Cut: m.Find.Cut, Again: m.Shell.Back, Plain: p.URL(bare.with(page.SearchText, "", page.AskSort, "", page.AskDir, ""))}
	for name, values := range bare.Query {
		for _, v := range values {
			if name != page.SearchText {
				m.Find.Kept = append(m.Find.Kept, page.HiddenField{Name: name, Value: v})
			}
		}
	}
	slices.SortStableFunc(m.Find.Kept, func(a, b page.HiddenField) int { return strings.Compare(a.Name, b.Name) })
}

// sorted are the rows of one page of a list that stands still.
func (p *Pages) sorted(ctx context.Context, at Place, m *page.Entity, o ordering, now engine.Instant) (rows []engine.Row, err error) {
	text := strings.TrimSpace(m.Every.Query + " " + o.text)
	q, err := search.Parse(text)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what is wrong
	}
	where := engine.Path(m.Every.At)
	var found []placed
	var last broker.Glance
	brief, cancel := context.WithTimeout(ctx, sortFor)
	defer cancel()
	err = p.b.Search(brief, broker.Search{Query: q.In(string(where))}, func(g broker.Glance) error {
		last = g
		for i := range g.Hits {
			if r := &g.Hits[i]; r.Path == where || r.Path.Fold() == where.Fold() {
				found = append(found, o.place(len(found), r, now))
			}
		}
		if g.Scanned >= sortMost {
			return errEnough
		}
		return nil
	})
	cutOff := errors.Is(err, errEnough) && !last.Done || errors.Is(err, context.DeadlineExceeded)
	if err != nil && (ctx.Err() != nil || !errors.Is(err, errEnough) && !errors.Is(err, context.DeadlineExceeded)) {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	o.sort(found)
	if cutOff {
		m.Find.Cut = locale.N(ctx, "list.cut", int(last.Scanned), locale.Args{"Total": locale.Number(ctx, int(last.Total))})
	}
	n, _ := number(at.Query.Get("page")) // anything else is the first
	from := min(int(min(max(n, 1)-1, sortMost))*messagesOnPage, len(found))
	if rows, err = p.rows(ctx, where, found[from:min(from+messagesOnPage, len(found))]); err != nil {
		return nil, err
	}
	m.Every.Still, m.Every.Query, m.Every.Shown, m.Every.N = true, text, len(found) > len(rows) || o.text != "", len(found)
	if cutOff {
		m.Every.N = 0
	}
	m.Pages.Note = locale.N(ctx, "pager.note", len(found), locale.Args{"Shown": locale.Number(ctx, len(rows))})
	if from > 0 {
		m.Pages.First = p.URL(at.with("page", ""))
	}
	if from+messagesOnPage < len(found) {
		m.Pages.Next = p.URL(at.with("page", strconv.Itoa(from/messagesOnPage+2)))
	}
	return rows, nil
}

// A placed is what is kept of a message until it is known whether the page shows it:
// rows are large.
type placed struct {
	key engine.Key
	n   int           // its place by number
	v   listing.Value // what it is in order by
}

func (o ordering) place(n int, r *engine.Row, now engine.Instant) placed {
	if o.by == (listing.Column{}) {
		return placed{key: r.Message.Key, n: n}
	}
	return placed{r.Message.Key, n, o.by.Value(*r, now, nil)}
}

// sort puts messages, which are by number, in order. Those that have nothing there are
// last, up and down.
func (o ordering) sort(all []placed) {
	if o.by == (listing.Column{}) {
		if o.down {
			slices.Reverse(all)
		}
		return
	}
	slices.SortFunc(all, func(a, b placed) int {
		by := a.v.Compare(b.v)
		if o.down && a.v.Kind != listing.Nothing && b.v.Kind != listing.Nothing {
			by = -by
		}
		return cmp.Or(by, cmp.Compare(a.n, b.n))
	})
}

// rows are some messages as they are now. Those that are no longer in the place are
// left out.
func (p *Pages) rows(ctx context.Context, where engine.Path, of []placed) (rows []engine.Row, err error) {
	err = p.b.Read(ctx, func(r broker.Reader) error {
		rows = rows[:0]
		for _, m := range of {
			if row, err := r.Message(m.key); err == nil && row.Path.Fold() == where.Fold() {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err //nolint:wrapcheck // the caller asked for just this
}
