package api

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/identity"
	"mayfly/web/intake"
	"mayfly/web/openapi"
)

// The headings of the document.
const (
	groupEntities    = "Entities"
	groupMessages    = "Messages"
	groupTemplates   = "Templates"
	groupJobs        = "Jobs"
	groupAlerts      = "Rescue and alerts"
	groupRules       = "Rules"
	groupSessions    = "Sessions"
	groupConnections = "Connections"
	groupAccess      = "Access"
	groupTokens      = "Tokens"
	groupViews       = "Views"
	groupActivity    = "Activity"
	groupNamespaces  = "Namespaces"
	groupScenes      = "Scenes"
	groupServer      = "Server"
)

// groups are the headings in the order of the document.
func groups() []openapi.Tag {
	return []openapi.Tag{
		{Name: groupEntities, Description: "Queues, topics and subscriptions."},
		{Name: groupMessages, Description: "Messages in and out of them. A path may end in /$DeadLetterQueue: orders, prices/Subscriptions/eu/$DeadLetterQueue."},
		{Name: groupTemplates, Description: "Messages as somebody writes them down, with placeholders, to be sent many times."},
		{Name: groupJobs, Description: "One thing done to many messages, in the background."},
		{Name: groupAlerts, Description: "Rules that tell, or give messages more time, before it is too late."},
		{Name: groupRules, Description: "What a subscription takes."},
		{Name: groupSessions, Description: "Of queues and subscriptions that require them."},
		{Name: groupConnections, Description: "Clients that stay connected."},
		{Name: groupAccess, Description: "The keys by which clients may do things."},
		{Name: groupTokens, Description: "What programs and audiences come in with, where the server asks who somebody is."},
		{Name: groupViews, Description: "Columns of lists of messages, under names that everybody sees."},
		{Name: groupActivity, Description: "The history."},
		{Name: groupNamespaces, Description: "Of this server. Everything here is about its own; below /api/v1/n/NAME instead of /api/v1 it is about another."},
		{Name: groupScenes, Description: "Short plays that show what a broker does, each in a namespace of its own, with a clock that can be turned."},
		{Name: groupServer, Description: "The server itself."},
	}
}

// routes are all there are.
func routes() []route {
	return slices.Concat(
		serverRoutes(), namespaceRoutes(), entityRoutes(), definitionRoutes(), messageRoutes(), settlingRoutes(), purgeRoutes(), horizonRoutes(), searchRoutes(), suggestRoutes(), deadLetterRoutes(), exportRoutes(), importRoutes(), repeatRoutes(), editRoutes(), jobRoutes(), alertRoutes(),
		ruleRoutes(), sessionRoutes(), connectionRoutes(), accessRoutes(), tokenRoutes(), viewRoutes(), activityRoutes(), figureRoutes(), sceneRoutes(), playRoutes(),
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
	words, err := openapi.ReadWords(source, intake.Source())
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
		ID: r.id, Tags: []string{r.group}, Summary: r.summary, Description: r.description(),
		Method: r.method, Path: r.path, Status: strconv.Itoa(r.wellStatus()), Example: openapi.Example{Address: r.example(), Body: r.sends},
	}
	for part := range strings.SplitSeq(r.path, "/") {
		if !strings.HasPrefix(part, "{") {
			continue
		}
		p := openapi.Parameter{Name: strings.Trim(part, "{}"), In: "path", Required: true, Schema: &openapi.Schema{Type: "string"}}
		p.Example = r.at
		if p.Description = r.part; p.Name == "path" {
			p.Description = "The path of an entity, its slashes escaped or not."
		}
		o.Parameters = append(o.Parameters, p)
	}
	for _, p := range r.query {
		o.Parameters = append(o.Parameters, openapi.Parameter{Name: p.name, In: "query", Description: p.about, Required: p.required, Schema: &p.schema, Example: p.such()})
	}
	if r.keyed {
		o.Parameters = append(o.Parameters, openapi.Parameter{Name: keyHeader, In: "header", Description: "A request that is sent again under it does nothing again.", Schema: &openapi.Schema{Type: "string"}, Example: "8f14e45f-ea1c-4b6e-9c1d-1c2a3b4c5d6e"})
	}
	if r.takes != nil {
		o.RequestBody = &openapi.RequestBody{Required: true, Content: content(r.takes, schemas.Taken), Most: r.largest()}
		for media, m := range o.RequestBody.Content {
			m.Example = json.RawMessage(r.sends)
			switch r.takes.(type) {
			case lines, written:
				m.Example = r.sends
			}
			o.RequestBody.Content[media] = m
		}
		if _, ok := r.takes.(lines); ok {
			o.RequestBody.Most, o.RequestBody.MostOfLine, o.RequestBody.Description = 0, r.largest(), fmt.Sprintf("Lines of at most %d bytes.", r.largest())
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

// example is the address of r's example, below /api/v1.
func (r route) example() string {
	parts := strings.Split(r.path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "{") {
			parts[i] = r.at
		}
	}
	out := strings.Join(parts, "/")
	if r.ask != "" {
		out += "?" + r.ask
	}
	return out
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
	case written:
		return map[string]openapi.Media{v.media: {Schema: &openapi.Schema{Type: "string", Description: v.about}}}
	case either:
		return map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: anyOf(v)}}
	case lines:
		return map[string]openapi.Media{ndjson: {Schema: anyOf(v)}}
	default:
		return map[string]openapi.Media{echo.MIMEApplicationJSON: {Schema: schema(v)}}
	}
}

// description is what there is to know of r beyond its summary.
func (r route) description() string {
	said := map[ruin]string{ruins: "Safe mode refuses it.", mayRuin: "Safe mode refuses what would do away with something."}[r.ruin]
	takes := ""
	if r.keyed {
		said = strings.TrimSpace(aboutKey + " " + said)
	}
	if role := r.role(); role != identity.Viewer {
		takes = fmt.Sprintf(" Takes the role %s.", role)
	}
	return strings.TrimSpace(strings.TrimSpace(r.about+" "+said) + takes)
}

// responses are the problems of r, by status.
func (r route) responses(problems *openapi.Schema) map[string]*openapi.Response {
	codes := append(common(), r.fails...)
	if r.keyed {
		codes = append(codes, codeKeyReused)
	}
	if r.ruin != spares {
		codes = append(codes, codeSafe)
	}
	if r.takes != nil {
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

// statuses are those that a code of a problem comes with.
func statuses(code string) (out []int) {
	own := []failure{{status: http.StatusForbidden, code: codeRole}, {status: http.StatusInternalServerError, code: "InternalError"}, {status: http.StatusMisdirectedRequest, code: codeWrongHost}, {status: http.StatusBadRequest, code: codeWrongHost}}
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
