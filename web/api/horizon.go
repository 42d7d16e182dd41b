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
	horizonNext    = 10   // messages of an answer, unless fewer or more are asked for
	horizonMost    = 100  // messages of one answer at most
	horizonScanned = 2000 // of those that expire soonest, to find those of one entity
)

// Horizon is the answer of GET /horizon.
type Horizon struct {
	Now   time.Time  `json:"now"`   // the server's
	Spans []Span     `json:"spans"` // one after the other; of the last there is no end
	Next  []Expiring `json:"next"`  // those that expire next, soonest first
}

// A Span counts the messages that expire within a time from now, those of the
// spans before it left out.
type Span struct {
	Within     string `json:"within,omitempty"` // a duration; missing: whenever
	DeadLetter int64  `json:"deadLetter"`       // will become dead letters
	Lost       int64  `json:"lost"`             // will be gone
}

// An Expiring is a message whose time runs out.
type Expiring struct {
	Key            string    `json:"key"`                 // identifies it for its whole life
	Path           string    `json:"path"`                // where it is
	SequenceNumber int64     `json:"sequenceNumber"`      // there
	MessageID      string    `json:"messageId,omitempty"` // as its sender wrote it
	Subject        string    `json:"subject,omitempty"`   // as its sender wrote it
	ExpiresAt      time.Time `json:"expiresAt"`           // if nobody settles it before
	DeadLetter     bool      `json:"deadLetter"`          // it becomes a dead letter; else it is lost
}

func horizonSpans() []time.Duration {
	return []time.Duration{10 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour}
}

func horizonRoutes() []route {
	return []route{{
		method: "GET", path: "/horizon", id: "showHorizon", group: groupMessages, summary: "When messages expire, and which do next",
		ask:   "entity=orders&count=5",
		about: fmt.Sprintf("Of one entity the next messages are those among the %d that expire soonest anywhere.", horizonScanned),
		query: []parameter{
			entityPath("Only messages of this queue or subscription; of a topic, those of its subscriptions."),
			whole("count", 1, horizonMost, fmt.Sprintf("How many of the next messages at most; %d if absent.", horizonNext)),
		},
		gives: Horizon{}, fails: []string{"MessagingEntityNotFound"}, serve: (*door).horizon,
	}}
}

// horizon tells when messages expire.
func (d *door) horizon(c echo.Context) error {
	count := int(number(c, "count", horizonNext))
	var p engine.Path
	if q := query(c); q.Has("entity") {
		var err error
		if p, err = engine.ParsePath(q.Get("entity"), d.broker.Limits()); err != nil {
			return err
		}
	}
	var out Horizon
	err := d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		places, err := expiringPlaces(r, p)
		if err != nil {
			return err
		}
		out = horizonOf(r, places, count)
		return nil
	})
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, out)
}

// expiringPlaces is where messages of an entity expire; of the empty path the
// empty path, which is everywhere.
func expiringPlaces(r broker.Reader, p engine.Path) ([]engine.Path, error) {
	if p == "" {
		return []engine.Path{""}, nil
	}
	s, err := r.State(p)
	if err != nil {
		return nil, err
	}
	if p.IsDeadLetter() { // they have no time to live (DLQ-6)
		return nil, nil
	}
	if s.Kind != engine.Topic {
		return []engine.Path{s.Path}, nil
	}
	places := []engine.Path{s.Path} // its scheduled messages
	for _, sub := range r.Subscriptions(s.Path) {
		places = append(places, sub.Path)
	}
	return places, nil
}

func horizonOf(r broker.Reader, places []engine.Path, count int) Horizon {
	out := Horizon{Now: r.Now.Time(), Next: []Expiring{}}
	var edges []engine.Instant
	for _, d := range horizonSpans() {
		edges = append(edges, r.Now.Add(d))
		out.Spans = append(out.Spans, Span{Within: engine.FormatDuration(d)})
	}
	out.Spans = append(out.Spans, Span{})
	among := map[engine.Path]bool{}
	for _, p := range places {
		among[p] = true
		for i, n := range r.Horizon(p, edges) {
			out.Spans[i].DeadLetter += n.DeadLettered
			out.Spans[i].Lost += n.Lost
		}
	}
	scan := horizonScanned
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
				MessageID: row.Content.MessageID(), Subject: row.Content.Subject(), ExpiresAt: row.Expires.Time(), DeadLetter: row.KeepsDead,
			})
		}
	}
	return out
}
