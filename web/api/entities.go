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
	"mayfly/web/identity"
)

// An Entity is a queue, topic or subscription and what is true of it now.
type Entity struct {
	Kind          string         `json:"kind"`       // queue, topic or subscription
	Path          string         `json:"path"`       // by which it is asked for
	Properties    map[string]any `json:"properties"` // texts, numbers and booleans, as the property has it
	Counts        Counts         `json:"counts"`
	Bytes         int64          `json:"bytes"`                   // of its own messages, dead letters included
	Subscriptions int            `json:"subscriptions,omitempty"` // of a topic: how many it has
	CreatedAt     time.Time      `json:"createdAt"`               // by the server's clock
	UpdatedAt     time.Time      `json:"updatedAt"`               // when its description was changed
	AccessedAt    *time.Time     `json:"accessedAt,omitempty"`    // when somebody sent to it or received from it
	DeletesAt     *time.Time     `json:"deletesAt,omitempty"`     // if nobody uses it until then
	Rules         []Rule         `json:"rules,omitempty"`         // of a subscription
	Duplicates    *Duplicates    `json:"duplicates,omitempty"`    // missing: they are not looked for
	Sessions      *int           `json:"sessions,omitempty"`      // known ones; missing: there are none to be had
	// AuthorizationRules are those of its own, without keys; GET /access?entity=PATH
	// tells these.
	AuthorizationRules []AccessRule `json:"authorizationRules,omitempty"`
}

// Duplicates say what became of messages whose MessageId had been seen.
type Duplicates struct {
	Dropped    uint64 `json:"dropped"`    // since the entity was created
	Remembered int    `json:"remembered"` // MessageIds that would be known again
}

// Counts are exact. Locked ones are in no other number.
type Counts struct {
	Active     int64 `json:"active"`     // that may be received
	Locked     int64 `json:"locked"`     // that somebody has
	Deferred   int64 `json:"deferred"`   // that are asked for by their numbers
	Scheduled  int64 `json:"scheduled"`  // whose time has not come
	DeadLetter int64 `json:"deadLetter"` // in its dead-letter queue
	// Of the active ones, those that wait to be forwarded; and those in the
	// transfer dead-letter queue.
	Transfer           int64 `json:"transfer,omitempty"`
	TransferDeadLetter int64 `json:"transferDeadLetter,omitempty"`
}

// Entities is the answer of GET /entities.
type Entities struct {
	Entities []Entity `json:"entities"` // by path
}

// Creation is what POST /entities takes.
type Creation struct {
	Kind       string                     `json:"kind"`                 // queue, topic or subscription
	Path       string                     `json:"path"`                 // its name; of a subscription TOPIC/Subscriptions/NAME
	Properties map[string]json.RawMessage `json:"properties,omitempty"` // as the answer has them; what is left out or null has its default
	Rules      []Rule                     `json:"rules,omitempty"`      // of a subscription; missing: one that takes everything
}

// Change is what PATCH /entities takes: the properties to change. Null means the
// default; what is left out stays as it is.
type Change struct {
	Properties map[string]json.RawMessage `json:"properties"` // by name, as Service Bus has them
}

