package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine/broker"
	"mayfly/engine/search"
)

const (
	searchHits  = 100    // of an answer, unless fewer or more are asked for
	searchMost  = 10_000 // of one answer at most
	searchLimit = 5 * time.Minute
	progressGap = 250 * time.Millisecond // between two lines that only tell how far a search has come
)

// A Hit is a line of a search: a message that matches, without its body.
type Hit struct {
	Hit Message `json:"hit"`
}

// A Progress is a line of a search that says how far it has come.
type Progress struct {
	Progress Scanned `json:"progress"`
}

// An End is the last line of a search. Without it the search was cut off.
type End struct {
	End Finished `json:"end"`
}

// Scanned is how far a search has come.
type Scanned struct {
	Scanned int64 `json:"scanned"` // messages looked at
	Total   int64 `json:"total"`   // messages there were to look at when it began
	Hits    int64 `json:"hits"`    // messages that match, so far
	Bytes   int64 `json:"bytes"`   // of bodies that were read
}

// Finished is what became of a search.
type Finished struct {
	Scanned
	Cut  int64  `json:"cut,omitempty"`  // bodies of which only the first MiB was looked at
	Next string `json:"next,omitempty"` // for from, to go on; missing: everything was looked at
}

func searchRoutes() []route {
	in := word("q", "What to find, as on the search page: words, \"phrases\" and terms such as subject:order*, prop.region:eu, json.customer.id:42, state:dead, age:>5m. All must be true; a minus turns one round.").like("hello state:dead")
	in.check = func(text string) error {
		_, err := search.Parse(text)
		return err
	}
	from := word("from", "What an answer had as next, to go on.").like("20@orders")
	from.check = func(text string) error {
		_, err := broker.ParseMark(text)
		return err
	}
	return []route{{
		method: "GET", path: "/search", id: "searchMessages", group: groupMessages, summary: "Messages that match, over all entities, a JSON line each",
		ask: "q=hello&max=20",
		about: "Hits come in the order of entities and of numbers as they are found, with lines of progress between them and one at the end. A client that has enough leaves. " +
			"Messages that come meanwhile are not seen. Of a body the first MiB is looked at. Where q is not a query the problem's position says where.",
		query: []parameter{
			needed(in),
			word("in", "Only this entity, with its dead letters; of a topic with its subscriptions. * stands for any text.").like("orders*"),
			whole("max", 1, searchMost, fmt.Sprintf("How many hits at most; %d if absent.", searchHits)),
			from,
		},
		gives: lines{Hit{}, Progress{}, End{}}, serve: (*door).search,
	}}
}

// asked is the query of a search.
func asked(c echo.Context) (*search.Query, error) {
	q := query(c)
	if !q.Has("q") {
		return nil, argument("The query parameter 'q' says what to find.")
	}
	found, err := search.Parse(q.Get("q"))
	if err != nil || !q.Has("in") {
		return found, err
	}
	return found.In(q.Get("in")), nil
}

// search writes what matches as it is found.
func (d *door) search(c echo.Context) error {
	q, err := asked(c)
	if err != nil {
		return err
	}
	from, err := broker.ParseMark(query(c).Get("from"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), searchLimit)
	defer cancel()
	w := c.Response()
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	begin := sync.OnceFunc(func() {
		w.Header().Set(echo.HeaderContentType, ndjson)
		w.WriteHeader(http.StatusOK)
	})
	told := time.Now()
	var last broker.Glance
	in := broker.Search{Query: q, From: from, Max: number(c, "max", searchHits)}
	err = d.broker.Search(ctx, in, func(g broker.Glance) error {
		begin()
		last = g
		for _, r := range g.Hits {
			m, err := presentRow(r)
			if err == nil {
				err = out.Encode(Hit{m})
			}
			if err != nil {
				return fmt.Errorf("write a hit: %w", err)
			}
		}
		if g.Done || len(g.Hits) == 0 && time.Since(told) < progressGap {
			return nil
		}
		told = time.Now()
		if err := out.Encode(Progress{scanned(g)}); err != nil {
			return fmt.Errorf("write progress: %w", err)
		}
		w.Flush()
		return nil
	})
	if over := errors.Is(err, context.DeadlineExceeded) && c.Request().Context().Err() == nil; err != nil && !over {
		return err
	}
	begin()
	end := Finished{Scanned: scanned(last), Cut: last.Cut}
	if !last.Done {
		end.Next = last.Next.String()
	}
	if err := out.Encode(End{end}); err != nil {
		return fmt.Errorf("write the end: %w", err)
	}
	return nil
}

func scanned(g broker.Glance) Scanned {
	return Scanned{Scanned: g.Scanned, Total: g.Total, Hits: g.Matched, Bytes: g.Bytes}
}
