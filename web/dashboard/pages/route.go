package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/search/columns"
	"mayfly/views/layout"
	"mayfly/views/view"
	"mayfly/web/auth"
)

// A Route is one address of the dashboard: an object and an action on it, and everything that
// routing, roles, Safe mode and links need to know about it. Package route lists all routes.
type Route struct {
	Kind     PageKind
	Action   string              // action, as a path below the object's address; empty means the object itself
	Entities []engine.EntityKind // kinds that {entity} stands for; nil means all three

	// Type is what a GET answers with; zero means that the address has no GET.
	Type RouteType
	// Role is required for each request. A GET without one requires a viewer.
	Role auth.Role
	// PostRole is required for a POST in place of Role, where more people may read than write.
	PostRole auth.Role
	// Destroys reports whether the address's POST irreversibly deletes something. The zero value
	// means that the address has no POST.
	Destroys Destruction

	Section layout.Section // section of the navigation; an entity's page is in the section of its kind
	List    columns.List   // the messages that the page lists, for saved views; an entity's tab can replace it
	Live    bool           // the hub keeps the page up to date
	Leads   bool           // presenters can lead followers to the page

	// Get returns the page, and the number of the event up to which it is current.
	Get func(context.Context, *Pages, Address) (view.Page, uint64, error)
	// Form returns the page for a POST that was refused: the form with the values that the user
	// entered. If Get is nil, it also returns the page for a GET.
	Form func(context.Context, *Pages, Address, FormState) (view.Page, error)
}

// A RouteType is what a GET of a route answers with.
type RouteType uint8

// The types of routes.
const (
	TypePage     RouteType = iota + 1 // a page to which forms return
	TypeForm                          // a form or confirmation, which the script opens as a dialog over another page
	TypeFragment                      // a part of a page, for the script
	TypeFile                          // a download
	TypeRedirect
)

// String returns the name of t.
func (t RouteType) String() string {
	return [...]string{"-", "page", "form", "fragment", "file", "redirect"}[t]
}

// A Destruction reports whether a POST irreversibly deletes something, which Safe mode refuses.
type Destruction struct {
	name string
	is   func(p *Pages, at Address, typed url.Values) bool
}

// String returns the word for d: never, always, depends or handler.
func (d Destruction) String() string { return d.name }

// Declared reports whether d is not the zero value.
func (d Destruction) Declared() bool { return d.is != nil }

// Checked reports whether Safe mode must be checked before the handler runs: the form may delete
// something, and its handler does not check itself.
func (d Destruction) Checked() bool { return d.name == "always" || d.name == "depends" }

// Never is the destruction of a form that deletes nothing.
func Never() Destruction {
	return Destruction{"never", func(*Pages, Address, url.Values) bool { return false }}
}

// Always is the destruction of a form that deletes something.
func Always() Destruction {
	return Destruction{"always", func(*Pages, Address, url.Values) bool { return true }}
}

// InHandler is the destruction of a form whose handler refuses the request itself, because only
// it finds out what would be deleted.
func InHandler() Destruction { return Destruction{"handler", Never().is} }

// Depends returns the destruction of a form that destroys something with certain values only.
func Depends(is func(p *Pages, at Address, typed url.Values) bool) Destruction {
	return Destruction{"depends", is}
}

// Path returns the pattern of r's address.
func (r *Route) Path() string {
	if r.Action == "" {
		return string(r.Kind)
	}
	if r.Kind == Root {
		return "/" + r.Action
	}
	return string(r.Kind) + "/" + r.Action
}

// Has reports whether the address answers a method.
func (r *Route) Has(method string) bool {
	switch method {
	case http.MethodGet, http.MethodHead:
		return r.Type != 0
	case http.MethodPost:
		return r.Destroys.Declared()
	default:
		return false
	}
}

// RequiredRole returns the role that a method of r requires.
func (r *Route) RequiredRole(method string) auth.Role {
	switch {
	case method == http.MethodPost && r.PostRole != auth.None:
		return r.PostRole
	case r.Role == auth.None:
		return auth.Viewer
	default:
		return r.Role
	}
}

// IsDestructive reports whether a POST to r with the typed values irreversibly deletes something.
func (r *Route) IsDestructive(p *Pages, at Address, typed url.Values) bool {
	return r.Destroys.is(p, at, typed)
}

// entityPatterns returns r's pattern for each kind of entity.
func (r *Route) entityPatterns() (out []string) {
	before, after, ok := strings.Cut(r.Path(), "{entity}")
	if !ok {
		return []string{before}
	}
	for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		if r.Entities == nil || slices.Contains(r.Entities, kind) {
			out = append(out, before+entityPattern(kind)+after)
		}
	}
	return out
}

func entityPattern(kind engine.EntityKind) string {
	switch kind {
	case engine.Topic:
		return "t/{topic}"
	case engine.Subscription:
		return "t/{topic}/s/{sub}"
	default:
		return "q/{queue}"
	}
}

// Patterns returns r's patterns in Echo's syntax.
func (r *Route) Patterns() []string {
	out := r.entityPatterns()
	for i, pattern := range out {
		parts := strings.Split(pattern, "/")
		for j, part := range parts {
			if v := variable(part); v != 0 {
				parts[j] = ":" + variables[v].echo
			}
		}
		out[i] = strings.Join(parts, "/")
	}
	return out
}

// A routeKey identifies a route.
type routeKey struct {
	kind   PageKind
	action string
}

// A Table finds routes by address, by object and action, and by pattern. It is immutable.
type Table struct {
	all   []*Route
	tree  node
	byKey map[routeKey]*Route
	roles map[string]auth.Role // required roles, by method and Echo's pattern
}

// NewTable returns the table of the routes in `all`. It panics if two of them have the same
// pattern.
func NewTable(all []Route) *Table {
	t := &Table{byKey: map[routeKey]*Route{}, roles: map[string]auth.Role{}}
	for i := range all {
		r := &all[i]
		t.all = append(t.all, r)
		t.byKey[routeKey{r.Kind, r.Action}] = r
		for _, pattern := range r.entityPatterns() {
			t.tree.add(pattern, r)
		}
		for _, pattern := range r.Patterns() {
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				if r.Has(method) {
					t.roles[method+" "+pattern] = r.RequiredRole(method)
				}
			}
		}
	}
	return t
}

// Routes returns all routes. The caller must not change them.
func (t *Table) Routes() []*Route { return t.all }

// RequiredRole returns the role that a route requires, by its method and its pattern in Echo's
// syntax. False means that there is no such route.
func (t *Table) RequiredRole(method, pattern string) (auth.Role, bool) {
	role, ok := t.roles[method+" "+pattern]
	return role, ok
}

// Route returns the route of at, or nil if there is none.
func (t *Table) Route(at Address) *Route { return t.byKey[routeKey{at.Kind, at.Action}] }
