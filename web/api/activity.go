package api

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/identity"
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

func activityRoutes() []route {
	scope := word(past.WordScope, "How much: what operators did and what happened to the server if absent or empty, one of these (audit, system), or all that happened to messages as well.")
	for _, s := range past.Scopes() {
		scope.schema.Enum = append(scope.schema.Enum, string(s))
	}
	group := word(past.WordGroup, "Only events of this sort.")
	for _, g := range past.Groups() {
		group.schema.Enum = append(group.schema.Enum, string(g))
	}
	return []route{{
		method: "GET", path: "/activity", id: "listActivity", group: groupActivity, summary: "What was done and what happened, newest first",
		ask:   "scope=all&path=orders&count=20",
		about: "There may be fewer events than were asked for before next, even none. A store that keeps no history answers 501.",
		query: []parameter{
			scope,
			word(past.WordPath, "Only events of this entity, with its dead letters; of a topic with its subscriptions.").like("orders"),
			word(past.WordMessage, "The key of a message: its life, of scope all.").like("17"),
			group,
			word(past.WordActor, "Part of who did it, whatever the case.").like("dashboard"),
			word(past.WordText, "Part of the reason, the actor or a path, whatever the case.").like("unpaid"),
			word(past.WordFrom, "No earlier than this, a time such as 2026-07-14T10:30Z.").like("2026-07-14T10:30Z"),
			word(past.WordUntil, "Earlier than this time.").like("2026-07-14T11:00Z"),
			word(past.WordBefore, "What an answer had as next, to go on.").like("1-20"),
			whole("count", 1, activityMost, fmt.Sprintf("How many at most; %d if absent.", activityCount)),
		},
		gives: Activity{}, fails: []string{"NotSupported"}, serve: (*door).activity,
	}}
}

// activity lists what was done and what happened.
func (d *door) activity(c echo.Context) error {
	q := query(c)
	f, wrong := past.Read(q, d.broker.Limits())
	f.Within = identity.Of(c.Request().Context()).Within != ""
	for _, err := range wrong {
		return err
	}
	if f.Message != 0 && !q.Has(past.WordScope) {
		f.Scope = past.All
	}
	part, err := past.Look(c.Request().Context(), d.broker, f, int(number(c, "count", activityCount)))
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
