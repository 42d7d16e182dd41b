package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/identity"
)

// An AccessRule is one of the namespace's own, or of a queue or topic, by which
// clients may do things there. A key is told only to who asks for keys, and in the
// answer to what gave it or had it made.
type AccessRule struct {
	Name         string    `json:"name"`                   // by which clients name it
	Rights       []string  `json:"rights"`                 // Listen, Send, Manage
	PrimaryKey   string    `json:"primaryKey,omitempty"`   // if keys were asked for or made
	SecondaryKey string    `json:"secondaryKey,omitempty"` // likewise
	CreatedAt    time.Time `json:"createdAt,omitzero"`     // missing: not told by who made it
	UpdatedAt    time.Time `json:"updatedAt,omitzero"`     // when it was changed
}

// AccessChange is what PUT /access takes. A key that is left out stays what it was,
// and is made at random for a new rule.
type AccessChange struct {
	Rights       []string `json:"rights,omitempty"`       // Listen, Send, Manage
	PrimaryKey   string   `json:"primaryKey,omitempty"`   // made at random if it is left out of a new rule
	SecondaryKey string   `json:"secondaryKey,omitempty"` // likewise
}

// AccessRules is the answer of GET /access.
type AccessRules struct {
	Rules []AccessRule `json:"rules"` // by name
}

func accessRoutes() []route {
	entity := entityPath("The queue or topic whose rules are meant; absent: the namespace's.")
	fails := func(more ...string) []string { return append(more, "MessagingEntityNotFound", "InvalidOperation") }
	return []route{
		{
			method: "GET", path: "/access", id: "listAccessRules", group: groupAccess, summary: "By which rules clients may do things",
			ask:   "keys=true",
			query: []parameter{yes("keys", "With their keys, which takes the role admin."), entity},
			gives: AccessRules{}, fails: fails(), serve: (*door).accessRules,
		},
		{
			method: "PUT", path: "/access/{name}", id: "setAccessRule", needs: identity.Admin, group: groupAccess, summary: "Add an access rule, or change it",
			at: "ci", part: "The name of an access rule.", sends: `{"rights":["Send","Listen"]}`,
			about: "The answer has the keys that were given or made by it; to see the others, ask for keys.",
			query: []parameter{entity}, takes: AccessChange{}, gives: AccessRule{}, fails: fails("QuotaExceeded"), serve: (*door).setAccessRule,
		},
		{
			method: "POST", path: "/access/{name}/renew", id: "renewAccessKey", needs: identity.Admin, ruin: ruins, group: groupAccess, summary: "Make a key anew, at random",
			at: "ci", part: "The name of an access rule.", ask: "key=secondary",
			query: []parameter{needed(one("key", "Which of the two.", engine.PrimaryKey.String(), engine.SecondaryKey.String())), entity},
			gives: AccessRule{}, fails: fails("AccessRuleNotFound"), serve: (*door).renewAccessKey,
		},
		{
			method: "DELETE", path: "/access/{name}", id: "removeAccessRule", needs: identity.Admin, ruin: ruins, group: groupAccess, summary: "Remove an access rule",
			at: "ci", part: "The name of an access rule.",
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
	if query(c).Has("keys") {
		if err := identity.Judge(identity.Asking(c.Request()), identity.Admin); err != nil {
			return err
		}
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

// nameIn is the name in an address, of which a parameter is decoded already
// where the address can be written in one way only.
func nameIn(c echo.Context) (string, error) {
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
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	at, err := d.accessAt(c)
	if err != nil {
		return err
	}
	in, err := given[AccessChange](c.Request(), smallBody)
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

func (d *door) renewAccessKey(c echo.Context) error {
	name, err := nameIn(c)
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
	name, err := nameIn(c)
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
