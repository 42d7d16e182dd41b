package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/search/deadletters"
)

// DeadLetterGroups is the answer of GET /dead-letters.
type DeadLetterGroups struct {
	Groups    []DeadLetterGroup `json:"groups"`    // those with the most first
	Examined  int64             `json:"examined"`  // dead letters that were examined
	Total     int64             `json:"total"`     // all dead letters
	Ungrouped int64             `json:"ungrouped"` // examined dead letters in none of the groups, because there were too many groups
}

// DeadLetterGroup is a group of dead letters with the same reason, and the same error apart
// from the ids and numbers in it.
type DeadLetterGroup struct {
	Reason         string            `json:"reason,omitempty"`
	Error          string            `json:"error,omitempty"` // with # for each id and number
	Count          int64             `json:"count"`
	FirstAt        *time.Time        `json:"firstAt,omitempty"` // when the first was dead-lettered
	LastAt         *time.Time        `json:"lastAt,omitempty"`  // when the last was dead-lettered
	Key            string            `json:"key"`               // of the latest
	Path           string            `json:"path"`              // of the latest
	SequenceNumber int64             `json:"sequenceNumber"`    // of the latest
	Description    string            `json:"description,omitempty"`
	Paths          []DeadLetterCount `json:"paths"`   // where they are, the first twenty
	Sources        []DeadLetterCount `json:"sources"` // where they were dead-lettered, the first twenty
	Query          string            `json:"query"`   // matches these dead letters only: for jobs, search and export
}

// DeadLetterCount is the number of a group's messages at a path.
type DeadLetterCount struct {
	Path  string `json:"path"`
	Count int64  `json:"count"`
}

func deadLetterRoutes() []route {
	return []route{{
		method: "GET", path: "/dead-letters", id: "groupDeadLetters", group: groupMessages, summary: "Group dead letters by reason",
		description:  "Grouping ignores case. It examines the first 50,000 dead letters and forms up to 1,000 groups; examined, total and ungrouped count what was examined. The query of a group selects exactly its messages: give it to POST /jobs with the path of a dead-letter queue, or with state:dead.",
		exampleQuery: "entity=orders",
		query:        []parameter{entityPath("The queue or subscription that has the dead letters; if absent, all.")},
		response:     DeadLetterGroups{}, problems: []string{"MessagingEntityNotFound"}, handle: (*handler).deadLetterGroups,
	}}
}

func (d *handler) deadLetterGroups(c echo.Context) error {
	ctx := c.Request().Context()
	var paths []engine.Path
	if text := query(c).Get("entity"); query(c).Has("entity") {
		path, err := engine.ParsePath(text, d.broker.Limits())
		if err != nil {
			return err
		}
		e, err := d.state(ctx, path.Entity())
		if err != nil {
			return err
		}
		if paths = []engine.Path{e.Path.DeadLetter()}; path.IsTransfer() || e.Kind == engine.Topic {
			paths = []engine.Path{e.Path.Transfer()}
		}
	} else {
		var err error
		if paths, err = deadletters.Subqueues(ctx, d.broker); err != nil {
			return err
		}
	}
	r, err := deadletters.Analyze(ctx, d.broker, paths)
	if err != nil {
		return err
	}
	out := DeadLetterGroups{Groups: []DeadLetterGroup{}, Examined: r.Examined, Total: r.Total, Ungrouped: r.Ungrouped}
	for _, g := range r.Groups {
		m := g.Latest.Message
		one := DeadLetterGroup{
			Reason: g.Reason, Error: g.Error, Count: g.Count, FirstAt: timeOf(g.First), LastAt: timeOf(g.Last), Query: g.Query(),
			Key: strconv.FormatUint(uint64(m.Key), 10), Path: string(g.Latest.Path), SequenceNumber: int64(m.Seq),
			Paths: presentCounts(g.Entities), Sources: presentCounts(g.Sources),
		}
		if m.Extra != nil {
			one.Description = m.Extra.Description
		}
		out.Groups = append(out.Groups, one)
	}
	return reply(c, http.StatusOK, out)
}

func presentCounts(all []deadletters.EntityCount) []DeadLetterCount {
	out := []DeadLetterCount{}
	for _, p := range all {
		out = append(out, DeadLetterCount{string(p.Path), p.Count})
	}
	return out
}
