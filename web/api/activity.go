package api

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/history"
	"mayfly/web/auth"
)

const (
	activityCount = 100  // events of an answer by default
	maxActivity   = 1000 // events of an answer at most
)

// Activity is the answer of GET /activity.
type Activity struct {
	Events []history.Event `json:"events"`         // newest first
	Next   string          `json:"next,omitempty"` // value for cursor to continue; missing if there is nothing older
}

func activityRoutes() []route {
	scope := textParameter(history.ParamScope, "Which events: audit has the operations of operators, system the events of the server, and all also the events of messages. If absent or empty, audit and system.")
	for _, s := range history.Scopes() {
		scope.schema.Enum = append(scope.schema.Enum, string(s))
	}
	group := textParameter(history.ParamGroup, "Only events of this group.")
	for _, g := range history.Groups() {
		group.schema.Enum = append(group.schema.Enum, string(g))
	}
	return []route{{
		method: "GET", path: "/activity", id: "listActivity", group: groupActivity, summary: "List events, newest first",
		exampleQuery: "scope=all&path=orders&limit=20",
		description:  "A page may have fewer events than requested, or none, and still have next. A store without history answers 501.",
		query: []parameter{
			scope,
			textParameter(history.ParamPath, "Only events of this entity and its dead letters; for a topic, also of its subscriptions.").withExample("orders"),
			textParameter(history.ParamMessage, "The key of a message: only its events; requires scope=all.").withExample("17"),
			group,
			textParameter(history.ParamActor, "A part of the actor's name, in any case.").withExample("dashboard"),
			textParameter(history.ParamText, "A part of the reason, the actor or a path, in any case.").withExample("unpaid"),
			textParameter(history.ParamFrom, "Only events at or after this time, such as 2026-07-14T10:30Z.").withExample("2026-07-14T10:30Z"),
			textParameter(history.ParamUntil, "Only events before this time.").withExample("2026-07-14T11:00Z"),
			textParameter(history.ParamCursor, "The next of the previous answer, to continue.").withExample("1-20"),
			numberParameter("limit", 1, maxActivity, fmt.Sprintf("The maximum number of results; %d if absent.", activityCount)),
		},
		response: Activity{}, problems: []string{"NotSupported"}, handle: (*handler).activity,
	}}
}

// activity lists audit and message events.
func (d *handler) activity(c echo.Context) error {
	q := query(c)
	f, wrong := history.ParseFilter(q, d.broker.Limits())
	f.NamespaceOnly = auth.FromContext(c.Request().Context()).Namespace != ""
	for _, err := range wrong {
		return err
	}
	if f.Message != 0 && !q.Has(history.ParamScope) {
		f.Scope = history.All
	}
	part, err := history.Query(c.Request().Context(), d.broker, f, int(number(c, "limit", activityCount)))
	if err != nil {
		return err
	}
	out := Activity{Events: make([]history.Event, len(part.Events))}
	for i, e := range part.Events {
		out.Events[i] = history.NewEvent(e)
	}
	if part.Next != (engine.HistoryCursor{}) {
		out.Next = history.FormatCursor(part.Next)
	}
	return reply(c, http.StatusOK, out)
}
