package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

// An Entity is a queue, topic or subscription and its current state.
type Entity struct {
	Kind          string         `json:"kind"`       // queue, topic or subscription
	Path          string         `json:"path"`       // identifies it in requests
	Properties    map[string]any `json:"properties"` // texts, numbers and booleans, by the property's type
	Counts        Counts         `json:"counts"`
	Bytes         int64          `json:"bytes"`                   // of its own messages, including dead letters
	Subscriptions int            `json:"subscriptions,omitempty"` // for a topic: the number of its subscriptions
	CreatedAt     time.Time      `json:"createdAt"`               // by the server's clock
	UpdatedAt     time.Time      `json:"updatedAt"`               // when its description was last changed
	AccessedAt    *time.Time     `json:"accessedAt,omitempty"`    // when it was last used to send or receive
	DeletesAt     *time.Time     `json:"deletesAt,omitempty"`     // when it deletes itself unless it is used before
	Rules         []Rule         `json:"rules,omitempty"`         // for a subscription
	Duplicates    *Duplicates    `json:"duplicates,omitempty"`    // missing without duplicate detection
	Sessions      *int           `json:"sessions,omitempty"`      // number of known sessions; missing if the entity does not require sessions
	// AuthorizationRules are its own access rules, without keys; see GET /access-rules?entity=PATH.
	AuthorizationRules []AccessRule `json:"authorizationRules,omitempty"`
}

// Duplicates are the statistics of duplicate detection.
type Duplicates struct {
	Dropped    uint64 `json:"dropped"`    // since the entity was created
	Remembered int    `json:"remembered"` // MessageIds in the detection window
}

// Counts are exact. Locked messages are counted only as locked.
type Counts struct {
	Active     int64 `json:"active"`     // available to receivers
	Locked     int64 `json:"locked"`     // locked by a receiver
	Deferred   int64 `json:"deferred"`   // available by their sequence numbers
	Scheduled  int64 `json:"scheduled"`  // not yet enqueued
	DeadLetter int64 `json:"deadLetter"` // in its dead-letter queue
	// Active messages that wait to be forwarded, and those in the transfer dead-letter queue.
	Transfer           int64 `json:"transfer,omitempty"`
	TransferDeadLetter int64 `json:"transferDeadLetter,omitempty"`
}

// Entities is the answer of GET /entities.
type Entities struct {
	Entities []Entity `json:"entities"` // by path
}

// NewEntity is the request of POST /entities.
type NewEntity struct {
	Kind       string                     `json:"kind"`                 // queue, topic or subscription
	Path       string                     `json:"path"`                 // its name; for a subscription TOPIC/Subscriptions/NAME
	Properties map[string]json.RawMessage `json:"properties,omitempty"` // as in the answer; omitted and null properties get their defaults
	Rules      []Rule                     `json:"rules,omitempty"`      // for a subscription; missing means one that matches everything
}

// EntityChange is the request of PATCH /entities: the properties to change. Null means the default;
// omitted properties stay as they are.
type EntityChange struct {
	Properties map[string]json.RawMessage `json:"properties"` // by name, as Service Bus has them
}

