package api

import (
	"embed"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/openapi"
)

// The headings of the document.
const (
	groupEntities    = "Entities"
	groupMessages    = "Messages"
	groupJobs        = "Jobs"
	groupRules       = "Rules"
	groupSessions    = "Sessions"
	groupConnections = "Connections"
	groupAccess      = "Access"
	groupActivity    = "Activity"
	groupServer      = "Server"
)

// groups are the headings in the order of the document.
func groups() []openapi.Tag {
	return []openapi.Tag{
		{Name: groupEntities, Description: "Queues, topics and subscriptions."},
		{Name: groupMessages, Description: "Messages in and out of them. A path may end in /$DeadLetterQueue: orders, prices/Subscriptions/eu/$DeadLetterQueue."},
		{Name: groupJobs, Description: "One thing done to many messages, in the background."},
		{Name: groupRules, Description: "What a subscription takes."},
		{Name: groupSessions, Description: "Of queues and subscriptions that require them."},
		{Name: groupConnections, Description: "Clients that stay connected."},
		{Name: groupAccess, Description: "The keys by which clients may do things."},
		{Name: groupActivity, Description: "The history."},
		{Name: groupServer, Description: "The server itself."},
	}
}

// routes are all there are.
func routes() []route {
	return slices.Concat(
		serverRoutes(), entityRoutes(), definitionRoutes(), messageRoutes(), settlingRoutes(), purgeRoutes(), horizonRoutes(), searchRoutes(), exportRoutes(), importRoutes(), jobRoutes(),
		ruleRoutes(), sessionRoutes(), connectionRoutes(), accessRoutes(), activityRoutes(), figureRoutes(),
	)
}

func serverRoutes() []route {
	return []route{
		{
			method: "GET", path: "/health", id: "getHealth", group: groupServer, summary: "What keeps the broker from working, if anything does",
			gives: Health{}, serve: (*door).health,
		},
		{
			method: "GET", path: "/openapi.json", id: "getDocument", group: groupServer, summary: "This document (OpenAPI 3.1)",
			gives: map[string]any{}, serve: (*door).document,
		},
	}
}

func (d *door) document(c echo.Context) error { return reply(c, http.StatusOK, d.described()) }

// source has the comments beside what is taken and given.
//
//go:embed *.go
var source embed.FS

// Document describes every route in OpenAPI's terms. Each call makes it anew, which
// takes some milliseconds.
func Document() *openapi.Document {
	words, err := openapi.ReadWords(source)
	if err != nil {
		panic(err) // what was compiled can be parsed
	}
	schemas := &openapi.Schemas{Words: words, Known: known()}
	out := &openapi.Document{
		OpenAPI: openapi.Version,
		Info: openapi.Info{
			Title: "Mayfly", Version: "1",
			Description: "The JSON API of the dashboard's port. Times are RFC 3339 in UTC. Unknown members and parameters are refused. " +
				"Errors are problem documents (RFC 9457); their code is the name by which clients of Service Bus know them. " +
				"While another server owns the namespace everything is answered with 503, and owner is where that one is.",
		},
		Servers: []openapi.Server{{URL: "/api/v1"}},
		Tags:    groups(),
		Paths:   map[string]map[string]*openapi.Operation{},
	}
	problems := schemas.Given(Problem{})
	for _, r := range routes() {
		o := r.operation(schemas, problems)
		if out.Paths[r.path] == nil {
			out.Paths[r.path] = map[string]*openapi.Operation{}
		}
		out.Paths[r.path][strings.ToLower(r.method)] = o
		out.Ordered = append(out.Ordered, o)
	}
	out.Components.Schemas = schemas.All()
	return out
}

