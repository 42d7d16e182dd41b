package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/openapi"
)

// A route is one operation: it is mounted by what the document says of it.
type route struct {
	method string
	// path is below /api/v1. {path} stands for an entity's, which is all that
	// follows; any other name is one part of the address, c.Param has it.
	path    string
	id      string // by which clients made from the document know it: listEntities
	group   string // the heading it is under, one of groups
	summary string // one line, without a full stop
	about   string // what there is to know beyond that
	query   []parameter

	// An example, which a test sends as it stands here, but for what is another each
	// time: at stands for what is in braces in path, ask is a query, sends a body.
	at, ask, sends string
	part           string // what {name} or {id} is, in words; {path} is an entity's

	takes any   // the body is JSON of this type, see also either, lines and written; nil: there is none
	most  int64 // bytes of the body at most, or of one of its lines; zero: smallBody

	status int // when all is well; zero: 200, or 204 if nothing is given
	gives  any // the answer is JSON of this type, see also either and lines; nil: nothing

	keyed bool // it can be under an Idempotency-Key: its handler calls keyed and once

	// ruin says whether it does away with something for good, which Safe mode refuses:
	// always here, or where the handler says so by asking spare.
	ruin ruin

	// needs is the role that it takes; of a GET zero is Viewer. See Needs.
	needs identity.Role

	// fails are the codes of problems that it can have beyond those that every
	// route can: see common.
	fails []string
	serve func(*door, echo.Context) error
}

// A ruin says whether a route does away with something for good.
type ruin uint8

const (
	spares  ruin = iota
	mayRuin      // the handler asks spare where it would
	ruins
)

// role is the one that r takes. What nobody has said of takes the greatest.
func (r route) role() identity.Role {
	switch {
	case r.needs != identity.None:
		return r.needs
	case r.method == http.MethodGet:
		return identity.Viewer
	default:
		return identity.Admin
	}
}

// Needs is the role that a route below /api takes, by its method and pattern: of any
// namespace, named in the pattern or not. False: there is no such route.
func Needs(method, pattern string) (identity.Role, bool) {
	switch pattern {
	case "/api/*", "/api/v1/*", "/api/v1/n/*": // which only say why there is nothing
		return identity.Viewer, true
	}
	rest, ok := strings.CutPrefix(pattern, "/api/v1")
	if !ok {
		return identity.None, false
	}
	if below, ok := strings.CutPrefix(rest, "/n/"); ok {
		_, rest, _ = strings.Cut(below, "/")
		rest = "/" + rest
	}
	for _, r := range routes() {
		if r.method == method && r.pattern() == rest {
			return r.role(), true
		}
	}
	return identity.None, false
}

// spare refuses in Safe mode what a handler is about to do.
func (d *door) spare() error {
	if d.safe {
		return access.ErrSafe
	}
	return nil
}

// either is a body that is JSON of one of several types.
type either []any

// lines are a body of many lines, each JSON of one of several types.
type lines []any

// written is a body that is no JSON: its media type, and what it is in words.
type written struct{ media, about string }

// ndjson is the media type of lines of JSON.
const ndjson = "application/x-ndjson"

// common are the codes that every route can fail with; one that takes a body
// also with MessageSizeExceeded and UnsupportedMediaType.
func common() []string {
	return []string{"Argument", "ArgumentOutOfRange", "CrossSite", codeWrongHost, "InternalError", "ServiceBusy", "OperationCancelled", "ServiceTimeout", codeNobody, codeRole}
}

// A parameter is one that a query may have.
type parameter struct {
	name     string
	about    string
	required bool   // the handler says so in its own words
	example  string // a value it can have; empty: the first or the least of those it can
	schema   openapi.Schema
	check    func(text string) error // nil: the handler checks it
}

// word is a parameter that its handler knows what to do with.
func word(name, about string) parameter {
	return parameter{name: name, about: about, schema: openapi.Schema{Type: "string"}}
}

// needed is p, which must be given.
func needed(p parameter) parameter {
	p.required = true
	return p
}

// like is p with an example.
func (p parameter) like(value string) parameter {
	p.example = value
	return p
}

// such is an example of p.
func (p parameter) such() any {
	switch {
	case p.example != "":
		return p.example
	case p.schema.Minimum != nil:
		return *p.schema.Minimum
	}
	for _, v := range p.schema.Enum {
		if v != "" {
			return v
		}
	}
	return nil
}

