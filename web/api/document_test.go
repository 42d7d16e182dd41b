package api

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mayfly/engine/broker"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/exchange"
	"mayfly/web/openapi"
)

// TestDocumentIsServed reads the served document as a client would, and follows its
// references.
func TestDocumentIsServed(t *testing.T) {
	w := start(t, broker.Options{})
	var got map[string]any
	w.want(200, "GET", "/openapi.json", "", &got)
	if got["openapi"] != openapi.Version {
		t.Errorf("the OpenAPI version is %v", got["openapi"])
	}
	schemas := w.member(got, "components", "schemas")
	var follow func(v any)
	follow = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				follow(one)
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && schemas[strings.TrimPrefix(ref, "#/components/schemas/")] == nil {
				t.Errorf("%s is missing", ref)
			}
			for _, one := range v {
				follow(one)
			}
		}
	}
	follow(got)
	outgoing := w.member(schemas, "Outgoing")
	if outgoing["additionalProperties"] != false {
		t.Errorf("additional members of a message are allowed: %v", outgoing["additionalProperties"])
	}
	if description := w.member(outgoing, "properties", "timeToLive")["description"]; description != "a duration, or never" {
		t.Errorf("the description of a member is %q", description)
	}
	if entity := w.member(schemas, "Entity"); entity["additionalProperties"] != nil || !slices.Contains(entity["required"].([]any), any("counts")) {
		t.Errorf("an entity: %v", entity["required"])
	}
}

// member returns a nested member of objects.
func (w *world) member(v map[string]any, names ...string) map[string]any {
	w.Helper()
	for _, n := range names {
		next, ok := v[n].(map[string]any)
		if !ok {
			w.Fatalf("%s is missing in %v", n, v)
		}
		v = next
	}
	return v
}

// TestRoutesAreWhole checks that the table has the texts that readers need.
func TestRoutesAreWhole(t *testing.T) {
	ids := map[string]bool{}
	for _, r := range routes() {
		switch {
		case ids[r.id] || r.id == "":
			t.Errorf("%s %s: the id %q is empty or not unique", r.method, r.path, r.id)
		case r.summary == "" || strings.HasSuffix(r.summary, "."):
			t.Errorf("%s: the summary is %q", r.id, r.summary)
		case !slices.ContainsFunc(groups, func(g openapi.Tag) bool { return g.Name == r.group }):
			t.Errorf("%s: the group %q does not exist", r.id, r.group)
		case strings.Contains(r.path, "{path}") && !strings.HasSuffix(r.path, "{path}"):
			t.Errorf("%s: {path} is not the last part of %s", r.id, r.path)
		}
		for _, p := range r.query {
			if p.description == "" {
				t.Errorf("%s: %s has no description", r.id, p.name)
			}
		}
		ids[r.id] = true
	}
	for _, tag := range groups {
		if !slices.ContainsFunc(routes(), func(r route) bool { return r.group == tag.Name }) {
			t.Errorf("the group %s has no operation", tag.Name)
		}
	}
}

