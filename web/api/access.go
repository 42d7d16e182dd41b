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

// AccessRules is the answer of GET /access.
type AccessRules struct {
	Rules []AccessRule `json:"rules"`
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
	at, q, err := d.accessAt(c, "keys")
	if err != nil {
		return err
	}
	if q.Has("keys") && q.Get("keys") != "true" {
		return argument("The value for 'keys' is true, or it is left out.")
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
	return reply(c, http.StatusOK, AccessRules{Rules: presentAll(rules, q)})
}

// accessAt is the entity whose rules are meant, empty for the namespace, and
// what else an address asks for.
func (d *door) accessAt(c echo.Context, names ...string) (at engine.Path, q url.Values, err error) {
	if q, err = query(c, append(names, "entity")...); err != nil || !q.Has("entity") {
		return "", q, err
	}
	at, err = engine.ParsePath(q.Get("entity"), d.broker.Limits())
	return at, q, err
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
	at, _, err := d.accessAt(c)
	if err != nil {
		return err
	}
	raw, err := readBody(c.Request(), smallBody)
	if err != nil {
		return err
	}
	var in struct {
		Rights       []string `json:"rights"`
		PrimaryKey   string   `json:"primaryKey"`
		SecondaryKey string   `json:"secondaryKey"`
	}
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
	at, q, err := d.accessAt(c, "key")
	if err != nil {
		return err
	}
	for _, which := range []engine.KeyKind{engine.PrimaryKey, engine.SecondaryKey} {
		if q.Get("key") != which.String() {
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
	return argument("The value for 'key' is primary or secondary, not '%s'.", cut(q.Get("key")))
}

func (d *door) removeAccessRule(c echo.Context) error {
	name, err := accessName(c)
	if err != nil {
		return err
	}
	at, _, err := d.accessAt(c)
	if err == nil {
		err = d.broker.RemoveAccessRule(c.Request().Context(), at, name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