// known are the types that write their JSON themselves.
func known() map[reflect.Type]openapi.Schema {
	exact := &openapi.Schema{
		Type: "object", Required: []string{"type"}, AdditionalProperties: false,
		Properties: map[string]*openapi.Schema{"type": {Type: "string"}, "value": {}, "base64": {Type: "string", ContentEncoding: "base64"}},
	}
	one := openapi.Schema{AnyOf: []*openapi.Schema{exact, {Type: "string"}, {Type: "number"}, {Type: "boolean"}, {Type: "null"}}}
	return map[reflect.Type]openapi.Schema{
		reflect.TypeFor[value.Value]():      one,
		reflect.TypeFor[value.Properties](): {Type: "object", AdditionalProperties: &one},
		reflect.TypeFor[engine.StateTag]():  {Type: "string"},
	}
}

func (r route) operation(schemas *openapi.Schemas, problems *openapi.Schema) *openapi.Operation {
	o := &openapi.Operation{
		ID: r.id, Tags: []string{r.group}, Summary: r.summary, Description: r.about,
		Method: r.method, Path: r.path, Status: strconv.Itoa(r.wellStatus()),
	}
	for part := range strings.SplitSeq(r.path, "/") {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		p := openapi.Parameter{Name: strings.Trim(part, "{}"), In: "path", Required: true, Schema: &openapi.Schema{Type: "string"}}
		if p.Name == "path" {
			p.Description = "The path of an entity, its slashes escaped or not."
		}
		o.Parameters = append(o.Parameters, p)
	}
	for _, p := range r.query {
		o.Parameters = append(o.Parameters, openapi.Parameter{Name: p.name, In: "query", Description: p.about, Required: p.required, Schema: &p.schema})
	}
	if r.takes != nil {
		o.RequestBody = &openapi.RequestBody{Required: true, Content: content(r.takes, schemas.Taken), Most: r.largest()}
		if _, ok := r.takes.(lines); ok {
			o.RequestBody.Most, o.RequestBody.Description = 0, fmt.Sprintf("Lines of at most %d bytes.", r.largest())
		}
	}
	o.Responses = r.responses(problems)
	well := &openapi.Response{Description: http.StatusText(r.wellStatus())}
	if r.gives != nil {
		well.Content = content(r.gives, schemas.Given)
	}
	o.Responses[o.Status] = well
	return o
}

// content is a body of v's type.
func content(v any, schema func(any) *openapi.Schema) map[string]openapi.Media {
	anyOf := func(all []any) *openapi.Schema {
		out := &openapi.Schema{}
		for _, v := range all {
			out.AnyOf = append(out.AnyOf, schema(v))
		}
		return out
	}
	switch v := v.(type) {
	case either:
		return map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: anyOf(v)}}
	case lines:
		return map[string]openapi.Media{"application/x-ndjson": {Schema: anyOf(v)}}
	default:
		return map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: schema(v)}}
	}
}

// responses are the problems of r, by status.
func (r route) responses(problems *openapi.Schema) map[string]*openapi.Response {
	codes := append(common(), r.fails...)
	if r.takes != nil {
		codes = append(codes, "MessageSizeExceeded")
	}
	byStatus := map[int][]string{}
	for _, code := range codes {
		for _, s := range statuses(code) {
			byStatus[s] = append(byStatus[s], code)
		}
	}
	out := map[string]*openapi.Response{}
	for status, codes := range byStatus {
		out[strconv.Itoa(status)] = &openapi.Response{
			Description: fmt.Sprintf("%s: %s", http.StatusText(status), strings.Join(codes, ", ")),
			Content:     map[string]openapi.Media{problemType: {Schema: problems}},
		}
	}
	return out
}

// statuses are those that a code of a problem comes with.
func statuses(code string) (out []int) {
	own := []failure{{status: http.StatusInternalServerError, code: "InternalError"}, {status: http.StatusMisdirectedRequest, code: codeWrongHost}, {status: http.StatusBadRequest, code: codeWrongHost}}
	for _, f := range append(failures(), own...) {
		if f.code == code && !slices.Contains(out, f.status) {
			out = append(out, f.status)
		}
	}
	if out == nil {
		panic("no problem has the code " + code)
	}
	return out
}