func entityRoutes() []route {
	return []route{
		{
			method: "GET", path: "/entities", id: "listEntities", group: groupEntities, summary: "List entities",
			description: "The filter is that of the dashboard's lists: words of the path and terms such as has:dlq, expiring:<5m, temp:<10m, idle:>1h, dlq:>100 and -status:disabled. All must match. " +
				"A topic's counts include its subscriptions. If the filter is not valid, the problem has the position of the error.",
			query:        []parameter{entityKind(), entityFilter()},
			exampleQuery: "kind=queue&filter=-has:dlq",
			response:     Entities{}, handle: (*handler).list,
		},
		{
			method: "POST", path: "/entities", id: "createEntity", role: auth.Admin, group: groupEntities, summary: "Create a queue, a topic or a subscription",
			exampleBody: `{"kind":"queue","path":"invoices","properties":{"LockDuration":"PT30S","DeadLetteringOnMessageExpiration":true}}`,
			description: "Properties have Service Bus' names; durations are written PT1M30S, 90s or 00:01:30, or \"never\".",
			request:     NewEntity{}, status: http.StatusCreated, response: Entity{},
			problems: []string{"MessagingEntityNotFound", "MessagingEntityAlreadyExists", "InvalidOperation", "QuotaExceeded", "NotSupported"},
			handle:   (*handler).create,
		},
		{
			method: "GET", path: "/entities/{path}", id: "getEntity", group: groupEntities, summary: "Get an entity",
			exampleParam: "orders",
			response:     Entity{}, problems: []string{"MessagingEntityNotFound", "InvalidOperation"}, handle: (*handler).entity,
		},
		{
			method: "PATCH", path: "/entities/{path}", id: "updateEntity", role: auth.Admin, destruction: mayDestroy, group: groupEntities, summary: "Update properties of an entity, or preview the impact",
			exampleParam: "orders", exampleBody: `{"properties":{"MaxDeliveryCount":5,"DefaultMessageTimeToLive":"PT1H"}}`,
			description: "A shorter DefaultMessageTimeToLive also applies to existing messages, for a topic to those in its subscriptions. With dryRun=true nothing changes, and the answer counts the messages that would expire. An update that would be refused is refused here too.",
			query:       []parameter{flagParameter("dryRun", "Only preview the impact.").routeRole()},
			request:     EntityChange{}, response: oneOf{Entity{}, UpdateImpact{}},
			problems: []string{"MessagingEntityNotFound", "InvalidOperation", "NotSupported"}, handle: (*handler).update,
		},
		{
			method: "DELETE", path: "/entities/{path}", id: "deleteEntity", role: auth.Admin, destruction: destroys, group: groupEntities, summary: "Delete an entity and its messages",
			exampleParam: "old-orders", exampleQuery: "expectedCount=0",
			query:    []parameter{seenCount()},
			problems: []string{"MessagingEntityNotFound", "InvalidOperation", "Changed"}, handle: (*handler).remove,
		},
	}
}

func entityKind() parameter {
	p := textParameter("kind", "Only entities of this kind.")
	p.schema.Enum = []string{engine.Queue.String(), engine.Topic.String(), engine.Subscription.String()}
	return p
}

func entityFilter() parameter {
	p := textParameter("filter", "Only entities that match, such as orders has:dlq.").withExample("orders has:dlq")
	p.check = func(text string) error {
		_, err := search.ParseEntities(text)
		return err
	}
	return p
}

// seenCount returns the query parameter with the number of messages that the caller has confirmed.
func seenCount() parameter {
	return numberParameter("expectedCount", 0, 0, "How many messages the caller has seen. If the entity has over 10 % more by now, nothing is deleted (409).").routeRole()
}

func presentEntity(s engine.EntityState, l engine.Limits) Entity {
	out := Entity{
		Kind: s.Kind.String(), Path: string(s.Path), Properties: map[string]any{},
		Counts: Counts{
			Active: s.Counts.Active, Locked: s.Counts.Locked, Deferred: s.Counts.Deferred, Scheduled: s.Counts.Scheduled, DeadLetter: s.Counts.DeadLetter,
			Transfer: s.Counts.Transfer, TransferDeadLetter: s.Counts.TransferDeadLetter,
		},
		Bytes: s.Bytes, Subscriptions: s.Subscriptions, CreatedAt: s.CreatedAt.Time(), UpdatedAt: s.UpdatedAt.Time(),
		AccessedAt: timeOf(s.AccessedAt), DeletesAt: timeOf(s.DeletesAt),
	}
	for _, p := range engine.Properties(s.Kind) {
		out.Properties[p.Name] = presentProperty(p, s.Config)
	}
	if s.Config.RequiresDuplicateDetection {
		out.Duplicates = &Duplicates{Dropped: s.Duplicates, Remembered: s.RememberedIDs}
	}
	if s.Config.RequiresSession {
		out.Sessions = &s.Sessions.Known
	}
	if len(s.Config.AuthorizationRules) > 0 {
		out.AuthorizationRules = presentAll(s.Config.AuthorizationRules, nil)
	}
	for _, r := range s.Rules {
		out.Rules = append(out.Rules, presentRule(r, l))
	}
	return out
}

