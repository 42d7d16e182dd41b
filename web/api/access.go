package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
)

// An AccessRule is one of the namespace's own, or of a queue or topic, by which
// clients may do things there. A key is told only to who asks for keys, and in the
// answer to what gave it or had it made.
type AccessRule struct {
	Name         string    `json:"name"`
	Rights       []string  `json:"rights"` // Listen, Send, Manage
	PrimaryKey   string    `json:"primaryKey,omitempty"`
	SecondaryKey string    `json:"secondaryKey,omitempty"`
	CreatedAt    time.Time `json:"createdAt,omitzero"` // missing: not told by who made it
	UpdatedAt    time.Time `json:"updatedAt,omitzero"`
}

// AccessChange is what PUT /access takes. A key that is left out stays what it was,
// and is made at random for a new rule.
type AccessChange struct {
	Rights       []string `json:"rights,omitempty"` // Listen, Send, Manage
	PrimaryKey   string   `json:"primaryKey,omitempty"`
	SecondaryKey string   `json:"secondaryKey,omitempty"`
}

// AccessRules is the answer of GET /access.
type AccessRules struct {
	Rules []AccessRule `json:"rules"`
}

func accessRoutes() []route {
	entity := entityPath("The queue or topic whose rules are meant; absent: the namespace's.")
	fails := func(more ...string) []string { return append(more, "MessagingEntityNotFound", "InvalidOperation") }
	return []route{
		{
			method: "GET", path: "/access", id: "listAccessRules", group: groupAccess, summary: "By which rules clients may do things",
			query: []parameter{yes("keys", "With their keys."), entity},
			gives: AccessRules{}, fails: fails(), serve: (*door).accessRules,
		},
		{
			method: "PUT", path: "/access/{name}", id: "setAccessRule", group: groupAccess, summary: "Add an access rule, or change it",
			about: "The answer has the keys that were given or made by it; to see the others, ask for keys.",
			query: []parameter{entity}, takes: AccessChange{}, gives: AccessRule{}, fails: fails("QuotaExceeded"), serve: (*door).setAccessRule,
		},
		{
			method: "POST", path: "/access/{name}/renew", id: "renewAccessKey", group: groupAccess, summary: "Make a key anew, at random",
			query: []parameter{needed(one("key", "Which of the two.", engine.PrimaryKey.String(), engine.SecondaryKey.String())), entity},
			gives: AccessRule{}, fails: fails("AccessRuleNotFound"), serve: (*door).renewAccessKey,
		},
		{
			method: "DELETE", path: "/access/{name}", id: "removeAccessRule", group: groupAccess, summary: "Remove an access rule",
			about: "RootManageSharedAccessKey cannot be removed.",
			query: []parameter{entity}, fails: fails("AccessRuleNotFound"), serve: (*door).removeAccessRule,
		},
	}
}

func presentAccess(r engine.AccessRule) AccessRule {
	return AccessRule{
		Name: r.Name, Rights: r.Rights.Names(), PrimaryKey: r.PrimaryKey, SecondaryKey: r.SecondaryKey,
		CreatedAt: r.CreatedAt.Time(), UpdatedAt: r.UpdatedAt.Time(),
	}
}

// presentAll are rules, with their keys if keys are asked for.
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

func (d *door) accessRules(c echo.Context) error {
	at, err := d.accessAt(c)
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

// accessAt is the entity whose rules are meant, empty for the namespace.
func (d *door) accessAt(c echo.Context) (engine.Path, error) {
	q := query(c)
	if !q.Has("entity") {
		return "", nil
	}
	return engine.ParsePath(q.Get("entity"), d.broker.Limits())
}

// accessName is the name in an address, of which a parameter is decoded already
// where the address can be written in one way only.
func accessName(c echo.Context) (string, error) {
	if c.Request().URL.RawPath == "" {
		return c.Param("name"), nil
	}
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return "", argument("The address cannot be decoded: '%s'.", cut(c.Param("name")))
	}
	return name, nil
}

func (d *door) setAccessRule(c echo.Context) error {
	name, err := accessName(c)
	if err != nil {
		return err
	}
	at, err := d.accessAt(c)
	if err != nil {
		return err
	}
	raw, err := readBody(c.Request(), smallBody)
	if err != nil {
		return err
	}
	var in AccessChange
	if err := decode(raw, &in); err != nil {
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

func (d *door) renewAccessKey(c echo.Context) error {
	name, err := accessName(c)
	if err != nil {
		return err
	}
	at, err := d.accessAt(c)
	if err != nil {
		return err
	}
	for _, which := range []engine.KeyKind{engine.PrimaryKey, engine.SecondaryKey} {
		if query(c).Get("key") != which.String() {
			continue
		}
		r, err := d.broker.RenewAccessKey(c.Request().Context(), at, name, which, client(c.Request()))
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
	return argument("Which key? Say key=primary or key=secondary.")
}

func (d *door) removeAccessRule(c echo.Context) error {
	name, err := accessName(c)
	if err != nil {
		return err
	}
	at, err := d.accessAt(c)
	if err == nil {
		err = d.broker.RemoveAccessRule(c.Request().Context(), at, name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
