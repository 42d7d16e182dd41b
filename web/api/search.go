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

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

const (
	defaultHits      = 100    // hits of an answer by default
	maxHits          = 10_000 // hits of an answer at most
	searchTimeout    = 5 * time.Minute
	progressInterval = 250 * time.Millisecond // between two lines that only report progress
)

// A Hit is a line of a search: a message that matches, without its body.
type Hit struct {
	Hit Message `json:"hit"`
}

// A Progress is a line with the progress of a search.
type Progress struct {
	Progress Scanned `json:"progress"`
}

// An End is the last line of a search. If it is missing, the search was cut off.
type End struct {
	End Finished `json:"end"`
}

// Scanned is the progress of a search.
type Scanned struct {
	Scanned int64 `json:"scanned"` // messages examined
	Total   int64 `json:"total"`   // messages to examine, as of the beginning
	Hits    int64 `json:"hits"`    // matches so far
	Bytes   int64 `json:"bytes"`   // size of the bodies that were read
}

// Finished is the result of a search.
type Finished struct {
	Scanned
	TruncatedBodies int64  `json:"truncatedBodies,omitempty"` // bodies of which only the first MiB was examined
	Next            string `json:"next,omitempty"`            // value for cursor to continue; missing if everything was examined
}

func searchRoutes() []route {
	in := textParameter("q", "The search query, as on the search page: words, \"phrases\" and terms such as subject:order*, prop.region:eu, json.customer.id:42, state:dead, age:>5m. All must match; a minus negates a term.").withExample("hello state:dead")
	in.check = func(text string) error {
		_, err := search.Parse(text)
		return err
	}
	from := textParameter("cursor", "The next of the previous answer, to continue.").withExample("20@orders")
	from.check = func(text string) error {
		_, err := broker.ParseSearchCursor(text)
		return err
	}
	return []route{{
		method: "GET", path: "/search", id: "searchMessages", group: groupMessages, summary: "Search messages of all entities, with JSON lines as the answer",
		exampleQuery: "q=hello&limit=20",
		description: "Hits are sent as they are found, ordered by entity and sequence number, with lines of progress between them and a last line at the end. To stop the search, close the connection. " +
			"Messages that arrive during the search are not examined, and of a body only the first MiB. If q is not valid, the problem has the position of the error.",
		query: []parameter{
			requiredParameter(in),
			textParameter("in", "Only this entity and its dead letters; for a topic, also its subscriptions. * matches any text.").withExample("orders*"),
			numberParameter("limit", 1, maxHits, fmt.Sprintf("The maximum number of hits; %d if absent.", defaultHits)),
			from,
		},
		response: lines{Hit{}, Progress{}, End{}}, handle: (*handler).search,
	}}
}

// searchQuery returns the query of a search.
func searchQuery(c echo.Context) (*search.Query, error) {
	q := query(c)
	if !q.Has("q") {
		return nil, engine.Refuse(engine.ErrArgument, "The query parameter 'q', the search query, is missing.")
	}
	found, err := search.Parse(q.Get("q"))
	if err != nil || !q.Has("in") {
		return found, err
	}
	return found.Within(q.Get("in")), nil
}

// search answers with lines: matches as they are found, the progress, and an End.
func (d *handler) search(c echo.Context) error {
	q, err := searchQuery(c)
	if err != nil {
		return err
	}
	from, err := broker.ParseSearchCursor(query(c).Get("cursor"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.Request().Context(), searchTimeout)
	defer cancel()
	w := c.Response()
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	begin := sync.OnceFunc(func() {
		w.Header().Set(echo.HeaderContentType, ndjson)
		w.WriteHeader(http.StatusOK)
	})
	reported := time.Now()
	var last broker.SearchProgress
	in := broker.SearchRequest{Query: q, From: from, Max: number(c, "limit", defaultHits)}
	err = d.broker.Search(ctx, in, func(g broker.SearchProgress) error {
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
		if g.Done || len(g.Hits) == 0 && time.Since(reported) < progressInterval {
			return nil
		}
		reported = time.Now()
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
	end := Finished{Scanned: scanned(last), TruncatedBodies: last.Truncated}
	if !last.Done {
		end.Next = last.Next.String()
	}
	if err := out.Encode(End{end}); err != nil {
		return fmt.Errorf("write the end: %w", err)
	}
	return nil
}

func scanned(g broker.SearchProgress) Scanned {
	return Scanned{Scanned: g.Scanned, Total: g.Total, Hits: g.Matched, Bytes: g.Bytes}
}
