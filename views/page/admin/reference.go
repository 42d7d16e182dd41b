package admin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// ReferenceFilter is the field that filters operations.
const ReferenceFilter = "filter"

// APIReference is the reference page of the JSON API. Texts of the API are in English, whatever
// the language of the page.
type APIReference struct {
	Shell    layout.Shell
	About    string
	Base     string // address of the API with the visitor's host name, without a trailing slash
	Document string // address of openapi.json
	Filter   string // as typed: operations without all of its words are hidden
	All      int    // number of operations
	Groups   []APIGroup
	Types    []APIType // named types, by name
}

// An APIGroup holds the operations under one heading.
type APIGroup struct {
	Name, About string
	Operations  []APIOperation
}

// An APIOperation is a method of a path.
type APIOperation struct {
	ID             string // also its anchor
	Method, Path   string
	Summary, About string
	Words          string // text that the filter searches, in lower case
	Hidden         bool   // excluded by the filter
	Parameters     []APIParameter
	Body           *APIBody // nil means no request body
	Answer         APIResponse
	Problems       []APIProblem
	Curl           string
	TryURL         string // address to try it, with {name} for path parameters; empty if it changes something
}

// An APIParameter is a path or query parameter.
type APIParameter struct {
	Name, About string
	InPath      bool
	Required    bool
	Kind        APIKind
	Choices     []string
	Example     string
}

// An APIBody is a request body.
type APIBody struct {
	Media   string
	Most    int64 // bytes; for lines, of each line
	Lines   bool
	Shapes  []APIShape // alternatives
	Example string
}

// An APIResponse is the response on success.
type APIResponse struct {
	Status string // "200 OK"
	Media  string // empty means no response body
	Shapes []APIShape
}

// An APIShape describes a request or response value.
type APIShape struct {
	Kind    APIKind
	About   string
	Members []APIMember // none means any
}

// An APIMember is a member of an object.
type APIMember struct {
	Name, About string
	Required    bool
	Kind        APIKind
}

// An APIType is a named shape.
type APIType struct {
	Name  string
	Shape APIShape
}

// An APIKind is the type of a value.
type APIKind struct {
	Word   string // text, time, base64, whole, number, truth, object or any; see Ref
	Ref    string // the name of an APIType; then Word is empty
	List   bool   // a list of values of this type
	By     bool   // an object whose members have this type
	Bounds string // "1 to 250", "from 1"; empty means none
}

// An APIProblem is an error response of an operation.
type APIProblem struct {
	Status string // "404 Not Found"
	Codes  []string
}

// Full returns the whole page.
func (m APIReference) Full() templ.Component { return reference(m) }

// Watches returns nil, because the page is not live.
func (m APIReference) Watches() []string { return nil }

// Parts returns the live parts of the page.
func (m APIReference) Parts() []view.Part { return m.Shell.Parts() }

// shown returns how many operations the filter leaves.
func (m APIReference) shown() (n int) {
	for _, g := range m.Groups {
		for _, o := range g.Operations {
			if !o.Hidden {
				n++
			}
		}
	}
	return n
}

// hidden reports whether no operation of the group matches the filter.
func (g APIGroup) hidden() bool {
	return !slices.ContainsFunc(g.Operations, func(o APIOperation) bool { return !o.Hidden })
}

func (k APIKind) bounds() string {
	if k.Bounds == "" {
		return ""
	}
	return ", " + k.Bounds
}

// anchor returns the id of a named element of the page.
func anchor(kind, name string) string { return kind + "-" + strings.ReplaceAll(name, " ", "-") }

func (k APIKind) words(ctx context.Context) string {
	return map[string]string{
		"text": locale.T(ctx, "reference.is.text"), "time": locale.T(ctx, "reference.is.time"), "base64": locale.T(ctx, "reference.is.base64"), "whole": locale.T(ctx, "reference.is.whole"),
		"number": locale.T(ctx, "reference.is.number"), "truth": locale.T(ctx, "reference.is.truth"), "object": locale.T(ctx, "reference.is.object"), "any": locale.T(ctx, "reference.is.any"),
	}[k.Word]
}

// referenceWords returns the texts of the script, with {n} as a placeholder.
func referenceWords(ctx context.Context) string {
	b, err := json.Marshal(map[string]string{
		"asking": locale.T(ctx, "reference.asking"), "cut": locale.T(ctx, "reference.cut"), "failed": locale.T(ctx, "reference.failed"), "stopped": locale.T(ctx, "reference.stopped"),
	})
	if err != nil {
		return "{}" // a map of strings always marshals
	}
	return string(b)
}
