package api

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/namespaces"
	"mayfly/engine/shorten"
	"mayfly/engine/topology"
	"mayfly/web/auth"
)

// Namespaces is the answer of GET /namespaces.
type Namespaces struct {
	Namespaces []Namespace `json:"namespaces"` // the server's own first, then by name
	Limit      int         `json:"limit"`      // how many others are allowed
}

// Namespace is one of the server's namespaces.
type Namespace struct {
	Name      string    `json:"name"`
	Own       bool      `json:"own"`                // whether it is the server's own, which cannot be removed
	State     string    `json:"state"`              // serving; opening; standby if another server owns it; failing if it cannot be opened, which is retried
	Reason    string    `json:"reason,omitempty"`   // why it is not being served
	Owner     string    `json:"owner,omitempty"`    // the dashboard of the server that owns it
	Profile   string    `json:"profile,omitempty"`  // the profile of its limits, while it is served
	CreatedAt time.Time `json:"createdAt,omitzero"` // missing if unknown
	Temporary bool      `json:"temporary"`          // whether it is only in memory, and is removed by itself
	ExpiresAt time.Time `json:"expiresAt,omitzero"` // when a temporary one is removed; missing if it lasts until the server's end
	Address   string    `json:"address"`            // of its API: /api/v1/n/shop
	Dashboard string    `json:"dashboard"`          // of its pages: /n/shop
	// Connection strings for SDKs on this machine, with the word KEY for the key if tokens are
	// required: for messages, if AMQP is available without TLS, and for entities.
	ConnectionString      string `json:"connectionString,omitempty"`
	AdminConnectionString string `json:"adminConnectionString,omitempty"`

	Entities    int   `json:"entities"`    // while it is served
	Messages    int64 `json:"messages"`    // while it is served, including dead letters
	DeadLetters int64 `json:"deadLetters"` // while it is served
}

// NewNamespace is the request of POST /namespaces.
type NewNamespace struct {
	Name      string `json:"name"`                // 1 to 63 letters, digits and hyphens, in any case
	Profile   string `json:"profile,omitempty"`   // standard, premium, basic or emulator; missing means the server's limits
	Temporary bool   `json:"temporary,omitempty"` // only in memory
	// Definitions are its entities and rules: a Config.json, whose namespace may have any
	// name. Missing means none.
	Definitions json.RawMessage `json:"definitions,omitempty"`
	ExpiresIn   string          `json:"expiresIn,omitempty"` // how long a temporary one stays, such as 1h; missing means until the server's end
}

// CreatedNamespace is the answer of POST /namespaces.
type CreatedNamespace struct {
	Namespace
	Warnings []DefinitionWarning `json:"warnings,omitempty"` // parts of the definitions that have no effect
}

// NamespaceChange is the request of PATCH /namespaces/{name}.
type NamespaceChange struct {
	Profile *string `json:"profile"` // standard, premium, basic or emulator; empty means the server's limits
}

// RemovedNamespace is the answer of DELETE /namespaces/{name}.
type RemovedNamespace struct {
	Name    string `json:"name"`
	MovedTo string `json:"movedTo,omitempty"` // where its content was moved; missing if it was deleted
}

func namespaceRoutes() []route {
	const part = "The name of a namespace, in any case."
	return []route{
		{
			method: "GET", path: "/namespaces", id: "listNamespaces", group: groupNamespaces, summary: "List all namespaces of the server",
			response: Namespaces{}, handle: (*handler).namespaces,
		},
		{
			method: "POST", path: "/namespaces", id: "createNamespace", role: auth.Admin, group: groupNamespaces, summary: "Create a namespace",
			exampleBody: `{"name":"shop"}`,
			description: "A namespace has its own store. Clients select it by host name: Endpoint=sb://shop.localhost. The answer is sent when the namespace is being served, or else has the reason in state. If definitions cannot be applied, the namespace is not created.",
			request:     NewNamespace{}, status: http.StatusCreated, response: CreatedNamespace{}, problems: []string{"NamespaceAlreadyExists", "QuotaExceeded", "NotSupported"}, handle: (*handler).createNamespace,
		},
		{
			method: "GET", path: "/namespaces/{name}", id: "getNamespace", group: groupNamespaces, summary: "Get a namespace",
			exampleParam: "till", nameMeaning: part,
			response: Namespace{}, problems: []string{"NamespaceNotFound"}, handle: (*handler).namespace,
		},
		{
			method: "PATCH", path: "/namespaces/{name}", id: "updateNamespace", role: auth.Admin, group: groupNamespaces, summary: "Change the limits of a namespace",
			exampleParam: "till", nameMeaning: part, exampleBody: `{"profile":"premium"}`,
			description: "The namespace is reopened, and its clients must reconnect. Existing entities keep their properties. The limits of the server's own namespace and of namespaces in memory cannot be changed.",
			request:     NamespaceChange{}, response: Namespace{}, problems: []string{"NamespaceNotFound", "InvalidOperation", "NotSupported"}, handle: (*handler).changeNamespace,
		},
		{
			method: "DELETE", path: "/namespaces/{name}", id: "deleteNamespace", role: auth.Admin, destruction: destroys, group: groupNamespaces, summary: "Delete a namespace and everything in it",
			exampleParam: "till?confirm=till", nameMeaning: part,
			description: "Its clients are disconnected. If the store is a file, its folder is moved aside, not deleted; in MongoDB and in memory, the data is deleted permanently. The server's own namespace cannot be deleted.",
			query:       []parameter{requiredParameter(textParameter("confirm", "The name of the namespace again, as confirmation.")).withExample("till").routeRole()},
			response:    RemovedNamespace{}, problems: []string{"NamespaceNotFound", "InvalidOperation", "NotSupported"}, handle: (*handler).deleteNamespace,
		},
	}
}

