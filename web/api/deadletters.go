package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/postmortem"
)

// DeadLetterGroups is the answer of GET /dead-letters.
type DeadLetterGroups struct {
	Groups []DeadLetterGroup `json:"groups"` // those with the most first
	Seen   int64             `json:"seen"`   // dead letters that were looked at
	Total  int64             `json:"total"`  // dead letters there are
	Loose  int64             `json:"loose"`  // dead letters that were looked at and are in none of the groups: there are too many
}

// DeadLetterGroup is dead letters that have their reason, and their error but for
// the ids and numbers in it, in common.
type DeadLetterGroup struct {
	Reason         string             `json:"reason,omitempty"`
	Error          string             `json:"error,omitempty"` // # stands for each id and number
	Count          int64              `json:"count"`
	First          *time.Time         `json:"first,omitempty"` // of them died
	Last           *time.Time         `json:"last,omitempty"`  // of them died
	Key            string             `json:"key"`             // of the latest
	Path           string             `json:"path"`            // where the latest is
	SequenceNumber int64              `json:"sequenceNumber"`  // of the latest
	Description    string             `json:"description,omitempty"`
	Places         []DeadLettersPlace `json:"places"`  // where they are, the first twenty
	Sources        []DeadLettersPlace `json:"sources"` // where they died, the first twenty
	Query          string             `json:"query"`   // finds these and no others among dead letters: for jobs, search and export
}

// DeadLettersPlace is how many of a group are at a place.
type DeadLettersPlace struct {
	Path  string `json:"path"`
	Count int64  `json:"count"`
}

func deadLetterRoutes() []route {
	return []route{{
		method: "GET", path: "/dead-letters", id: "groupDeadLetters", group: groupMessages, summary: "Dead letters by what they died of",
		about: "Capitals tell nothing apart. The first 50,000 are looked at, in up to 1,000 groups; seen, total and loose say how far that went. A group's query, given to POST /jobs with the path of a dead-letter queue, or with state:dead, means just these.",
		ask:   "entity=orders",
		query: []parameter{entityPath("The queue or subscription whose dead letters are meant; absent: all.")},
		gives: DeadLetterGroups{}, fails: []string{"MessagingEntityNotFound"}, serve: (*door).deadLetterGroups,
	}}
}

func (d *door) deadLetterGroups(c echo.Context) error {
	ctx := c.Request().Context()
	var places []engine.Path
	if text := query(c).Get("entity"); query(c).Has("entity") {
		path, err := engine.ParsePath(text, d.broker.Limits())
		if err != nil {
			return err
		}
		e, err := d.state(ctx, path.Entity())
		if err != nil {
			return err
		}
		if places = []engine.Path{e.Path.DeadLetter()}; path.IsTransfer() || e.Kind == engine.Topic {
			places = []engine.Path{e.Path.Transfer()}
		}
	} else {
		var err error
		if places, err = postmortem.Everywhere(ctx, d.broker); err != nil {
			return err
		}
	}
	r, err := postmortem.Examine(ctx, d.broker, places)
	if err != nil {
		return err
	}
	out := DeadLetterGroups{Groups: []DeadLetterGroup{}, Seen: r.Seen, Total: r.Total, Loose: r.Loose}
	for _, g := range r.Groups {
		m := g.Latest.Message
		one := DeadLetterGroup{
			Reason: g.Reason, Error: g.Error, Count: g.N, First: moment(g.First), Last: moment(g.Last), Query: g.Query(),
			Key: strconv.FormatUint(uint64(m.Key), 10), Path: string(g.Latest.Path), SequenceNumber: int64(m.Seq),
			Places: presentPlaces(g.Places), Sources: presentPlaces(g.Sources),
		}
		if m.Extra != nil {
			one.Description = m.Extra.Description
		}
		out.Groups = append(out.Groups, one)
	}
	return reply(c, http.StatusOK, out)
}

func presentPlaces(all []postmortem.Place) []DeadLettersPlace {
	out := []DeadLettersPlace{}
	for _, p := range all {
		out = append(out, DeadLettersPlace{string(p.Path), p.N})
	}
	return out
}
