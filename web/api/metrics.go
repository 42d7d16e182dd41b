package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/stats"
)

// Metrics is the answer of GET /metrics: rates and depths over time, in columns of equal
// length. Unknown values, such as those before the server's start, are null.
type Metrics struct {
	Step         int      `json:"step"` // seconds from one point to the next
	At           []int64  `json:"at"`   // the start of each step, in seconds since 1970; the last step has not ended
	Incoming     []*int64 `json:"incoming"`
	Completed    []*int64 `json:"completed"`    // settled as completed, or received in receive-and-delete mode
	Expired      []*int64 `json:"expired"`      // dead-lettered ones included
	DeadLettered []*int64 `json:"deadLettered"` // for any reason
	Failed       []*int64 `json:"failed"`       // deliveries that were abandoned or whose locks expired
	Active       []*int64 `json:"active"`       // at the end of the step, like all that follow
	Locked       []*int64 `json:"locked"`
	Scheduled    []*int64 `json:"scheduled"`
	Deferred     []*int64 `json:"deferred"`
	DeadLetter   []*int64 `json:"deadLetter"`
}

func statRoutes() []route {
	return []route{{
		method: "GET", path: "/metrics", id: "getMetrics", group: groupActivity, summary: "Get message rates and depths of the last hour or day",
		exampleQuery: "entity=orders&span=hour",
		description:  "Numbers of messages in steps of ten seconds, or five minutes for the day. They begin with the start of the server.",
		query:        []parameter{entityPath("The queue, topic or subscription; if absent, the namespace."), enumParameter("span", "The period; if absent, hour.", "hour", "day")},
		response:     Metrics{}, problems: []string{"MessagingEntityNotFound", "InvalidOperation", "NotSupported"}, handle: (*handler).showStats,
	}}
}

func (d *handler) showStats(c echo.Context) error {
	if d.stats == nil {
		return engine.Refuse(engine.ErrNotImplemented, "This server keeps no statistics.")
	}
	at, err := d.entityOfAccess(c)
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
	span := stats.Hour
	if query(c).Get("span") == "day" {
		span = stats.Day
	}
	return reply(c, http.StatusOK, presentStats(d.stats.Points(at, span, d.broker.ClockTime()), span))
}

func presentStats(points []stats.Point, span stats.Span) Metrics {
	out := Metrics{Step: int(span.Step().Seconds())}
	counts := []*[]*int64{&out.Incoming, &out.Completed, &out.Expired, &out.DeadLettered, &out.Failed}
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
		for i, k := range []stats.Kind{stats.In, stats.Out, stats.Expired, stats.Dead, stats.Failed} {
			add(counts[i], int64(p.Counts[k]))
		}
		for i, n := range []int64{p.Depth.Active, p.Depth.Locked, p.Depth.Scheduled, p.Depth.Deferred, p.Depth.Dead} {
			add(depths[i], n)
		}
	}
	return out
}
