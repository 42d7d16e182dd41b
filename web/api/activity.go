package api

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/past"
)

const (
	activityCount = 100  // events of an answer, unless fewer or more are asked for
	activityMost  = 1000 // events of one answer at most
)

// Activity is the answer of GET /activity.
type Activity struct {
	Events []past.Event `json:"events"`         // newest first
	Next   string       `json:"next,omitempty"` // for before, to go on; missing: there is nothing older
}

// activity lists what was done and what happened.
func (d *door) activity(c echo.Context) error {
	q, err := query(c, append(past.Words(), "count")...)
	if err != nil {
		return err
	}
	f, wrong := past.Read(q, d.broker.Limits())
	for _, err := range wrong {
		return err
	}
	if f.Message != 0 && !q.Has(past.WordScope) {
		f.Scope = past.All
	}
	count := activityCount
	if q.Has("count") {
		if count, err = strconv.Atoi(q.Get("count")); err != nil || count < 1 || count > activityMost {
			return outOfRange("The value for 'count' is a whole number from 1 to %d, not '%s'.", activityMost, cut(q.Get("count")))
		}
	}
	part, err := past.Look(c.Request().Context(), d.broker, f, count)
	if err != nil {
		return err
	}
	out := Activity{Events: make([]past.Event, len(part.Events))}
	for i, e := range part.Events {
		out.Events[i] = past.Present(e)
	}
	if part.Next != (engine.PastPlace{}) {
		out.Next = past.WritePlace(part.Next)
	}
	return reply(c, http.StatusOK, out)
}