func entityRoutes() []route {
	return []route{
		{
			method: "GET", path: "/entities", id: "listEntities", group: groupEntities, summary: "All entities, or those of a kind",
			about: "The filter is the one of the lists' pages: words of the path and terms such as has:dlq, expiring:<5m, temp:<10m, idle:>1h, dlq:>100 and -status:disabled, all of which must be true. " +
				"A topic has the messages of its subscriptions. Where it is no filter the problem's position says where.",
			query: []parameter{entityKind(), entityFilter()},
			ask:   "kind=queue&filter=-has:dlq",
			gives: Entities{}, serve: (*door).list,
		},
		{
			method: "POST", path: "/entities", id: "createEntity", needs: identity.Admin, group: groupEntities, summary: "Create a queue, a topic or a subscription",
			sends: `{"kind":"queue","path":"invoices","properties":{"LockDuration":"PT30S","DeadLetteringOnMessageExpiration":true}}`,
			about: "Properties have Service Bus' names; durations are written PT1M30S, 90s or 00:01:30, and \"never\" is one.",
			takes: Creation{}, status: http.StatusCreated, gives: Entity{},
			fails: []string{"MessagingEntityNotFound", "MessagingEntityAlreadyExists", "InvalidOperation", "QuotaExceeded", "NotSupported"},
			serve: (*door).create,
		},
		{
			method: "GET", path: "/entities/{path}", id: "getEntity", group: groupEntities, summary: "One entity",
			at:    "orders",
			gives: Entity{}, fails: []string{"MessagingEntityNotFound", "InvalidOperation"}, serve: (*door).entity,
		},
		{
			method: "PATCH", path: "/entities/{path}", id: "updateEntity", needs: identity.Admin, ruin: mayRuin, group: groupEntities, summary: "Change some properties, or say what that would cost",
			at: "orders", sends: `{"properties":{"MaxDeliveryCount":5,"DefaultMessageTimeToLive":"PT1H"}}`,
			about: "A shorter DefaultMessageTimeToLive has messages run out that are there, of a topic those in its subscriptions. With dryRun=true nothing is changed, and the answer says how many that would be. What would be refused is refused.",
			query: []parameter{yes("dryRun", "Only say what it would cost.")},
			takes: Change{}, gives: either{Entity{}, Toll{}},
			fails: []string{"MessagingEntityNotFound", "InvalidOperation", "NotSupported"}, serve: (*door).update,
		},
		{
			method: "DELETE", path: "/entities/{path}", id: "deleteEntity", needs: identity.Admin, ruin: ruins, group: groupEntities, summary: "Delete an entity with everything in it",
			at: "old-orders", ask: "count=0",
			query: []parameter{seenCount()},
			fails: []string{"MessagingEntityNotFound", "InvalidOperation", "Changed"}, serve: (*door).remove,
		},
	}
}

func entityKind() parameter {
	p := word("kind", "Only entities of this kind.")
	p.schema.Enum = []string{engine.Queue.String(), engine.Topic.String(), engine.Subscription.String()}
	return p
}

func entityFilter() parameter {
	p := word("filter", "Only those that match, as in orders has:dlq.").like("orders has:dlq")
	p.check = func(text string) error {
		_, err := search.ParseEntities(text)
		return err
	}
	return p
}

// seenCount is the number of messages that whoever asks agrees to.
func seenCount() parameter {
	return whole("count", 0, 0, "How many messages whoever asks has seen: if there is more than a tenth more by now, nothing happens (409).")
}

