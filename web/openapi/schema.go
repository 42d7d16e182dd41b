package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// A Schema says what JSON may be. The zero value is anything.
type Schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	Description          string             `json:"description,omitempty"`
	Type                 string             `json:"type,omitempty"`
	Format               string             `json:"format,omitempty"`
	ContentEncoding      string             `json:"contentEncoding,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Minimum              *int64             `json:"minimum,omitempty"`
	Maximum              *int64             `json:"maximum,omitempty"`
	Items                *Schema            `json:"items,omitempty"`
	Properties           map[string]*Schema `json:"properties,omitempty"`
	Required             []string           `json:"required,omitempty"`
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // a *Schema; or false: there are none
	AnyOf                []*Schema          `json:"anyOf,omitempty"`

	Order []string `json:"-"` // the names of Properties as the struct has them
}

const refPrefix = "#/components/schemas/"

// Name is that of the component that s refers to; empty: it is no reference.
func (s *Schema) Name() string { return strings.TrimPrefix(s.Ref, refPrefix) }

// Schemas make the schemas of Go types. Structs with a name become components,
// once each, under the name of the type. Not safe for concurrent use.
type Schemas struct {
	// Words are those of the types to come.
	Words Words
	// Known are the schemas of types that write their JSON themselves.
	Known map[reflect.Type]Schema

	all    map[string]*Schema
	types  map[string]reflect.Type
	strict map[reflect.Type]bool
}

// Given is the schema of what is answered, of the type of v.
func (s *Schemas) Given(v any) *Schema { return s.of(reflect.TypeOf(v), sideGiven) }

// Taken is the schema of what is sent: as Given, but members that it does not
// have are refused.
func (s *Schemas) Taken(v any) *Schema { return s.of(reflect.TypeOf(v), sideTaken) }

// All are the components, by name. The map is the caller's.
func (s *Schemas) All() map[string]*Schema { return maps.Clone(s.all) }

type side int

const (
	sideGiven side = iota
	sideTaken
)

func (s *Schemas) of(t reflect.Type, at side) *Schema {
	if t.Kind() == reflect.Pointer {
		return s.of(t.Elem(), at)
	}
	if known, ok := s.Known[t]; ok {
		return &known
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return &Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return &Schema{}
	case reflect.TypeFor[json.Number]():
		return &Schema{Type: "number"}
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		panic(fmt.Sprintf("%s writes its JSON itself: say in Known what that is", t))
	}
	switch t.Kind() {
	case reflect.Interface:
		return &Schema{}
	case reflect.Bool:
		return &Schema{Type: "boolean"}
	case reflect.String:
		return &Schema{Type: "string"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &Schema{Type: "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &Schema{Type: "integer", Minimum: new(int64)}
	case reflect.Float32, reflect.Float64:
		return &Schema{Type: "number"}
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return &Schema{Type: "string", ContentEncoding: "base64"}
		}
		return &Schema{Type: "array", Items: s.of(t.Elem(), at)}
	case reflect.Map:
		out := &Schema{Type: "object"}
		if of := s.of(t.Elem(), at); !reflect.DeepEqual(of, &Schema{}) {
			out.AdditionalProperties = of
		}
		return out
	case reflect.Struct:
		return s.ofStruct(t, at)
	default:
		panic(fmt.Sprintf("JSON has nothing for %s", t))
	}
}

// ofStruct makes a component, or looks at one again whose members are taken too.
func (s *Schemas) ofStruct(t reflect.Type, at side) *Schema {
	name := t.Name()
	if name == "" {
		panic(fmt.Sprintf("%s has no name to be found by", t))
	}
	if other, ok := s.types[name]; ok && other != t {
		panic(fmt.Sprintf("%s and %s would have one name", other, t))
	}
	ref := &Schema{Ref: refPrefix + name}
	if s.all[name] != nil && (at == sideGiven || s.strict[t]) {
		return ref
	}
	if s.all == nil {
		s.all, s.types, s.strict = map[string]*Schema{}, map[string]reflect.Type{}, map[reflect.Type]bool{}
	}
	out := &Schema{Type: "object", Description: s.Words[name], Properties: map[string]*Schema{}}
	s.all[name], s.types[name] = out, t // before its members, which may be of its own type
	s.strict[t] = s.strict[t] || at == sideTaken
	s.members(out, t, at)
	if s.strict[t] {
		out.AdditionalProperties = false
	}
	return ref
}

// members adds those of a struct to out, as encoding/json sees them.
func (s *Schemas) members(out *Schema, t reflect.Type, at side) {
	for f := range t.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if tag == "-" || !f.IsExported() && !f.Anonymous {
			continue
		}
		if f.Anonymous && tag == "" {
			s.members(out, f.Type, at)
			continue
		}
		m := s.of(f.Type, at)
		m.Description = s.Words[t.Name()+"."+f.Name]
		out.Properties[tag] = m
		out.Order = append(out.Order, tag)
		if !slices.Contains([]string{"omitempty", "omitzero"}, options) {
			out.Required = append(out.Required, tag)
		}
	}
}