// allNamespaces returns the namespaces. Without a Manager there is one.
func (d *handler) allNamespaces() []namespaces.Namespace {
	if d.manager == nil {
		return []namespaces.Namespace{{Spec: namespaces.Spec{Name: d.broker.Name()}, Main: true, State: namespaces.Serving, Broker: d.broker}}
	}
	return d.manager.List()
}

func (d *handler) namespaces(c echo.Context) error {
	out := Namespaces{Namespaces: []Namespace{}}
	if d.manager != nil {
		out.Limit = d.manager.Max()
	}
	for _, n := range d.allNamespaces() {
		out.Namespaces = append(out.Namespaces, d.presentNamespace(c, n))
	}
	return reply(c, http.StatusOK, out)
}

func (d *handler) namespace(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	for _, n := range d.allNamespaces() {
		if strings.EqualFold(n.Name, name) {
			return reply(c, http.StatusOK, d.presentNamespace(c, n))
		}
	}
	return engine.Refuse(namespaces.ErrNoNamespace, "%s", "The namespace '"+shorten.Quote(name)+"' does not exist.")
}

func (d *handler) presentNamespace(c echo.Context, n namespaces.Namespace) Namespace {
	out := Namespace{
		Name: n.Name, Own: n.Main, State: string(n.State), Reason: n.Reason, Owner: n.Owner.Dashboard, CreatedAt: n.Created,
		Temporary: n.Temporary, ExpiresAt: n.Until, Address: d.base + "/api/v1/n/" + n.Name, Dashboard: d.base + "/n/" + n.Name,
	}
	if d.connectionStrings != nil {
		out.ConnectionString, out.AdminConnectionString = d.connectionStrings(n.Name)
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
		out.State, out.Reason = string(namespaces.Failing), sentence(err.Error())
	}
	out.Profile = strings.ToLower(n.Broker.Limits().Tier)
	return out
}

// errSingleNamespace is the error of a server that cannot have other namespaces.
func errSingleNamespace() error {
	return engine.Refuse(engine.ErrNotImplemented, "This server has only one namespace.")
}

func (d *handler) createNamespace(c echo.Context) error {
	var in NewNamespace
	if err := d.read(c, &in); err != nil {
		return err
	}
	if d.manager == nil {
		return errSingleNamespace()
	}
	s := namespaces.Spec{Name: in.Name, Profile: in.Profile, Temporary: in.Temporary}
	if in.ExpiresIn != "" {
		stays, never, err := engine.ParseDuration(in.ExpiresIn)
		switch {
		case err != nil || never || stays <= 0:
			return engine.Refuse(engine.ErrArgument, "The value for 'expiresIn' must be a duration such as 1h, not '%s'.", shorten.Quote(in.ExpiresIn))
		case !in.Temporary:
			return engine.Refuse(engine.ErrArgument, "'expiresIn' requires 'temporary': only a temporary namespace has a lifetime.")
		}
		s.Until = time.Now().Add(stays).UTC().Truncate(time.Millisecond)
	}
	var n namespaces.Namespace
	var warnings topology.Problems
	var err error
	if defined := in.Definitions != nil && string(in.Definitions) != "null"; defined {
		n, warnings, err = d.manager.CreateDefined(c.Request().Context(), s, in.Definitions, client(c.Request()))
	} else {
		n, err = d.manager.Create(c.Request().Context(), s, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return reply(c, http.StatusCreated, CreatedNamespace{Namespace: d.presentNamespace(c, n), Warnings: presentWarnings(warnings)})
}

func (d *handler) changeNamespace(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	var in NamespaceChange
	if err := d.read(c, &in); err != nil {
		return err
	}
	switch {
	case d.manager == nil:
		return errSingleNamespace()
	case in.Profile == nil:
		return engine.Refuse(engine.ErrArgument, "'profile' is missing: one of %s, or empty for the server's limits.", strings.Join(engine.Profiles(), ", "))
	}
	n, err := d.manager.Change(c.Request().Context(), name, *in.Profile, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, d.presentNamespace(c, n))
}

func (d *handler) deleteNamespace(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	if d.manager == nil {
		return errSingleNamespace()
	}
	n, ok := d.manager.Find(name)
	if !ok {
		return engine.Refuse(namespaces.ErrNoNamespace, "%s", "The namespace '"+shorten.Quote(name)+"' does not exist.")
	}
	if given := query(c).Get("confirm"); !strings.EqualFold(given, n.Name) {
		return engine.Refuse(engine.ErrArgument, "Everything in the namespace would be deleted. To confirm, set 'confirm' to '%s', not '%s'.", n.Name, shorten.Quote(given))
	}
	aside, err := d.manager.Remove(c.Request().Context(), n.Name, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, RemovedNamespace{Name: n.Name, MovedTo: aside})
}
