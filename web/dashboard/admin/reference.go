package admin

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/admin"
	"mayfly/views/view"
	"mayfly/web/dashboard/pages"
	"mayfly/web/openapi"
)

// maxFilterBytes is how many bytes of the operations filter are read.
const maxFilterBytes = 100

// Reference returns the reference page of the JSON API, built from its OpenAPI document.
func Reference(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	if p.Options.Document == nil {
		return nil, 0, pages.ErrPageNotFound
	}
	s, err := p.Read(ctx, func(broker.Reader) error { return nil })
	if err != nil {
		return nil, 0, err
	}
	doc := p.APIDocument()
	r := apiModel{doc}
	m := admin.APIReference{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "reference.title")), About: doc.Info.Description, Base: apiBase(ctx, p), Document: p.Options.Base + p.APIPath() + "/openapi.json",
		Filter: shorten.To(at.Query.Get(admin.ReferenceFilter), maxFilterBytes), All: len(doc.Ordered),
	}
	words := strings.Fields(strings.ToLower(m.Filter))
	for _, tag := range doc.Tags {
		g := admin.APIGroup{Name: tag.Name, About: tag.Description}
		for _, o := range doc.Ordered {
			if !slices.Contains(o.Tags, tag.Name) {
				continue
			}
			one := r.operation(o, m.Base)
			one.Hidden = slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(one.Words, w) })
			g.Operations = append(g.Operations, one)
		}
		m.Groups = append(m.Groups, g)
	}
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		m.Types = append(m.Types, admin.APIType{Name: name, Shape: r.members(admin.APIShape{}, doc.Components.Schemas[name])})
	}
	return m, s.Event, nil
}

// apiBase returns the address of this namespace's API with the host name that the visitor
// uses.
func apiBase(ctx context.Context, p *pages.Pages) string {
	if who, _ := ctx.Value(pages.VisitorKey{}).(pages.Visitor); who.Origin != "" {
		return who.Origin + p.Options.Base + p.APIPath()
	}
	return p.Options.API
}

// apiModel turns an OpenAPI document into the models of the page.
type apiModel struct{ doc *openapi.Document }

func (r apiModel) operation(o *openapi.Operation, base string) admin.APIOperation {
	out := admin.APIOperation{
		ID: o.ID, Method: o.Method, Path: o.Path, Summary: o.Summary, About: o.Description, Curl: curlExample(o, base),
		Answer: admin.APIResponse{Status: statusText(o.Status)},
	}
	words := append([]string{o.ID, o.Method, o.Path, o.Summary, o.Description}, o.Tags...)
	for _, p := range o.Parameters {
		if p.In == "header" { // the operation's description covers it
			continue
		}
		one := admin.APIParameter{Name: p.Name, About: p.Description, InPath: p.In == "path", Required: p.Required, Kind: r.kind(p.Schema), Choices: p.Schema.Enum}
		if p.Example != nil {
			one.Example = fmt.Sprint(p.Example)
		}
		out.Parameters = append(out.Parameters, one)
		words = append(words, p.Name)
	}
	if o.RequestBody != nil {
		for media, m := range o.RequestBody.Content {
			out.Body = &admin.APIBody{Media: media, Most: o.RequestBody.MaxBytes, Lines: o.RequestBody.MaxLineBytes > 0, Shapes: r.shapes(m.Schema), Example: o.Example.Body}
			out.Body.Most = max(out.Body.Most, o.RequestBody.MaxLineBytes)
		}
	}
	for media, m := range o.Responses[o.Status].Content {
		out.Answer.Media, out.Answer.Shapes = media, r.shapes(m.Schema)
	}
	for _, code := range slices.Sorted(maps.Keys(o.Responses)) {
		if code == o.Status {
			continue
		}
		_, codes, _ := strings.Cut(o.Responses[code].Description, ": ")
		out.Problems = append(out.Problems, admin.APIProblem{Status: statusText(code), Codes: strings.Split(codes, ", ")})
	}
	if o.Method == http.MethodGet {
		out.TryURL = o.Path
	}
	out.Words = strings.ToLower(strings.Join(words, " "))
	return out
}

// statusText returns a status code and its text: 404 Not Found.
func statusText(code string) string {
	n, err := strconv.Atoi(code)
	if err != nil {
		return code
	}
	return code + " " + http.StatusText(n)
}

func (r apiModel) shapes(s *openapi.Schema) (all []admin.APIShape) {
	if len(s.AnyOf) > 0 {
		for _, one := range s.AnyOf {
			all = append(all, r.shapes(one)...)
		}
		return all
	}
	out := admin.APIShape{Kind: r.kind(s)}
	if s.Items != nil {
		s = s.Items
	}
	if named := r.doc.Components.Schemas[s.Name()]; named != nil {
		out = r.members(out, named)
	}
	return []admin.APIShape{out}
}

func (r apiModel) members(out admin.APIShape, s *openapi.Schema) admin.APIShape {
	out.About = s.Description
	for _, name := range s.Order {
		m := s.Properties[name]
		out.Members = append(out.Members, admin.APIMember{Name: name, About: m.Description, Required: slices.Contains(s.Required, name), Kind: r.kind(m)})
	}
	return out
}

func (r apiModel) kind(s *openapi.Schema) (k admin.APIKind) {
	switch inner, _ := s.AdditionalProperties.(*openapi.Schema); {
	case s.Ref != "":
		k.Ref = s.Name()
	case s.Items != nil:
		k = r.kind(s.Items)
		k.List = true
	case inner != nil:
		k = r.kind(inner)
		k.By = true
	case len(s.AnyOf) == 2 && s.AnyOf[1].Type == "null":
		k = r.kind(s.AnyOf[0])
	case len(s.AnyOf) > 0:
		k.Word = "any"
	case s.Format == "date-time":
		k.Word = "time"
	case s.ContentEncoding != "":
		k.Word = "base64"
	default:
		k.Word = map[string]string{"string": "text", "integer": "whole", "number": "number", "boolean": "truth", "object": "object", "": "any"}[s.Type]
	}
	switch {
	case s.Minimum != nil && s.Maximum != nil:
		k.Bounds = fmt.Sprintf("%d to %d", *s.Minimum, *s.Maximum)
	case s.Minimum != nil && *s.Minimum != 0:
		k.Bounds = fmt.Sprintf("from %d", *s.Minimum)
	}
	return k
}

// curlExample returns the example of an operation as a shell command.
func curlExample(o *openapi.Operation, base string) string {
	out := "curl "
	switch {
	case o.Method == http.MethodGet, o.Method == http.MethodPost && o.Example.Body != "":
	default:
		out += "-X " + o.Method + " "
	}
	at, query, asks := strings.Cut(o.Example.Address, "?")
	at = base + (&url.URL{Path: at}).EscapedPath()
	if asks {
		at += "?" + strings.ReplaceAll(query, " ", "%20")
	}
	out += shellWord(at)
	if o.Example.Body != "" {
		out += " \\\n     -d " + pages.QuoteShell(o.Example.Body)
	}
	return out
}

// shellWord returns s as one word of a shell command, without quotes if it needs none.
func shellWord(s string) string {
	if strings.ContainsAny(s, " $&?'\"\\*;<>()|`#~!") || !component.Copyable(s) {
		return pages.QuoteShell(s)
	}
	return s
}