// TestEveryRouteRefuses sends each operation of the document requests that it must refuse:
// unknown query parameters, values out of bounds, missing targets, and bodies that are not
// JSON, of the wrong type, with an additional member, or too large. None of them changes
// anything; conform checks every answer.
func TestEveryRouteRefuses(t *testing.T) {
	w := start(t, broker.Options{})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":{"RequiresSession":false}}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"topic","path":"t"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"subscription","path":"t/Subscriptions/s"}`, nil)
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"chats","properties":{"RequiresSession":true}}`, nil)
	w.want(201, "POST", "/send/q", `{}`, nil)
	before := w.everything()
	asked := 0
	for _, o := range Document().Ordered {
		t.Run(o.ID, func(t *testing.T) {
			refused := func(what string, statuses []int, address, body string) {
				t.Helper()
				asked++
				got, text := w.ask(o.Method, address, body)
				var p Problem
				if err := json.Unmarshal([]byte(text), &p); err != nil || p.Status != got.StatusCode || p.Detail == "" || p.Type == "" || p.Title != http.StatusText(p.Status) ||
					p.Code == "" || !strings.HasPrefix(p.Instance, "/api/v1/") || got.Header.Get("Content-Type") != "application/problem+json" {
					t.Errorf("%s: %d %s is not a problem document", what, got.StatusCode, text)
				}
				if !slices.Contains(statuses, got.StatusCode) {
					t.Errorf("%s: the response to %s %.80s is %d %s, want %v", what, o.Method, address, got.StatusCode, text, statuses)
				}
			}
			good := fill(o, "q")
			refused("an unknown parameter", []int{400}, with(good, "colour=red"), "")
			refused("a query that cannot be decoded", []int{400}, with(good, "a=%zz"), "")
			for _, p := range o.Parameters {
				if p.In == "query" {
					refuseParameter(o, p, good, refused)
				}
			}
			entity := slices.ContainsFunc(o.Parameters, func(p openapi.Parameter) bool { return p.Name == "entity" })
			if (entity || strings.Contains(o.Path, "{")) && never404(o.ID) == "" {
				absent := fill(o, "nowhere")
				if entity {
					absent = with(absent, "entity=nowhere")
				}
				refused("what is not there", []int{404}, absent, example(o))
			}
			if strings.Contains(o.Path, "{path}") {
				refused("a path that nothing can have", []int{400}, fill(o, "a*b"), example(o))
			}
			if strings.Contains(o.Path, "{") {
				refused("what is longer than anything's name", []int{400, 404, 410}, fill(o, strings.Repeat("a", 5000)), example(o))
			}
			if o.RequestBody == nil {
				return
			}
			inLines := o.RequestBody.Content[ndjson].Schema != nil
			refused("no JSON", []int{400}, good, "body=none")
			refused("a number", []int{400}, good, "5")
			refused("a member too many", []int{400}, good, `{"colour":"red"}`)
			if inLines {
				refused("a line that is too long", []int{413}, good, `{"body":"`+strings.Repeat(" ", origin.MaxBody))
			} else {
				refused("what is nested too deeply", []int{400}, good, strings.Repeat(`{"properties":`, exchange.MaxDepth+1))
				refused("too much", []int{413}, good, strings.Repeat(" ", int(o.RequestBody.MaxBytes)+1))
			}
			for name, of := range members(o) {
				wrong := "5"
				if of.Type == "integer" || of.Type == "number" {
					wrong = `"five"`
				}
				if of.Type != "" {
					refused("a wrong "+name, []int{400}, good, `{"`+name+`":`+wrong+`}`)
				}
			}
		})
	}
	if after := w.everything(); after != before {
		t.Errorf("something was changed\nfrom %s\nto   %s", before, after)
	}
	if asked < 200 {
		t.Errorf("only %d requests were made", asked)
	}
}

// never404 returns why an operation never answers 404, or "" if it does.
func never404(id string) string {
	return map[string]string{
		"releaseSession":  "what is gone is a lock that is lost (410), whatever the path says",
		"setView":         "what is not there is added",
		"setTemplate":     "one that is not there is made",
		"setScene":        "likewise",
		"listConnections": "entity chooses among connections, and nothing need be there",
	}[id]
}

// refuseParameter calls refused with requests that give a query parameter twice or with invalid
// values.
func refuseParameter(o *openapi.Operation, p openapi.Parameter, good string, refused func(string, []int, string, string)) {
	refused(p.Name+" twice", []int{400}, with(good, p.Name+"=1&"+p.Name+"=1"), "")
	rest, _, _ := strings.Cut(good, "?")
	if p.Schema.Type == "integer" {
		refused(p.Name+" that is no number", []int{400}, with(rest, p.Name+"=many"), example(o))
		refused(p.Name+" below all", []int{400}, with(rest, p.Name+"=-1"), example(o))
		refused(p.Name+" beyond all", []int{400}, with(rest, p.Name+"=99999999999999999999"), example(o))
	}
	if p.Schema.Enum != nil {
		refused(p.Name+" that there is not", []int{400}, with(rest, p.Name+"=purple"), example(o))
	}
}

// fill returns the address of an operation, with `at` in place of an entity's path, name or id, and
// with the required query parameters.
func fill(o *openapi.Operation, at string) string {
	out := strings.NewReplacer("{path}", at, "{name}", at, "{id}", at).Replace(o.Path)
	for _, p := range o.Parameters {
		if p.In != "query" || !p.Required {
			continue
		}
		value := at
		if p.Schema.Enum != nil {
			value = p.Schema.Enum[0]
		}
		if p.Schema.Type == "integer" {
			value = fmt.Sprint(p.Example)
		}
		out = with(out, p.Name+"="+value)
	}
	return out
}

