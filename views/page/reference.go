package page

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

// ReferenceFilter is the name of the field that chooses among operations.
const ReferenceFilter = "filter"

// Reference is the page that explains the JSON API. What the API says of itself is
// in English, whatever the language of the page.
type Reference struct {
	Shell    layout.Shell
	About    string
	Base     string // the API's address as this visitor reaches it, without a slash at the end
	Document string // the address of openapi.json
	Filter   string // what was asked for: operations are hidden that do not have all its words
	All      int    // operations there are
	Groups   []APIGroup
	Types    []APIType // those with names, by name
}

// An APIGroup are the operations under one heading.
type APIGroup struct {
	Name, About string
	Operations  []APIOperation
}

// An APIOperation is what one method does at one path.
type APIOperation struct {
	ID             string // its anchor too
	Method, Path   string
	Summary, About string
	Words          string // what a filter looks at, in small letters
	Hidden         bool   // the filter leaves it out
	Parameters     []APIParameter
	Body           *APIBody // nil: nothing is sent
	Answer         APIAnswer
	Problems       []APIProblem
	Curl           string
	Ask            string // where it can be tried, with {name} for what is in the path; empty: it changes something
}

// An APIParameter is a part of the address.
type APIParameter struct {
	Name, About string
	InPath      bool
	Required    bool
	Kind        APIKind
	Choices     []string
	Example     string
}

// An APIBody is what is sent.
type APIBody struct {
	Media   string
	Most    int64 // bytes; of lines of each
	Lines   bool
	Shapes  []APIShape // one of these
	Example string
}

// An APIAnswer is what there is when all is well.
type APIAnswer struct {
	Status string // "200 OK"
	Media  string // empty: nothing is answered
	Shapes []APIShape
}

// An APIShape is the members of what is sent or answered.
type APIShape struct {
	Kind    APIKind
	About   string
	Members []APIMember // none: anything
}

// An APIMember is one of an object.
type APIMember struct {
	Name, About string
	Required    bool
	Kind        APIKind
}

// An APIType is a shape with a name of its own.
type APIType struct {
	Name  string
	Shape APIShape
}

// An APIKind is what a value is.
type APIKind struct {
	Word   string // text, time, base64, whole, number, truth, object or any; see Ref
	Ref    string // the name of an APIType instead
	List   bool   // a list of these
	By     bool   // an object whose members are these
	Bounds string // "1 to 250", "from 1"; empty: none
}

// An APIProblem is how an operation fails.
type APIProblem struct {
	Status string // "404 Not Found"
	Codes  []string
}

// Full is the page.
func (m Reference) Full() templ.Component { return reference(m) }

// Watches is nil: the page stays as it is.
func (m Reference) Watches() []string { return nil }

// Parts is what is live in the page.
func (m Reference) Parts() []view.Part { return m.Shell.Parts() }

// shown is how many operations are.
func (m Reference) shown() (n int) {
	for _, g := range m.Groups {
		for _, o := range g.Operations {
			if !o.Hidden {
				n++
			}
		}
	}
	return n
}

// hidden tells whether nothing of a group is shown.
func (g APIGroup) hidden() bool {
	return !slices.ContainsFunc(g.Operations, func(o APIOperation) bool { return !o.Hidden })
}

func (k APIKind) bounds() string {
	if k.Bounds == "" {
		return ""
	}
	return ", " + k.Bounds
}

// anchor is where something with a name stands in the page.
func anchor(kind, name string) string { return kind + "-" + strings.ReplaceAll(name, " ", "-") }

func (k APIKind) words(ctx context.Context) string {
	return map[string]string{
		"text": locale.T(ctx, "reference.is.text"), "time": locale.T(ctx, "reference.is.time"), "base64": locale.T(ctx, "reference.is.base64"), "whole": locale.T(ctx, "reference.is.whole"),
		"number": locale.T(ctx, "reference.is.number"), "truth": locale.T(ctx, "reference.is.truth"), "object": locale.T(ctx, "reference.is.object"), "any": locale.T(ctx, "reference.is.any"),
	}[k.Word]
}

// referenceWords is what the script says, with {n} to be filled.
func referenceWords(ctx context.Context) string {
	b, err := json.Marshal(map[string]string{
		"asking": locale.T(ctx, "reference.asking"), "cut": locale.T(ctx, "reference.cut"), "failed": locale.T(ctx, "reference.failed"), "stopped": locale.T(ctx, "reference.stopped"),
	})
	if err != nil {
		return "{}" // a map of strings always marshals
	}
	return string(b)
}