func presentEntity(s engine.EntityState, l engine.Limits) Entity {
	out := Entity{
		Kind: s.Kind.String(), Path: string(s.Path), Properties: map[string]any{},
		Counts: Counts{
			Active: s.Counts.Active, Locked: s.Counts.Locked, Deferred: s.Counts.Deferred, Scheduled: s.Counts.Scheduled, DeadLetter: s.Counts.DeadLetter,
			Transfer: s.Counts.Transfer, TransferDeadLetter: s.Counts.TransferDeadLetter,
		},
		Bytes: s.Bytes, Subscriptions: s.Subscriptions, CreatedAt: s.CreatedAt.Time(), UpdatedAt: s.UpdatedAt.Time(),
		AccessedAt: moment(s.AccessedAt), DeletesAt: moment(s.DeletesAt),
	}
	for _, p := range engine.Properties(s.Kind) {
		out.Properties[p.Name] = presentProperty(p, s.Config)
	}
	if s.Config.RequiresDuplicateDetection {
		out.Duplicates = &Duplicates{Dropped: s.Duplicates, Remembered: s.Seen}
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

// moment is a time, or nothing for the zero Instant.
func moment(i engine.Instant) *time.Time {
	if i == 0 {
		return nil
	}
	t := i.Time()
	return &t
}

// setProperties writes what was given into c. Null means the default.
func setProperties(c *engine.Config, kind engine.EntityKind, given map[string]json.RawMessage, l engine.Limits) error {
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		p, ok := engine.LookupProperty(kind, name)
		if !ok {
			return &engine.PropertyError{Property: cut(name), Kind: engine.ErrArgument, Text: "A " + kind.String() + " has no property '" + cut(name) + "'."}
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

// propertyText is a property's value as text: whatever it is, a text will do.
func propertyText(p engine.Property, raw json.RawMessage) (string, error) {
	wrong := func(want string) error {
		return &engine.PropertyError{Property: p.Name, Value: cut(string(raw)), Kind: engine.ErrArgument, Text: "The value for '" + p.Name + "' is " + want + ", not " + cut(string(raw)) + "."}
	}
	switch c := raw[0]; {
	case c == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", wrong("a text")
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
		return "", wrong("a text")
	}
}

func parseKind(text string) (engine.EntityKind, error) {
	for _, k := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		if strings.EqualFold(text, k.String()) {
			return k, nil
		}
	}
	return 0, argument("The kind is queue, topic or subscription, not '%s'.", cut(text))
}

func (d *door) list(c echo.Context) error {
	q := query(c)
	kind := engine.EntityKind(0)
	if q.Has("kind") {
		var err error
		if kind, err = parseKind(q.Get("kind")); err != nil {
			return err
		}
	}
	found, err := d.matching(c.Request().Context(), kind, q.Get("filter"))
	if err != nil {
		return err
	}
	out := Entities{Entities: []Entity{}}
	for _, s := range found {
		out.Entities = append(out.Entities, presentEntity(s, d.broker.Limits()))
	}
	return reply(c, http.StatusOK, out)
}

// matching are the entities of a kind, or all, that match a filter.
func (d *door) matching(ctx context.Context, kind engine.EntityKind, filter string) (found []engine.EntityState, err error) {
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

func (d *door) entity(c echo.Context) error {
	p, err := d.path(c)
	if err != nil {
		return err
	}
	return d.answerEntity(c, http.StatusOK, p)
}

func (d *door) answerEntity(c echo.Context, status int, p engine.Path) error {
	s, err := d.state(c.Request().Context(), p)
	if err != nil {
		return err
	}
	return reply(c, status, presentEntity(s, d.broker.Limits()))
}

func (d *door) create(c echo.Context) error {
	r := c.Request()
	in, err := given[Creation](r, smallBody)
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

// rules are those an entity starts with.
func (in Creation) rules(kind engine.EntityKind) (rules []engine.Rule, err error) {
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

// Toll is the answer of PATCH /entities with dryRun: what the update would cost.
type Toll struct {
	Expire       int64 `json:"expire"`           // messages that would run out at once
	DeadLetter   int64 `json:"deadLetter"`       // of these: would become dead letters, the others vanish
	WhenUnlocked int64 `json:"whenUnlocked"`     // would run out when their locks end
	Unseen       int64 `json:"unseen,omitempty"` // were not looked at: up to so many more
}

// update changes the properties given and leaves the others, or says what that
// would cost. Two updates of one entity at the same time may undo each other's.
func (d *door) update(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	in, err := given[Change](r, smallBody)
	if err != nil {
		return err
	}
	if len(in.Properties) == 0 {
		return argument(`There is nothing to change; write {"properties":{…}}.`)
	}
	s, err := d.state(r.Context(), p)
	if err != nil {
		return err
	}
	if err := setProperties(&s.Config, s.Kind, in.Properties, d.broker.Limits()); err != nil {
		return err
	}
	if d.safe || query(c).Has("dryRun") {
		t, err := d.broker.ForeseeUpdate(r.Context(), p, s.Config, tollMost)
		if err != nil {
			return err
		}
		if query(c).Has("dryRun") {
			return reply(c, http.StatusOK, Toll{Expire: t.Expire, DeadLetter: t.Kept, WhenUnlocked: t.Locked, Unseen: t.Unseen})
		}
		if t.Expire+t.Locked+t.Unseen > 0 {
			return d.spare()
		}
	}
	if _, err := d.broker.Update(r.Context(), p, s.Config, client(r)); err != nil {
		return err
	}
	return d.answerEntity(c, http.StatusOK, p)
}

// tollMost is how many messages an update that only counts looks at.
const tollMost = 50_000

func (d *door) remove(c echo.Context) error {
	r := c.Request()
	p, err := d.path(c)
	if err != nil {
		return err
	}
	agreed := broker.Unasked
	if query(c).Has("count") {
		agreed = broker.Agreed(number(c, "count", 0))
	}
	if err := d.broker.Delete(r.Context(), p, agreed, client(r)); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
