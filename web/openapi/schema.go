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

// A Schema describes a JSON value. The zero value allows anything.
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
	AdditionalProperties any                `json:"additionalProperties,omitempty"` // a *Schema, or false if there are none
	AnyOf                []*Schema          `json:"anyOf,omitempty"`

	Order []string `json:"-"` // the names of Properties in the order of the struct
}

const refPrefix = "#/components/schemas/"

// Name returns the name of the component that s refers to, or "" if s is no reference.
func (s *Schema) Name() string { return strings.TrimPrefix(s.Ref, refPrefix) }

// Schemas creates the schemas of Go types. Structs with a name become components, once each,
// under the name of the type. It is not safe for concurrent use.
type Schemas struct {
	// Comments are the comments of the types.
	Comments Comments
	// Known are the schemas of types with their own JSON encoding.
	Known map[reflect.Type]Schema

	all    map[string]*Schema
	types  map[string]reflect.Type
	strict map[reflect.Type]bool
}

// Response returns the schema of an answer that has v's type.
func (s *Schemas) Response(v any) *Schema { return s.of(reflect.TypeOf(v), responseSide) }

// Request returns the schema of a request body that has v's type. Unlike Response's, it allows no
// other members.
func (s *Schemas) Request(v any) *Schema { return s.of(reflect.TypeOf(v), requestSide) }

// All returns the components by name. The caller owns the map.
func (s *Schemas) All() map[string]*Schema { return maps.Clone(s.all) }

type side int

const (
	responseSide side = iota
	requestSide
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
		panic(fmt.Sprintf("%s has its own MarshalJSON: add its schema to Known", t))
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
		return &Schema{Type: "array", Items: s.element(t.Elem(), at)}
	case reflect.Map:
		out := &Schema{Type: "object"}
		if of := s.element(t.Elem(), at); !reflect.DeepEqual(of, &Schema{}) {
			out.AdditionalProperties = of
		}
		return out
	case reflect.Struct:
		return s.ofStruct(t, at)
	default:
		panic(fmt.Sprintf("JSON cannot encode %s", t))
	}
}

// element returns the schema of a value that is always written, as null if it is a nil
// pointer.
func (s *Schemas) element(t reflect.Type, at side) *Schema {
	of := s.of(t, at)
	if t.Kind() != reflect.Pointer {
		return of
	}
	return &Schema{AnyOf: []*Schema{of, {Type: "null"}}}
}

// ofStruct returns a reference to the component of a struct, which it creates if there is none. A
// component that requests use is strict: it allows no further members.
func (s *Schemas) ofStruct(t reflect.Type, at side) *Schema {
	name := t.Name()
	if name == "" {
		panic(fmt.Sprintf("%s has no type name", t))
	}
	if other, ok := s.types[name]; ok && other != t {
		panic(fmt.Sprintf("%s and %s have the same name", other, t))
	}
	ref := &Schema{Ref: refPrefix + name}
	if s.all[name] != nil && (at == responseSide || s.strict[t]) {
		return ref
	}
	if s.all == nil {
		s.all, s.types, s.strict = map[string]*Schema{}, map[string]reflect.Type{}, map[reflect.Type]bool{}
	}
	out := &Schema{Type: "object", Description: s.Comments[name], Properties: map[string]*Schema{}}
	s.all[name], s.types[name] = out, t // before its members, which may be of its own type
	s.strict[t] = s.strict[t] || at == requestSide
	s.members(out, t, at)
	if s.strict[t] {
		out.AdditionalProperties = false
	}
	return ref
}

// members adds the members of a struct to out, as encoding/json sees them.
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
		always := !slices.Contains([]string{"omitempty", "omitzero"}, options)
		m := s.of(f.Type, at)
		if always {
			m = s.element(f.Type, at)
			out.Required = append(out.Required, tag)
		}
		m.Description = s.Comments[t.Name()+"."+f.Name]
		out.Properties[tag] = m
		out.Order = append(out.Order, tag)
	}
}
