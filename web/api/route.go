package api

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/openapi"
)

// A route is one operation: it is both the mounted route and its description in the document.
type route struct {
	method string
	// path is below /api/v1. {path} stands for an entity's, which is the rest of the address;
	// any other name is one part of the address, which c.Param returns.
	path        string
	id          string // the operationId: listEntities
	group       string // its heading, one of groups
	summary     string // one line, without a full stop
	description string // further documentation
	query       []parameter

	// An example, which a test sends literally, except for values that differ in each run:
	// exampleParam replaces the part in braces in path.
	exampleParam, exampleQuery, exampleBody string
	nameMeaning                             string // the meaning of {name} or {id}, in words; {path} is an entity's

	request any   // the body is JSON of this type, see also oneOf, lines and rawBody; nil if there is none
	maxBody int64 // bytes of the body at most, or of one of its lines; zero means smallBody

	status   int // of success; zero means 200, or 204 without an answer
	response any // the answer is JSON of this type, see also oneOf and lines; nil if there is none

	keyed bool // it may have an Idempotency-Key: its handler calls readKey and answerOnce

	// destruction reports whether it deletes something irreversibly. Safe mode then refuses it:
	// always, or in the handler by refuseInSafeMode.
	destruction destruction

	// role is the role that it requires; for a GET zero means Viewer. See RequiredRole.
	role auth.Role

	// problems are the codes of problems that it can have beyond those of every route: see
	// commonProblems.
	problems []string
	handle   func(*handler, echo.Context) error
}

// A destruction reports whether a route deletes something irreversibly.
type destruction uint8

const (
	nondestructive destruction = iota
	mayDestroy                 // the handler calls refuseInSafeMode if it would
	destroys
)

// requiredRole returns the role that r requires. A route without one requires an admin, unless it is a
// GET.
func (r route) requiredRole() auth.Role {
	switch {
	case r.role != auth.None:
		return r.role
	case r.method == http.MethodGet:
		return auth.Viewer
	default:
		return auth.Admin
	}
}

// refuseInSafeMode returns an error in Safe mode. Handlers call it before an irreversible
// operation.
func (d *handler) refuseInSafeMode() error {
	if d.safe {
		return origin.ErrSafeMode
	}
	return nil
}

// oneOf is a body that is JSON of one of several types.
type oneOf []any

// lines are a body of many lines, each JSON of one of several types.
type lines []any

// rawBody is a body that is not JSON: its media type, and a description.
type rawBody struct{ media, description string }

// ndjson is the media type of lines of JSON.
const ndjson = "application/x-ndjson"

// commonProblems are the codes of problems that every route can have; one with a body can also
// have MessageSizeExceeded and UnsupportedMediaType.
var commonProblems = []string{
	"Argument", "ArgumentOutOfRange", "CrossSite", codeWrongHost, "InternalError", "ServiceBusy", "OperationCancelled", "ServiceTimeout", codeUnauthenticated, codeRole,
}

// A parameter is a query parameter of a route.
type parameter struct {
	name        string
	description string
	required    bool   // the handler checks it, with an error of its own
	example     string // a valid value; empty means the first or least one
	schema      openapi.Schema
	check       func(text string) error // nil if the handler checks it

	// role is the role of a request with the parameter, if it is higher than the route's. Each
	// parameter of a route that changes something declares its role, with routeRole or with
	// withRole; a test checks that.
	role         auth.Role
	roleDeclared bool
}

// routeRole declares that a request with p needs no other role than its route's.
func (p parameter) routeRole() parameter {
	p.roleDeclared = true
	return p
}

// withRole declares that a request with p needs the role r.
func (p parameter) withRole(r auth.Role) parameter {
	p.role, p.roleDeclared = r, true
	return p
}

// fullDescription returns p's description in the document.
func (p parameter) fullDescription() string {
	if p.role == auth.None {
		return p.description
	}
	return fmt.Sprintf("%s Requires the role %s.", p.description, p.role)
}

// textParameter returns a text parameter, whose value the handler checks.
func textParameter(name, about string) parameter {
	return parameter{name: name, description: about, schema: openapi.Schema{Type: "string"}}
}

// requiredParameter returns p as a required parameter.
func requiredParameter(p parameter) parameter {
	p.required = true
	return p
}

// withExample returns p with an example.
func (p parameter) withExample(value string) parameter {
	p.example = value
	return p
}

