package api

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/auth"
	"mayfly/web/errorcodes"
	"mayfly/web/exchange"
	"mayfly/web/openapi"
)

func (d *handler) document(c echo.Context) error { return reply(c, http.StatusOK, d.documentOnce()) }

// source is this package's source, whose comments describe requests and answers.
//
//go:embed *.go
var source embed.FS

// Document describes every route in OpenAPI's terms. Each call creates a new one, which takes
// some milliseconds.
func Document() *openapi.Document {
	words, err := openapi.ReadComments(source, exchange.Source())
	if err != nil {
		panic(err) // compiled source can be parsed
	}
	schemas := &openapi.Schemas{Comments: words, Known: known()}
	out := &openapi.Document{
		OpenAPI: openapi.Version,
		Info: openapi.Info{
			Title: "Mayfly", Version: "1",
			Description: "The JSON API of the dashboard's port. Times are RFC 3339 in UTC. Unknown members and parameters are refused. " +
				"Errors are problem documents (RFC 9457); their code is Service Bus' name for the error. " +
				"While another server owns the namespace, all requests are answered with 503, and owner is the URL of that server.",
		},
		Servers: []openapi.Server{{URL: "/api/v1"}},
		Tags:    groups,
		Paths:   map[string]map[string]*openapi.Operation{},
	}
	problems := schemas.Response(Problem{})
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

// known returns the schemas of types with their own JSON encoding.
func known() map[reflect.Type]openapi.Schema {
	exact := &openapi.Schema{
		Type: "object", Required: []string{"type"}, AdditionalProperties: false,
		Properties: map[string]*openapi.Schema{"type": {Type: "string"}, "value": {}, "base64": {Type: "string", ContentEncoding: "base64"}},
	}
	one := openapi.Schema{AnyOf: []*openapi.Schema{exact, {Type: "string"}, {Type: "number"}, {Type: "boolean"}, {Type: "null"}}}
	return map[reflect.Type]openapi.Schema{
		reflect.TypeFor[value.Value]():            one,
		reflect.TypeFor[value.Properties]():       {Type: "object", AdditionalProperties: &one},
		reflect.TypeFor[engine.SessionStateTag](): {Type: "string"},
	}
}

func (r route) operation(schemas *openapi.Schemas, problems *openapi.Schema) *openapi.Operation {
	o := &openapi.Operation{
		ID: r.id, Tags: []string{r.group}, Summary: r.summary, Description: r.fullDescription(),
		Method: r.method, Path: r.path, Status: strconv.Itoa(r.successStatus()), Example: openapi.Example{Address: r.example(), Body: r.exampleBody},
	}
	for part := range strings.SplitSeq(r.path, "/") {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		p := openapi.Parameter{Name: strings.Trim(part, "{}"), In: "path", Required: true, Schema: &openapi.Schema{Type: "string"}}
		p.Example = r.exampleParam
		if p.Description = r.nameMeaning; p.Name == "path" {
			p.Description = "The path of an entity. Its slashes may be escaped."
		}
		o.Parameters = append(o.Parameters, p)
	}
	for _, p := range r.query {
		o.Parameters = append(o.Parameters, openapi.Parameter{Name: p.name, In: "query", Description: p.fullDescription(), Required: p.required, Schema: &p.schema, Example: p.exampleValue(), Role: roleOf(p)})
	}
	if r.keyed {
		o.Parameters = append(o.Parameters, openapi.Parameter{Name: keyHeader, In: "header", Description: "A repeated request with the same key is executed only once.", Schema: &openapi.Schema{Type: "string"}, Example: "8f14e45f-ea1c-4b6e-9c1d-1c2a3b4c5d6e"})
	}
	if r.request != nil {
		o.RequestBody = &openapi.RequestBody{Required: true, Content: content(r.request, schemas.Request), MaxBytes: r.bodyLimit()}
		for media, m := range o.RequestBody.Content {
			m.Example = json.RawMessage(r.exampleBody)
			switch r.request.(type) {
			case lines, rawBody:
				m.Example = r.exampleBody
			}
			o.RequestBody.Content[media] = m
		}
		if _, ok := r.request.(lines); ok {
			o.RequestBody.MaxBytes, o.RequestBody.MaxLineBytes, o.RequestBody.Description = 0, r.bodyLimit(), fmt.Sprintf("Lines of up to %d bytes.", r.bodyLimit())
		}
	}
	o.Responses = r.responses(problems)
	well := &openapi.Response{Description: http.StatusText(r.successStatus())}
	if r.response != nil {
		well.Content = content(r.response, schemas.Response)
	}
	o.Responses[o.Status] = well
	return o
}

// roleOf returns the role that a request with p needs, or "" if that is the route's.
func roleOf(p parameter) string {
	if p.role == auth.None {
		return ""
	}
	return p.role.String()
}

// example returns the address of r's example, below /api/v1.
func (r route) example() string {
	parts := strings.Split(r.path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = r.exampleParam
		}
	}
	out := strings.Join(parts, "/")
	if r.exampleQuery != "" {
		out += "?" + r.exampleQuery
	}
	return out
}

// content returns the description of a body of v's type by its media type. `schema` returns the schema
// of a value's type.
func content(v any, schema func(any) *openapi.Schema) map[string]openapi.Media {
	anyOf := func(all []any) *openapi.Schema {
		out := &openapi.Schema{}
		for _, v := range all {
			out.AnyOf = append(out.AnyOf, schema(v))
		}
		return out
	}
	switch v := v.(type) {
	case rawBody:
		return map[string]openapi.Media{v.media: {Schema: &openapi.Schema{Type: "string", Description: v.description}}}
	case oneOf:
		return map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: anyOf(v)}}
	case lines:
		return map[string]openapi.Media{ndjson: {Schema: anyOf(v)}}
	default:
		return map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: schema(v)}}
	}
}

// fullDescription returns r's description in the document, with its role and its behaviour in Safe
// mode.
func (r route) fullDescription() string {
	inSafeMode := map[destruction]string{destroys: "Refused in Safe mode.", mayDestroy: "Refused in Safe mode if it would delete or discard anything."}[r.destruction]
	takes := ""
	if r.keyed {
		inSafeMode = strings.TrimSpace(aboutKey + " " + inSafeMode)
	}
	if role := r.requiredRole(); role != auth.Viewer {
		takes = fmt.Sprintf(" Requires the role %s.", role)
	}
	return strings.TrimSpace(strings.TrimSpace(r.description+" "+inSafeMode) + takes)
}

// responses returns the problems of r, by status.
func (r route) responses(problems *openapi.Schema) map[string]*openapi.Response {
	codes := append(commonProblems, r.problems...)
	if r.keyed {
		codes = append(codes, codeKeyReused)
	}
	if r.destruction != nondestructive {
		codes = append(codes, codeSafe)
	}
	if r.request != nil {
		codes = append(codes, "MessageSizeExceeded", codeMediaType)
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

// statuses returns the HTTP statuses that a problem with the given code can have.
func statuses(code string) []int {
	switch code {
	case codeRole:
		return []int{http.StatusForbidden}
	case codeWrongHost:
		return []int{http.StatusMisdirectedRequest, http.StatusBadRequest}
	}
	out := errorcodes.APIStatuses(code)
	if out == nil {
		panic("no problem has the code " + code)
	}
	return out
}
