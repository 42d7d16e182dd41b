package search

import (
	"encoding/json"
	"slices"

	"mayfly/engine"
)

// A Path is the path to a value in a JSON document, as in the term json.PATH.
type Path struct{ members []member }

// ParsePath parses a path such as customer.orders[0].id. Errors are *Error.
func ParsePath(text string) (Path, error) {
	if text == "" {
		return Path{}, errorAt(text, 0, "Write a path as customer.orders[0].id.")
	}
	members, err := parsePath(text, text, 0)
	return Path{members}, err
}

// String returns p in the form that ParsePath parses.
func (p Path) String() string { return pathText(p.members) }

// First returns the first value at p in doc, which must be valid JSON, as its JSON text; ok is false
// if there is none.
func (p Path) First(doc []byte) (raw []byte, ok bool) {
	ok = anyValue(doc, p.members, func(at []byte) bool { raw = at; return true })
	return raw, ok
}

// JSONDocument returns a body if it is a valid JSON document, else nil. From a body that is an AMQP
// string or binary value, it takes the content.
func JSONDocument(kind engine.BodyKind, body []byte) []byte {
	if kind == engine.ValueBody {
		body = amqpContents(body)
	}
	if kind == engine.SequenceBody || !json.Valid(body) {
		return nil
	}
	return body
}

// JSONText returns a valid JSON value as text: the content of a string, and other values as their
// JSON.
func JSONText(raw []byte) string {
	if raw[0] == '"' {
		return jsonString(raw)
	}
	return string(raw)
}

// maxLeafDepth is the maximum number of names in a path of LeafPaths.
const maxLeafDepth = 6

// LeafPaths returns up to `most` paths, in document order, to the values in doc that are no objects
// or lists and not in a list. doc must be valid JSON.
func LeafPaths(doc []byte, most int) (all []Path) {
	var walk func(doc []byte, path []member)
	walk = func(doc []byte, path []member) {
		if doc = trimBlank(doc); doc[0] != '{' {
			if len(path) > 0 && doc[0] != '[' {
				all = append(all, Path{path})
			}
			return
		}
		if len(path) == maxLeafDepth {
			return
		}
		eachMember(doc, func(name, value []byte) bool {
			walk(value, append(slices.Clip(path), member{name: jsonString(name)}))
			return len(all) >= most
		})
	}
	walk(doc, nil)
	return all
}