// exampleValue returns an example of p.
func (p parameter) exampleValue() any {
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

// entityPath returns a parameter that is the path of an entity.
func entityPath(about string) parameter { return textParameter("entity", about).withExample("orders") }

// numberParameter returns a parameter that is a whole number from `least` to `most`; zero for `most`
// means no upper bound.
func numberParameter(name string, least, most int64, about string) parameter {
	p := parameter{name: name, description: about, schema: openapi.Schema{Type: "integer", Minimum: &least}}
	bounds := fmt.Sprintf("from %d", least)
	if most != 0 {
		p.schema.Maximum = &most
		bounds += fmt.Sprintf(" to %d", most)
	}
	p.check = func(text string) error {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < least || most != 0 && n > most {
			return engine.Refuse(engine.ErrOutOfRange, "The value for '%s' must be a whole number %s, not '%s'.", name, bounds, shorten.Quote(text))
		}
		return nil
	}
	return p
}

// enumParameter returns a parameter with a few possible values.
func enumParameter(name, about string, values ...string) parameter {
	return parameter{name: name, description: about, schema: openapi.Schema{Type: "string", Enum: values}, check: func(text string) error {
		if !slices.Contains(values, text) {
			return engine.Refuse(engine.ErrArgument, "The value for '%s' must be %s, not '%s'.", name, orList(values), shorten.Quote(text))
		}
		return nil
	}}
}

// orList returns "a, b or c".
func orList(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// flagParameter returns a parameter that is true or left out.
func flagParameter(name, about string) parameter {
	return parameter{name: name, description: about, schema: openapi.Schema{Type: "string", Enum: []string{"true"}}, check: func(text string) error {
		if text != "true" {
			return engine.Refuse(engine.ErrArgument, "The value for '%s' must be true, or left out.", name)
		}
		return nil
	}}
}

// pattern returns the route's path in Echo's syntax.
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

func (r route) bodyLimit() int64 {
	if r.maxBody == 0 {
		return smallBody
	}
	return r.maxBody
}

func (r route) successStatus() int {
	switch {
	case r.status != 0:
		return r.status
	case r.response == nil:
		return http.StatusNoContent
	default:
		return http.StatusOK
	}
}

// mount adds r to g. Its handler gets only queries that the document allows.
func (d *handler) mount(g *echo.Group, r route) {
	g.Add(r.method, r.pattern(), func(c echo.Context) error {
		q, err := r.parseQuery(c.Request().URL.RawQuery)
		if err != nil {
			return err
		}
		for _, p := range r.query {
			if err := auth.Authorize(auth.FromRequest(c.Request()), p.role); q.Has(p.name) && err != nil {
				return err
			}
		}
		if r.request != nil {
			if err := r.checkMedia(c.Request()); err != nil {
				return err
			}
		}
		c.Set(queryKey, q)
		if r.destruction == destroys && d.safe {
			return origin.ErrSafeMode
		}
		return r.handle(d, c)
	})
}

// queryKey is where the query of a request is stored in its context.
const queryKey = "api.query"

// query returns the query of a request, checked against its route.
func query(c echo.Context) url.Values {
	q, ok := c.Get(queryKey).(url.Values)
	if !ok {
		panic("a handler of the API without a route")
	}
	return q
}

// number returns the value of a numberParameter, or `absent` if the parameter is not given.
func number(c echo.Context, name string, absent int64) int64 {
	q := query(c)
	if !q.Has(name) {
		return absent
	}
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil {
		panic(err) // the route has checked it
	}
	return n
}

// parseQuery parses a query. It refuses parameters that the route does not have, repeated ones, and
// invalid values.
func (r route) parseQuery(raw string) (url.Values, error) {
	q, err := url.ParseQuery(raw)
	if err != nil {
		return nil, engine.Refuse(engine.ErrArgument, "The query cannot be decoded: '%s'.", shorten.Quote(raw))
	}
	names := make([]string, len(r.query))
	for i, p := range r.query {
		names[i] = p.name
	}
	for name, values := range q {
		switch {
		case len(names) == 0:
			return nil, engine.Refuse(engine.ErrArgument, "Unknown query parameter '%s'; this address has no query parameters.", shorten.Quote(name))
		case !slices.Contains(names, name):
			return nil, engine.Refuse(engine.ErrArgument, "Unknown query parameter '%s'; this address has %s.", shorten.Quote(name), strings.Join(names, ", "))
		case len(values) > 1:
			return nil, engine.Refuse(engine.ErrArgument, "The query parameter '%s' is given %d times.", name, len(values))
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
