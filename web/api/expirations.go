package api

import (
	"fmt"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	defaultHorizon = 10   // messages of an answer by default
	maxHorizon     = 100  // messages of an answer at most
	maxHorizonScan = 2000 // next expiring messages that are examined for those of one entity
)

// Expirations is the answer of GET /expirations.
type Expirations struct {
	Now   time.Time  `json:"now"`   // the server's time
	Spans []Span     `json:"spans"` // consecutive spans; the last is open-ended
	Next  []Expiring `json:"next"`  // the messages that expire next, soonest first
}

// A Span counts the messages that expire within a time from now, without those in earlier
// spans.
type Span struct {
	Within     string `json:"within,omitempty"` // a duration; missing in the last span
	DeadLetter int64  `json:"deadLetter"`       // will become dead letters
	Lost       int64  `json:"lost"`             // will be lost
}

// An Expiring is a message that will expire.
type Expiring struct {
	Key            string    `json:"key"`                 // identifies the message for its whole life
	Path           string    `json:"path"`                // where it is
	SequenceNumber int64     `json:"sequenceNumber"`      // in that path
	MessageID      string    `json:"messageId,omitempty"` // as its sender set it
	Subject        string    `json:"subject,omitempty"`   // as its sender set it
	ExpiresAt      time.Time `json:"expiresAt"`           // unless it is settled before
	DeadLetter     bool      `json:"deadLetter"`          // it will become a dead letter; else it will be lost
}

var horizonSpans = []time.Duration{
	10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
}

func horizonRoutes() []route {
	return []route{{
		method: "GET", path: "/expirations", id: "listExpirations", group: groupMessages, summary: "Count the messages that expire soon, and list the next ones",
		exampleQuery: "entity=orders&limit=5",
		description:  fmt.Sprintf("With entity, the next messages are those of the entity among the %d that expire soonest in the namespace.", maxHorizonScan),
		query: []parameter{
			entityPath("Only messages of this queue or subscription; for a topic, of its subscriptions."),
			numberParameter("limit", 1, maxHorizon, fmt.Sprintf("The maximum number of next messages; %d if absent.", defaultHorizon)),
		},
		response: Expirations{}, problems: []string{"MessagingEntityNotFound"}, handle: (*handler).horizon,
	}}
}

// horizon lists when messages expire.
func (d *handler) horizon(c echo.Context) error {
	count := int(number(c, "limit", defaultHorizon))
	var p engine.Path
	if q := query(c); q.Has("entity") {
		var err error
		if p, err = engine.ParsePath(q.Get("entity"), d.broker.Limits()); err != nil {
			return err
		}
	}
	var out Expirations
	err := d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		paths, err := expiringPaths(r, p)
		if err != nil {
			return err
		}
		out = horizonOf(r, paths, count)
		return nil
	})
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

// expiringPaths returns the paths where messages of the entity p expire: for a topic also its
// subscriptions, and for a dead-letter queue none. An empty p means everywhere, and gives one empty
// path.
func expiringPaths(r broker.Reader, p engine.Path) ([]engine.Path, error) {
	if p == "" {
		return []engine.Path{""}, nil
	}
	s, err := r.State(p)
	if err != nil {
		return nil, err
	}
	if p.IsDeadLetter() { // dead letters have no time to live (DLQ-6)
		return nil, nil
	}
	if s.Kind != engine.Topic {
		return []engine.Path{s.Path}, nil
	}
	paths := []engine.Path{s.Path} // its scheduled messages
	for _, sub := range r.Subscriptions(s.Path) {
		paths = append(paths, sub.Path)
	}
	return paths, nil
}

func horizonOf(r broker.Reader, paths []engine.Path, count int) Expirations {
	out := Expirations{Now: r.Now.Time(), Next: []Expiring{}}
	var edges []engine.Instant
	for _, d := range horizonSpans {
		edges = append(edges, r.Now.Add(d))
		out.Spans = append(out.Spans, Span{Within: engine.FormatDuration(d)})
	}
	out.Spans = append(out.Spans, Span{})
	among := map[engine.Path]bool{}
	for _, p := range paths {
		among[p] = true
		for i, n := range r.ExpiryHistogram(p, edges) {
			out.Spans[i].DeadLetter += n.DeadLettered
			out.Spans[i].Lost += n.Lost
		}
	}
	scan := maxHorizonScan
	if among[""] {
		scan = count
	}
	for _, row := range r.Expiring(scan) {
		if len(out.Next) == count {
			break
		}
		if among[""] || among[row.Path] {
			out.Next = append(out.Next, Expiring{
				Key: fmt.Sprint(uint64(row.Message.Key)), Path: string(row.Path), SequenceNumber: int64(row.Message.Seq),
				MessageID: row.Content.MessageID(), Subject: row.Content.Subject(), ExpiresAt: row.Expires.Time(), DeadLetter: row.DeadLettersOnExpiry,
			})
		}
	}
	return out
}
