package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/web/identity"
)

// Namespaces is the answer of GET /namespaces.
type Namespaces struct {
	Namespaces []Namespace `json:"namespaces"` // the server's own first, then the others by name
	Most       int         `json:"most"`       // how many others there may be
}

// Namespace is one of the server's.
type Namespace struct {
	Name      string    `json:"name"`
	Own       bool      `json:"own"`              // whether it is the server's own, which cannot be removed
	State     string    `json:"state"`            // serving; opening; standby: another server owns it; or failing: it cannot be opened, which is tried again
	Why       string    `json:"why,omitempty"`    // what keeps it from being served
	Owner     string    `json:"owner,omitempty"`  // where the dashboard is of the server that owns it
	Tier      string    `json:"tier,omitempty"`   // whose limits it has, while it is served
	Created   time.Time `json:"created,omitzero"` // missing: not known
	Temporary bool      `json:"temporary"`        // whether it is in memory alone, and goes by itself
	Until     time.Time `json:"until,omitzero"`   // when a temporary one goes; missing: with the server
	Address   string    `json:"address"`          // where its API is: /api/v1/n/shop
	Dashboard string    `json:"dashboard"`        // where its pages are: /n/shop
	// What SDKs on this machine are given, with the word KEY for the key where tokens
	// are asked for: for messages, if AMQP is to be had without TLS, and for entities.
	ConnectionString      string `json:"connectionString,omitempty"`
	AdminConnectionString string `json:"adminConnectionString,omitempty"`

	Entities    int   `json:"entities"`    // while it is served
	Messages    int64 `json:"messages"`    // likewise, dead letters included
	DeadLetters int64 `json:"deadLetters"` // likewise
}

// NewNamespace is what POST /namespaces takes.
type NewNamespace struct {
	Name      string `json:"name"`                // 1 to 63 letters, digits and hyphens, in any case
	Profile   string `json:"profile,omitempty"`   // standard, premium, basic or emulator; missing: the server's limits
	Temporary bool   `json:"temporary,omitempty"` // in memory alone
	// Definitions are its entities and rules: a Config.json, whose namespace may be called
	// anything. Missing: it is empty.
	Definitions json.RawMessage `json:"definitions,omitempty"`
	For         string          `json:"for,omitempty"` // how long a temporary one stays, such as 1h; missing: as long as the server
}

// NamespaceChange is what PATCH /namespaces/{name} takes.
type NamespaceChange struct {
	Profile *string `json:"profile"` // standard, premium, basic or emulator; empty: the server's limits
}

// RemovedNamespace is the answer of DELETE /namespaces/{name}.
type RemovedNamespace struct {
	Name  string `json:"name"`
	Aside string `json:"aside,omitempty"` // where what was in it is kept; missing: it is gone
}

func namespaceRoutes() []route {
	const part = "The name of a namespace, in any case."
	return []route{
		{
			method: "GET", path: "/namespaces", id: "listNamespaces", group: groupNamespaces, summary: "All namespaces of the server",
			gives: Namespaces{}, serve: (*door).namespaces,
		},
		{
			method: "POST", path: "/namespaces", id: "createNamespace", needs: identity.Admin, group: groupNamespaces, summary: "Make a namespace",
			sends: `{"name":"shop"}`,
			about: "It has a store of its own, and clients find it by the name of the host: Endpoint=sb://shop.localhost. The answer comes when it is served, or state says what keeps it from that. With definitions it is made with those, or not at all.",
			takes: NewNamespace{}, status: http.StatusCreated, gives: Namespace{}, fails: []string{"NamespaceAlreadyExists", "QuotaExceeded", "NotSupported"}, serve: (*door).createNamespace,
		},
		{
			method: "GET", path: "/namespaces/{name}", id: "getNamespace", group: groupNamespaces, summary: "One namespace",
			at: "till", part: part,
			gives: Namespace{}, fails: []string{"NamespaceNotFound"}, serve: (*door).namespace,
		},
		{
			method: "PATCH", path: "/namespaces/{name}", id: "changeNamespace", needs: identity.Admin, group: groupNamespaces, summary: "Give a namespace other limits",
			at: "till", part: part, sends: `{"profile":"premium"}`,
			about: "It is opened again, and clients that stay connected have to come again. What was stored under other limits keeps what it has. The server's own namespace, and one that is in memory alone, keep theirs.",
			takes: NamespaceChange{}, gives: Namespace{}, fails: []string{"NamespaceNotFound", "InvalidOperation", "NotSupported"}, serve: (*door).changeNamespace,
		},
		{
			method: "DELETE", path: "/namespaces/{name}", id: "deleteNamespace", needs: identity.Admin, ruin: ruins, group: groupNamespaces, summary: "Remove a namespace with all that is in it",
			at: "till?confirm=till", part: part,
			about: "Its clients are disconnected. Of a store that is a file, the folder is moved aside and not deleted; on MongoDB and in memory all is gone for good. The server's own namespace stays.",
			query: []parameter{needed(word("confirm", "Its name once more.")).like("till")},
			gives: RemovedNamespace{}, fails: []string{"NamespaceNotFound", "InvalidOperation", "NotSupported"}, serve: (*door).deleteNamespace,
		},
	}
}

