package api

import (
	"net/http"
	"net/url"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
)

// An AccessRule is one of the namespace's own, by which clients may do things
// there. Keys are told only to who asks for them, and when they were just set.
type AccessRule struct {
	Name         string    `json:"name"`
	Rights       []string  `json:"rights"` // Listen, Send, Manage
	PrimaryKey   string    `json:"primaryKey,omitempty"`
	SecondaryKey string    `json:"secondaryKey,omitempty"`
	CreatedAt    time.Time `json:"createdAt"`
	UpdatedAt    time.Time `json:"updatedAt"`
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

func (d *door) accessRules(c echo.Context) error {
	q, err := query(c, "keys")
	if err != nil {
		return err
	}
	if q.Has("keys") && q.Get("keys") != "true" {
		return argument("The value for 'keys' is true, or it is left out.")
	}
	rules, err := d.broker.AccessRules(c.Request().Context())
	if err != nil {
		return err
	}
	out := AccessRules{Rules: []AccessRule{}}
	for _, r := range rules {
		if !q.Has("keys") {
			r.PrimaryKey, r.SecondaryKey = "", ""
		}
		out.Rules = append(out.Rules, presentAccess(r))
	}
	return reply(c, http.StatusOK, out)
}

// accessName is the name in an address.
func accessName(c echo.Context) (string, error) {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return "", argument("The address cannot be decoded: '%s'.", cut(c.Param("name")))
	}
	return name, nil
}

func (d *door) setAccessRule(c echo.Context) error {
	name, err := accessName(c)
	if err == nil {
		_, err = query(c)
	}
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
	r, err := d.broker.SetAccessRule(c.Request().Context(), engine.AccessRule{Name: name, Rights: rights, PrimaryKey: in.PrimaryKey, SecondaryKey: in.SecondaryKey}, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentAccess(r))
}

func (d *door) renewAccessKey(c echo.Context) error {
	name, err := accessName(c)
	if err != nil {
		return err
	}
	q, err := query(c, "key")
	if err != nil {
		return err
	}
	for _, which := range []engine.KeyKind{engine.PrimaryKey, engine.SecondaryKey} {
		if q.Get("key") != which.String() {
			continue
		}
		r, err := d.broker.RenewAccessKey(c.Request().Context(), name, which, client(c.Request()))
		if err != nil {
			return err
		}
		return reply(c, http.StatusOK, presentAccess(r))
	}
	return argument("The value for 'key' is primary or secondary, not '%s'.", cut(q.Get("key")))
}

func (d *door) removeAccessRule(c echo.Context) error {
	name, err := accessName(c)
	if err == nil {
		_, err = query(c)
	}
	if err == nil {
		err = d.broker.RemoveAccessRule(c.Request().Context(), name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
