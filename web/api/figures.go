package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/figures"
)

// Figures is the answer of GET /figures: how it went, in columns of the same length.
// What is not known, as before the server began, is null.
type Figures struct {
	Step         int      `json:"step"` // seconds from one point to the next
	At           []int64  `json:"at"`   // where each step begins, in seconds since 1970; the last is not over
	Received     []*int64 `json:"received"`
	Completed    []*int64 `json:"completed"`    // or received and deleted
	Expired      []*int64 `json:"expired"`      // whether they became dead letters or not
	DeadLettered []*int64 `json:"deadLettered"` // whatever for
	Failed       []*int64 `json:"failed"`       // deliveries that were abandoned or whose locks ran out
	Active       []*int64 `json:"active"`       // at the end of the step, as all that follow
	Locked       []*int64 `json:"locked"`
	Scheduled    []*int64 `json:"scheduled"`
	Deferred     []*int64 `json:"deferred"`
	DeadLetter   []*int64 `json:"deadLetter"`
}

func figureRoutes() []route {
	return []route{{
		method: "GET", path: "/figures", id: "getFigures", group: groupActivity, summary: "How much came and went, and how deep it was, over the last hour or day",
		ask:   "entity=orders&span=hour",
		about: "Numbers of messages in steps of ten seconds, or of five minutes for the day. They begin with the server.",
		query: []parameter{entityPath("Of this queue, topic or subscription; absent: of the namespace."), one("span", "hour if absent.", "hour", "day")},
		gives: Figures{}, fails: []string{"MessagingEntityNotFound", "InvalidOperation", "NotSupported"}, serve: (*door).showFigures,
	}}
}

func (d *door) showFigures(c echo.Context) error {
	if d.figures == nil {
		return &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "This server keeps no figures."}
	}
	at, err := d.accessAt(c)
	if err != nil {
		return err
	}
	if at != "" {
		s, err := d.state(c.Request().Context(), at)
		if err != nil {
			return err
		}
		at = s.Path
	}
	span := figures.Hour
	if query(c).Get("span") == "day" {
		span = figures.Day
	}
	return reply(c, http.StatusOK, presentFigures(d.figures.Line(at, span, d.broker.Clock()), span))
}

func presentFigures(points []figures.Point, span figures.Span) Figures {
	out := Figures{Step: int(span.Step().Seconds())}
	counts := []*[]*int64{&out.Received, &out.Completed, &out.Expired, &out.DeadLettered, &out.Failed}
	depths := []*[]*int64{&out.Active, &out.Locked, &out.Scheduled, &out.Deferred, &out.DeadLetter}
	for _, p := range points {
		out.At = append(out.At, p.At.Time().Unix())
		add := func(to *[]*int64, n int64) {
			if !p.Known {
				*to = append(*to, nil)
				return
			}
			*to = append(*to, &n)
		}
		for i, k := range []figures.Kind{figures.In, figures.Out, figures.Expired, figures.Dead, figures.Failed} {
			add(counts[i], int64(p.Counts[k]))
		}
		for i, n := range []int64{p.Depth.Active, p.Depth.Locked, p.Depth.Scheduled, p.Depth.Deferred, p.Depth.Dead} {
			add(depths[i], n)
		}
	}
	return out
}