// listed are the namespaces: without a fleet there is one.
func (d *door) listed() []fleet.Namespace {
	if d.fleet == nil {
		return []fleet.Namespace{{Spec: fleet.Spec{Name: d.broker.Name()}, Main: true, State: fleet.Serving, Broker: d.broker}}
	}
	return d.fleet.List()
}

func (d *door) namespaces(c echo.Context) error {
	out := Namespaces{Namespaces: []Namespace{}}
	if d.fleet != nil {
		out.Most = d.fleet.Most()
	}
	for _, n := range d.listed() {
		out.Namespaces = append(out.Namespaces, d.presentNamespace(c, n))
	}
	return reply(c, http.StatusOK, out)
}

func (d *door) namespace(c echo.Context) error {
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	for _, n := range d.listed() {
		if strings.EqualFold(n.Name, name) {
			return reply(c, http.StatusOK, d.presentNamespace(c, n))
		}
	}
	return &engine.Refusal{Kind: fleet.ErrNone, Text: "There is no namespace '" + cut(name) + "'."}
}

func (d *door) presentNamespace(c echo.Context, n fleet.Namespace) Namespace {
	out := Namespace{
		Name: n.Name, Own: n.Main, State: string(n.State), Why: n.Why, Owner: n.Owner.Dashboard, Created: n.Created,
		Temporary: n.Temporary, Until: n.Until, Address: d.base + "/api/v1/n/" + n.Name, Dashboard: d.base + "/n/" + n.Name,
	}
	if d.dials != nil {
		out.ConnectionString, out.AdminConnectionString = d.dials(n.Name)
	}
	if n.Broker == nil {
		return out
	}
	err := n.Broker.Read(c.Request().Context(), func(r broker.Reader) error {
		counts, entities := r.Totals()
		out.Entities, out.Messages, out.DeadLetters = entities, counts.MessageCount(), counts.DeadLetter+counts.DeadLocked
		return nil
	})
	if err != nil { // it has just ended
		out.State, out.Why = string(fleet.Failing), sentence(err.Error())
	}
	out.Tier = n.Broker.Limits().Tier
	return out
}

// errOne is for a server that cannot have others.
func errOne() error {
	return &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "This server has one namespace."}
}

func (d *door) createNamespace(c echo.Context) error {
	var in NewNamespace
	if err := d.read(c, &in); err != nil {
		return err
	}
	if d.fleet == nil {
		return errOne()
	}
	s := fleet.Spec{Name: in.Name, Profile: in.Profile, Temporary: in.Temporary}
	if in.For != "" {
		stays, never, err := engine.ParseDuration(in.For)
		switch {
		case err != nil || never || stays <= 0:
			return argument("The value for 'for' is a duration such as 1h, not '%s'.", cut(in.For))
		case !in.Temporary:
			return argument("Only a temporary namespace has an end: 'for' goes with 'temporary'.")
		}
		s.Until = time.Now().Add(stays).UTC().Truncate(time.Millisecond)
	}
	var n fleet.Namespace
	var err error
	if defined := in.Definitions != nil && string(in.Definitions) != "null"; defined {
		n, err = d.fleet.CreateDefined(c.Request().Context(), s, in.Definitions, client(c.Request()))
	} else {
		n, err = d.fleet.Create(c.Request().Context(), s, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, d.presentNamespace(c, n))
}

func (d *door) changeNamespace(c echo.Context) error {
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	var in NamespaceChange
	if err := d.read(c, &in); err != nil {
		return err
	}
	switch {
	case d.fleet == nil:
		return errOne()
	case in.Profile == nil:
		return argument("'profile' is missing: one of %s, or empty for the server's limits.", strings.Join(engine.Profiles(), ", "))
	}
	n, err := d.fleet.Change(c.Request().Context(), name, *in.Profile, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, d.presentNamespace(c, n))
}

func (d *door) deleteNamespace(c echo.Context) error {
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	if d.fleet == nil {
		return errOne()
	}
	n, ok := d.fleet.Find(name)
	if !ok {
		return &engine.Refusal{Kind: fleet.ErrNone, Text: "There is no namespace '" + cut(name) + "'."}
	}
	if given := query(c).Get("confirm"); !strings.EqualFold(given, n.Name) {
		return argument("All that is in the namespace goes with it: 'confirm' is its name, '%s', not '%s'.", n.Name, cut(given))
	}
	aside, err := d.fleet.Remove(c.Request().Context(), n.Name, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, RemovedNamespace{Name: n.Name, Aside: aside})
}