func presentProperty(p engine.Property, c engine.Config) any {
	text := p.Text(c)
	switch p.Type {
	case engine.NumberProperty:
		return json.Number(text)
	case engine.SwitchProperty:
		return text == "true"
	default:
		return text
	}
}

// timeOf returns a time, or nil for the zero Instant.
func timeOf(i engine.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}

// setProperties sets the given properties of c. Null means the default.
func setProperties(c *engine.Config, kind engine.EntityKind, given map[string]json.RawMessage, l engine.Limits) error {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, ok := engine.LookupProperty(kind, name)
		if !ok {
			return &engine.PropertyError{Property: shorten.Quote(name), Kind: engine.ErrArgument, Text: "A " + kind.String() + " has no property '" + shorten.Quote(name) + "'."}
		}
		if seen[p.Name] {
			return &engine.PropertyError{Property: p.Name, Kind: engine.ErrArgument, Text: "The property '" + p.Name + "' is given more than once."}
		}
		seen[p.Name] = true
		text, err := propertyText(p, given[name])
		if err != nil {
			return err
		}
		if err := p.Set(c, l, kind, text); err != nil {
			return err
		}
	}
	return nil
}

// propertyText returns a property's value as text. A JSON string is accepted for every type.
func propertyText(p engine.Property, raw json.RawMessage) (string, error) {
	wrong := func(want string) error {
		return &engine.PropertyError{Property: p.Name, Value: shorten.Quote(string(raw)), Kind: engine.ErrArgument, Text: "The value for '" + p.Name + "' must be " + want + ", not " + shorten.Quote(string(raw)) + "."}
	}
	switch c := raw[0]; {
	case c == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", wrong("a string")
		}
		return text, nil
	case string(raw) == "null":
		return "", nil
	case (c == 't' || c == 'f') && p.Type == engine.SwitchProperty, (c == '-' || c >= '0' && c <= '9') && p.Type == engine.NumberProperty:
		return string(raw), nil
	}
	switch p.Type {
	case engine.SwitchProperty:
		return "", wrong("true or false")
	case engine.NumberProperty:
		return "", wrong("a whole number")
	case engine.DurationProperty:
		return "", wrong(`a duration in quotes, such as "PT1M30S" or "90s"`)
	default:
		return "", wrong("a string")
	}
}

func parseKind(text string) (engine.EntityKind, error) {
	for _, k := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		if strings.EqualFold(text, k.String()) {
			return k, nil
		}
	}
	return 0, engine.Refuse(engine.ErrArgument, "The kind is queue, topic or subscription, not '%s'.", shorten.Quote(text))
}

func (d *handler) list(c echo.Context) error {
	q := query(c)
	kind := engine.EntityKind(0)
	if q.Has("kind") {
		var err error
		if kind, err = parseKind(q.Get("kind")); err != nil {
			return err
		}
	}
	found, err := d.matchingEntities(c.Request().Context(), kind, q.Get("filter"))
	if err != nil {
		return err
	}
	out := Entities{Entities: []Entity{}}
	for _, s := range found {
		out.Entities = append(out.Entities, presentEntity(s, d.broker.Limits()))
	}
	return reply(c, http.StatusOK, out)
}

// matchingEntities returns the entities of a kind, or of all kinds if it is zero, that match a filter.
func (d *handler) matchingEntities(ctx context.Context, kind engine.EntityKind, filter string) (found []engine.EntityState, err error) {
	q, err := search.ParseEntities(filter)
	if err != nil {
		return nil, err
	}
	read := kind
	if kind == engine.Topic && !q.Empty() {
		read = 0 // with their subscriptions
	}
	var all []engine.EntityState
	var now engine.Instant
	if err := d.broker.Read(ctx, func(r broker.Reader) error { all, now = r.States(read), r.Now; return nil }); err != nil {
		return nil, err
	}
	subs := map[string][]engine.EntityState{}
	for _, s := range all {
		if topic, _, ok := s.Path.Subscription(); ok {
			subs[engine.Path(topic).Fold()] = append(subs[engine.Path(topic).Fold()], s)
		}
	}
	for _, s := range all {
		if (kind == 0 || s.Kind == kind) && q.Match(s, subs[s.Path.Fold()], now) {
			found = append(found, s)
		}
	}
	return found, nil
}