func with(address, query string) string {
	if strings.Contains(address, "?") {
		return address + "&" + query
	}
	return address + "?" + query
}

// members returns the members of a body that is one struct.
func members(o *openapi.Operation) map[string]*openapi.Schema {
	s := o.RequestBody.Content["application/json"].Schema
	if s == nil || s.Ref == "" {
		return nil
	}
	return theDocument().Components.Schemas[s.Name()].Properties
}

// example returns the smallest body that the document allows.
func example(o *openapi.Operation) string {
	if o.RequestBody == nil {
		return ""
	}
	for _, m := range o.RequestBody.Content {
		raw, err := json.Marshal(exampleOf(m.Schema))
		if err != nil {
			panic(err)
		}
		return string(raw)
	}
	return ""
}

func exampleOf(s *openapi.Schema) any {
	switch {
	case s.Ref != "":
		of, out := theDocument().Components.Schemas[s.Name()], map[string]any{}
		for _, name := range of.Required {
			out[name] = exampleOf(of.Properties[name])
		}
		if len(out) == 0 && of.Properties["rights"] != nil {
			out["rights"] = []string{"Send"}
		}
		return out
	case len(s.AnyOf) > 0:
		return exampleOf(s.AnyOf[0])
	case s.Type == "array":
		return []any{}
	case s.Type == "object":
		return map[string]any{"MaxDeliveryCount": 5}
	case s.Type == "integer" || s.Type == "number":
		return 1
	case s.Type == "boolean":
		return true
	default:
		return "x"
	}
}

// TestEveryStructIsRead finds types of this package whose source is not read: their members
// would have no documentation.
func TestEveryStructIsRead(t *testing.T) {
	words, err := openapi.ReadComments(source, exchange.Source())
	if err != nil {
		t.Fatal(err)
	}
	for name := range theDocument().Components.Schemas {
		if _, ok := words[name]; !ok && name != "Event" { // it is engine/history's
			t.Errorf("the source of %s was not read", name)
		}
	}
}

// TestEveryParameterIsDescribed: each parameter of a route that changes something
// declares its role.
func TestEveryParameterIsDescribed(t *testing.T) {
	for _, r := range routes() {
		for _, p := range r.query {
			if r.method != http.MethodGet && !p.roleDeclared {
				t.Errorf("%s of %s declares no role", p.name, r.id)
			}
			if p.role != auth.None && r.requiredRole().Includes(p.role) {
				t.Errorf("%s of %s requires the role %s, as its route does", p.name, r.id, p.role)
			}
		}
	}
}

// TestErrorsQuoteNames checks that the texts of errors quote only members and parameters that
// a request has.
func TestErrorsQuoteNames(t *testing.T) {
	names := map[string]bool{}
	for _, o := range theDocument().Ordered {
		for _, p := range o.Parameters {
			names[p.Name] = true
		}
	}
	for _, s := range theDocument().Components.Schemas {
		if s.AdditionalProperties == false { // of a request
			for _, name := range s.Order {
				names[name] = true
			}
		}
	}
	quoted := regexp.MustCompile(`'([A-Za-z]+)'`)
	found := 0
	check := func(file, name string) {
		if found++; !names[name] {
			t.Errorf("%s: an error quotes '%s', which is not part of any request", file, name)
		}
	}
	for _, pattern := range []string{"*.go", "../../engine/job/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				f, ok := call.Fun.(*ast.SelectorExpr)
				if !ok || !slices.Contains([]string{"Refuse", "New", "Errorf", "DurationErrorText"}, f.Sel.Name) {
					return true
				}
				for _, arg := range call.Args {
					lit, ok := arg.(*ast.BasicLit)
					if !ok || lit.Kind != token.STRING {
						continue
					}
					text, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Fatal(err)
					}
					if f.Sel.Name == "DurationErrorText" {
						check(file, text)
					}
					for _, m := range quoted.FindAllStringSubmatch(text, -1) {
						check(file, m[1])
					}
				}
				return true
			})
		}
	}
	if found < 20 {
		t.Errorf("only %d quoted names were found", found)
	}
}
