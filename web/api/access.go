package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

// An AccessRule is an access rule of the namespace, a queue or a topic, which grants rights to
// clients. Keys are included only if they were requested, and in the answer to the request
// that set or generated them.
type AccessRule struct {
	Name         string    `json:"name"`                   // the key name in connection strings
	Rights       []string  `json:"rights"`                 // Listen, Send, Manage
	PrimaryKey   string    `json:"primaryKey,omitempty"`   // if keys were requested, set or generated
	SecondaryKey string    `json:"secondaryKey,omitempty"` // if keys were requested, set or generated
	CreatedAt    time.Time `json:"createdAt,omitzero"`     // missing if the creator did not provide it
	UpdatedAt    time.Time `json:"updatedAt,omitzero"`     // when it was last changed
}

// AccessChange is the request of PUT /access-rules. A key that is left out stays as it is, or is
// generated for a new rule.
type AccessChange struct {
	Rights       []string `json:"rights,omitempty"`       // Listen, Send, Manage
	PrimaryKey   string   `json:"primaryKey,omitempty"`   // generated if it is left out of a new rule
	SecondaryKey string   `json:"secondaryKey,omitempty"` // generated if it is left out of a new rule
}

// AccessRules is the answer of GET /access-rules.
type AccessRules struct {
	Rules []AccessRule `json:"rules"` // by name
}

func accessRoutes() []route {
	entity := entityPath("The queue or topic that has the rules; if absent, the namespace.").routeRole()
	fails := func(more ...string) []string { return append(more, "MessagingEntityNotFound", "InvalidOperation") }
	return []route{
		{
			method: "GET", path: "/access-rules", id: "listAccessRules", group: groupAccess, summary: "List access rules",
			exampleQuery: "keys=true",
			query:        []parameter{flagParameter("keys", "Include the keys.").withRole(auth.Admin), entity},
			response:     AccessRules{}, problems: fails(), handle: (*handler).accessRules,
		},
		{
			method: "PUT", path: "/access-rules/{name}", id: "setAccessRule", role: auth.Admin, group: groupAccess, summary: "Add or change an access rule",
			exampleParam: "ci", nameMeaning: "The name of an access rule.", exampleBody: `{"rights":["Send","Listen"]}`,
			description: "The answer contains only the keys that were set or generated. To get all keys, list the rules with keys=true.",
			query:       []parameter{entity}, request: AccessChange{}, response: AccessRule{}, problems: fails("QuotaExceeded"), handle: (*handler).setAccessRule,
		},
		{
			method: "POST", path: "/access-rules/{name}/regenerate", id: "regenerateAccessKey", role: auth.Admin, destruction: destroys, group: groupAccess, summary: "Regenerate a key",
			exampleParam: "ci", nameMeaning: "The name of an access rule.", exampleQuery: "key=secondary",
			query:    []parameter{requiredParameter(enumParameter("key", "The key to regenerate.", engine.PrimaryKey.String(), engine.SecondaryKey.String())).routeRole(), entity},
			response: AccessRule{}, problems: fails("AccessRuleNotFound"), handle: (*handler).renewAccessKey,
		},
		{
			method: "DELETE", path: "/access-rules/{name}", id: "deleteAccessRule", role: auth.Admin, destruction: destroys, group: groupAccess, summary: "Delete an access rule",
			exampleParam: "ci", nameMeaning: "The name of an access rule.",
			description: "RootManageSharedAccessKey cannot be deleted.",
			query:       []parameter{entity}, problems: fails("AccessRuleNotFound"), handle: (*handler).removeAccessRule,
		},
	}
}

func presentAccess(r engine.AccessRule) AccessRule {
	return AccessRule{
		Name: r.Name, Rights: r.Rights.Names(), PrimaryKey: r.PrimaryKey, SecondaryKey: r.SecondaryKey,
		CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}
}

// presentAll converts rules for an answer, with their keys if the query has the parameter keys.
func presentAll(rules []engine.AccessRule, q url.Values) []AccessRule {
	out := []AccessRule{}
	for _, r := range rules {
		if !q.Has("keys") {
			r.PrimaryKey, r.SecondaryKey = "", ""
		}
		out = append(out, presentAccess(r))
	}
	return out
}

func (d *handler) accessRules(c echo.Context) error {
	at, err := d.entityOfAccess(c)
	if err != nil {
		return err
	}
	var rules []engine.AccessRule
	if at == "" {
		rules, err = d.broker.AccessRules(c.Request().Context())
	} else {
		var s engine.EntityState
		s, err = d.state(c.Request().Context(), at)
		rules = s.Config.AuthorizationRules
	}
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, AccessRules{Rules: presentAll(rules, query(c))})
}

// entityOfAccess returns the entity that the query names, or "", which means the namespace, if it
// names none.
func (d *handler) entityOfAccess(c echo.Context) (engine.Path, error) {
	q := query(c)
	if !q.Has("entity") {
		return "", nil
	}
	return engine.ParsePath(q.Get("entity"), d.broker.Limits())
}

// nameParam returns the name in an address. Echo decodes the parameter only if the address has no
// RawPath.
func nameParam(c echo.Context) (string, error) {
	if c.Request().URL.RawPath == "" {
		return c.Param("name"), nil
	}
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return "", engine.Refuse(engine.ErrArgument, "The address cannot be decoded: '%s'.", shorten.Quote(c.Param("name")))
	}
	return name, nil
}

func (d *handler) setAccessRule(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	at, err := d.entityOfAccess(c)
	if err != nil {
		return err
	}
	in, err := readJSON[AccessChange](c.Request(), smallBody)
	if err != nil {
		return err
	}
	rights, err := engine.ParseRights(in.Rights)
	if err != nil {
		return err
	}
	r, err := d.broker.SetAccessRule(c.Request().Context(), at, engine.AccessRule{Name: name, Rights: rights, PrimaryKey: in.PrimaryKey, SecondaryKey: in.SecondaryKey}, client(c.Request()))
	if err != nil {
		return err
	}
	if !r.Added && in.PrimaryKey == "" {
		r.PrimaryKey = ""
	}
	if !r.Added && in.SecondaryKey == "" {
		r.SecondaryKey = ""
	}
	return reply(c, http.StatusOK, presentAccess(r.AccessRule))
}

func (d *handler) renewAccessKey(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	at, err := d.entityOfAccess(c)
	if err != nil {
		return err
	}
	for _, which := range []engine.KeyKind{engine.PrimaryKey, engine.SecondaryKey} {
		if query(c).Get("key") != which.String() {
			continue
		}
		r, err := d.broker.RegenerateAccessKey(c.Request().Context(), at, name, which, client(c.Request()))
		if err != nil {
			return err
		}
		if which == engine.PrimaryKey {
			r.SecondaryKey = ""
		} else {
			r.PrimaryKey = ""
		}
		return reply(c, http.StatusOK, presentAccess(r))
	}
	return engine.Refuse(engine.ErrArgument, "The query parameter 'key' is missing: primary or secondary.")
}

func (d *handler) removeAccessRule(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	at, err := d.entityOfAccess(c)
	if err == nil {
		err = d.broker.RemoveAccessRule(c.Request().Context(), at, name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