// entityPath is the path of an entity as a parameter.
func entityPath(about string) parameter { return word("entity", about).like("orders") }

// whole is a number from least to most; most zero: without an end.
func whole(name string, least, most int64, about string) parameter {
	p := parameter{name: name, about: about, schema: openapi.Schema{Type: "integer", Minimum: &least}}
	bounds := fmt.Sprintf("from %d", least)
	if most != 0 {
		p.schema.Maximum = &most
		bounds += fmt.Sprintf(" to %d", most)
	}
	p.check = func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || most != 0 && n > most {
			return outOfRange("The value for '%s' is a whole number %s, not '%s'.", name, bounds, cut(text))
		}
		return nil
	}
	return p
}

// one is a parameter that has one of a few values.
func one(name, about string, values ...string) parameter {
	return parameter{name: name, about: about, schema: openapi.Schema{Type: "string", Enum: values}, check: func(text string) error {
		if !slices.Contains(values, text) {
			return argument("The value for '%s' is %s, not '%s'.", name, orList(values), cut(text))
		}
		return nil
	}}
}

// orList is "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// yes is a parameter that is true or left out.
func yes(name, about string) parameter {
	return parameter{name: name, about: about, schema: openapi.Schema{Type: "string", Enum: []string{"true"}}, check: func(text string) error {
		if text != "true" {
			return argument("The value for '%s' is true, or it is left out.", name)
		}
		return nil
	}}
}

// pattern is the route's path as Echo has it.
func (r route) pattern() string {
	parts := strings.Split(r.path, "/")
	for i, p := range parts {
		switch {
		case p == "{path}":
			parts[i] = "*"
		case strings.HasPrefix(p, "{"):
			parts[i] = ":" + strings.Trim(p, "{}")
		}
	}
	return strings.Join(parts, "/")
}

func (r route) largest() int64 {
	if r.most == 0 {
		return smallBody
	}
	return r.most
}

func (r route) wellStatus() int {
	switch {
	case r.status != 0:
		return r.status
	case r.gives == nil:
		return http.StatusNoContent
	default:
		return http.StatusOK
	}
}

// mount adds r to g. Its handler is called with a query that the document allows.
func (d *door) mount(g *echo.Group, r route) {
	g.Add(r.method, r.pattern(), func(c echo.Context) error {
		q, err := r.read(c.Request().URL.RawQuery)
		if err != nil {
			return err
		}
		if r.takes != nil {
			if err := r.checkMedia(c.Request()); err != nil {
				return err
			}
		}
		c.Set(queryKey, q)
		if r.ruin == ruins && d.safe {
			return access.ErrSafe
		}
		return r.serve(d, c)
	})
}

// queryKey is where the query of a request is kept.
const queryKey = "api.query"

// query is what a request asks for, checked against its route.
func query(c echo.Context) url.Values {
	q, ok := c.Get(queryKey).(url.Values)
	if !ok {
		panic("a handler of the API that is not in a route")
	}
	return q
}

// number is a whole parameter, or what holds where it is not given.
func number(c echo.Context, name string, absent int64) int64 {
	q := query(c)
	if !q.Has(name) {
		return absent
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil {
		panic(err) // it was checked to be one
	}
	return n
}

// read refuses parameters that the route does not have, repeated ones, and
// values that they cannot have.
func (r route) read(raw string) (url.Values, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, argument("The query cannot be decoded: '%s'.", cut(raw))
	}
	names := make([]string, len(r.query))
	for i, p := range r.query {
		names[i] = p.name
	}
	for name, values := range q {
		switch {
		case len(names) == 0:
			return nil, argument("There is no query parameter '%s' here, nor any other.", cut(name))
		case !slices.Contains(names, name):
			return nil, argument("There is no query parameter '%s' here; there is %s.", cut(name), strings.Join(names, ", "))
		case len(values) > 1:
			return nil, argument("The query parameter '%s' is given %d times.", name, len(values))
		}
	}
	for _, p := range r.query {
		if p.check == nil || !q.Has(p.name) {
			continue
		}
		if err := p.check(q.Get(p.name)); err != nil {
			return nil, err
		}
	}
	return q, nil
}
