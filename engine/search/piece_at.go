package search

import (
	"encoding/json"
	"slices"

	"mayfly/engine"
)

// A Path leads to a value in a JSON document, as in the term json.PATH.
type Path struct{ members []member }

// ParsePath reads customer.orders[0].id. Errors are *Error.
func ParsePath(text string) (Path, error) {
	if text == "" {
		return Path{}, errorAt(text, 0, "Write a path as customer.orders[0].id.")
	}
	members, err := parsePath(text, text, 0)
	return Path{members}, err
}

// String writes p so that ParsePath reads the same path again.
func (p Path) String() string { return pathText(p.members) }

// First returns the first value at p in doc, which is valid JSON, as it is written there; ok
// is false if there is none.
func (p Path) First(doc []byte) (raw []byte, ok bool) {
	ok = anyValue(doc, p.members, func(at []byte) bool { raw = at; return true })
	return raw, ok
}

// JSONDocument returns a body as a valid JSON document, or nil if it is none. For an AMQP value
// that is a text or bytes, it returns their contents.
func JSONDocument(kind engine.BodyKind, body []byte) []byte {
	if kind == engine.ValueBody {
		body = amqpContents(body)
	}
	if kind == engine.SequenceBody || !json.Valid(body) {
		return nil
	}
	return body
}

// JSONText returns a value of valid JSON as text: a string without quotes, anything else as it
// is written.
func JSONText(raw []byte) string {
	if raw[0] == '"' {
		return jsonString(raw)
	}
	return string(raw)
}

// maxLeafDepth is how many names a path of LeafPaths has at most.
const maxLeafDepth = 6

// LeafPaths returns up to most paths to the values in doc, which is valid JSON, that are neither
// objects nor in lists, in document order.
func LeafPaths(doc []byte, most int) (all []Path) {
	var walk func(doc []byte, path []member)
	walk = func(doc []byte, path []member) {
		if doc = isBlank(doc); doc[0] != '{' {
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