func (d *handler) entity(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	return d.answerEntity(c, http.StatusOK, p)
}

func (d *handler) answerEntity(c echo.Context, status int, p engine.Path) error {
	s, err := d.state(c.Request().Context(), p)
	if err != nil {
		return err
	}
	return reply(c, status, presentEntity(s, d.broker.Limits()))
}

func (d *handler) create(c echo.Context) error {
	r := c.Request()
	in, err := readJSON[NewEntity](r, smallBody)
	if err != nil {
		return err
	}
	kind, err := parseKind(in.Kind)
	if err != nil {
		return err
	}
	p, err := engine.ParsePath(in.Path, d.broker.Limits())
	if err != nil {
		return err
	}
	var config engine.Config
	if err := setProperties(&config, kind, in.Properties, d.broker.Limits()); err != nil {
		return err
	}
	rules, err := in.rules(kind)
	if err != nil {
		return err
	}
	e, err := d.broker.CreateWithRules(r.Context(), kind, p, config, rules, client(r))
	if err != nil {
		return err
	}
	return d.answerEntity(c, http.StatusCreated, e.Path)
}

// rules returns the rules with which the entity is created: the given ones or, for a subscription, the
// default rule.
func (in NewEntity) rules(kind engine.EntityKind) (rules []engine.Rule, err error) {
	if in.Rules == nil && kind == engine.Subscription {
		return []engine.Rule{{Name: engine.DefaultRule}}, nil
	}
	for _, r := range in.Rules {
		given, err := r.rule()
		if err != nil {
			return nil, err
		}
		rules = append(rules, given)
	}
	return rules, nil
}

// UpdateImpact is the answer of PATCH /entities with dryRun: the impact of the update.
type UpdateImpact struct {
	Expire       int64 `json:"expire"`               // messages that would expire at once
	DeadLetter   int64 `json:"deadLetter"`           // how many of these would become dead letters; the others vanish
	WhenUnlocked int64 `json:"whenUnlocked"`         // messages that would expire when their locks end
	Unexamined   int64 `json:"unexamined,omitempty"` // messages that were not examined, and may be affected too
}

// update changes the given properties and keeps the others, or previews the impact. Two
// concurrent updates of one entity may overwrite each other's changes.
func (d *handler) update(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in, err := readJSON[EntityChange](r, smallBody)
	if err != nil {
		return err
	}
	if len(in.Properties) == 0 {
		return engine.Refuse(engine.ErrArgument, `The request has no properties to change; write {"properties":{…}}.`)
	}
	s, err := d.state(r.Context(), p)
	if err != nil {
		return err
	}
	if err := setProperties(&s.Config, s.Kind, in.Properties, d.broker.Limits()); err != nil {
		return err
	}
	if d.safe || query(c).Has("dryRun") {
		t, err := d.broker.PreviewUpdate(r.Context(), p, s.Config, maxImpactScan)
		if err != nil {
			return err
		}
		if query(c).Has("dryRun") {
			return reply(c, http.StatusOK, UpdateImpact{Expire: t.Expire, DeadLetter: t.DeadLettered, WhenUnlocked: t.Locked, Unexamined: t.Unexamined})
		}
		if t.Expire+t.Locked+t.Unexamined > 0 {
			return d.refuseInSafeMode()
		}
	}
	if _, err := d.broker.Update(r.Context(), p, s.Config, client(r)); err != nil {
		return err
	}
	return d.answerEntity(c, http.StatusOK, p)
}

// maxImpactScan is how many messages the preview of an update examines.
const maxImpactScan = 50_000

func (d *handler) remove(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	agreed := broker.Unconfirmed
	if query(c).Has("expectedCount") {
		agreed = broker.ConfirmedCount(number(c, "expectedCount", 0))
	}
	if err := d.broker.Delete(r.Context(), p, agreed, client(r)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
