package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"mayfly/web/openapi"
)

// conform checks a test's request and its answer against the document: every status, every
// member. An accepted request must be one that the document allows.
func conform(t *testing.T, method, address, body string, status int, media string, answer []byte) {
	t.Helper()
	o := operationAt(method, address)
	if o == nil {
		if status != http.StatusNotFound && status != http.StatusMethodNotAllowed {
			t.Errorf("%s %s: the status %d is not in the document", method, address, status)
		}
		return
	}
	response := o.Responses[fmt.Sprint(status)]
	if response == nil {
		t.Errorf("%s %s: status %d has the type %s, which is not in the document", method, o.Path, status, answer)
		return
	}
	name := func(what string) string { return fmt.Sprintf("%s %s: %s", method, o.Path, what) }
	if len(response.Content) == 0 {
		if len(answer) > 0 {
			t.Errorf("%s is there: %s", name("an answer"), answer)
		}
		return
	}
	m, ok := response.Content[strings.TrimSpace(strings.Split(media, ";")[0])]
	if !ok {
		t.Errorf("%s is %q", name("the type of the answer"), media)
		return
	}
	documents := [][]byte{answer}
	if strings.Contains(media, "ndjson") {
		documents = bytes.Split(bytes.TrimSpace(answer), []byte("\n"))
	}
	for _, d := range documents {
		if len(d) == 0 && strings.Contains(media, "ndjson") {
			continue // not lines
		}
		if err := check(m.Schema, parse(t, d), name("answer"), strictly); err != nil {
			t.Error(err)
		}
		if status >= 400 {
			var p Problem
			if err := json.Unmarshal(d, &p); err != nil || !strings.Contains(response.Description, p.Code) {
				t.Errorf("%s has a code that is not in the document for status %d: %s", name("a problem"), status, d)
			}
		}
	}
	if status < 300 && o.RequestBody != nil && strings.TrimSpace(body) != "" {
		for media, m := range o.RequestBody.Content {
			documents := [][]byte{[]byte(body)}
			if strings.Contains(media, "yaml") {
				continue // plain text, of any content
			}
			if strings.Contains(media, "ndjson") {
				documents = bytes.Split(bytes.TrimSpace([]byte(body)), []byte("\n"))
			}
			for _, d := range documents {
				if len(d) == 0 {
					continue
				}
				if err := check(m.Schema, parse(t, d), name("body"), nullIsAbsent); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func parse(t *testing.T, raw []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	return v
}

var theDocument = sync.OnceValue(Document)

// operationAt returns the operation of an address below /api/v1.
func operationAt(method, address string) *openapi.Operation {
	at, _, _ := strings.Cut(address, "?")
	for _, o := range theDocument().Ordered {
		if o.Method == method && leads(o.Path, at) {
			return o
		}
	}
	return nil
}

func leads(pattern, at string) bool {
	if before, ok := strings.CutSuffix(pattern, "{path}"); ok {
		return strings.HasPrefix(at, before)
	}
	want, got := strings.Split(pattern, "/"), strings.Split(at, "/")
	return slices.EqualFunc(want, got, func(w, g string) bool { return w == g || strings.HasPrefix(w, "{") })
}

// How null is read: in a request it stands for a member that is left out; in an answer it is a
// value, which the schema must allow.
type nulls bool

const (
	strictly     nulls = false
	nullIsAbsent nulls = true
)

// check returns an error where v does not match s. It shares no code with the creation of s.
func check(s *openapi.Schema, v any, at string, null nulls) error {
	if s.Ref != "" {
		of := theDocument().Components.Schemas[s.Name()]
		if of == nil {
			return fmt.Errorf("%s: the schema %s is missing", at, s.Ref)
		}
		return check(of, v, at, null)
	}
	if len(s.AnyOf) > 0 {
		var first error
		for _, one := range s.AnyOf {
			err := check(one, v, at, null)
			if err == nil {
				return nil
			}
			if first == nil {
				first = err
			}
		}
		return first
	}
	is := map[string]bool{"": true}
	switch v := v.(type) {
	case nil:
		if null == nullIsAbsent {
			return nil
		}
		is["null"] = true
	case bool:
		is["boolean"] = true
	case string:
		is["string"] = true
		if s.Enum != nil && !slices.Contains(s.Enum, v) {
			return fmt.Errorf("%s: %q is not one of %q", at, v, s.Enum)
		}
	case json.Number:
		is["number"] = true
		n, err := v.Int64()
		is["integer"] = err == nil || !strings.ContainsAny(v.String(), ".eE")
		if err == nil && (s.Minimum != nil && n < *s.Minimum || s.Maximum != nil && n > *s.Maximum) {
			return fmt.Errorf("%s: %d is out of bounds", at, n)
		}
	case []any:
		is["array"] = true
		for i, one := range v {
			if s.Items == nil {
				break
			}
			if err := check(s.Items, one, fmt.Sprintf("%s[%d]", at, i), null); err != nil {
				return err
			}
		}
	case map[string]any:
		is["object"] = true
		if err := checkMembers(s, v, at, null); err != nil {
			return err
		}
	}
	if !is[s.Type] {
		return fmt.Errorf("%s: %v is not of type %s", at, v, s.Type)
	}
	return nil
}

func checkMembers(s *openapi.Schema, v map[string]any, at string, null nulls) error {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			return fmt.Errorf("%s: %q is missing", at, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		of := s.Properties[name]
		if of == nil {
			other, ok := s.AdditionalProperties.(*openapi.Schema)
			if !ok {
				if s.AdditionalProperties != nil || s.Properties != nil {
					return fmt.Errorf("%s: %q is not allowed", at, name)
				}
				continue
			}
			of = other
		}
		if err := check(of, v[name], at+"."+name, null); err != nil {
			return err
		}
	}
	return nil
}
