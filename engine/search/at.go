package search

import (
	"encoding/json"
	"slices"

	"mayfly/engine"
)

// A Path leads to something in a document of JSON, as in the term json.PATH.
type Path struct{ members []member }

// ParsePath reads customer.orders[0].id. Errors are *Error.
func ParsePath(text string) (Path, error) {
	if text == "" {
		return Path{}, wrong(text, 0, "A path is written customer.orders[0].id.")
	}
	members, err := parsePath(text, text, 0)
	return Path{members}, err
}

// String writes p so that ParsePath reads the same one again.
func (p Path) String() string { return pathText(p.members) }

// First is what stands first at p in doc, which is valid JSON: the value as it is
// written there. It is not ok if there is nothing.
func (p Path) First(doc []byte) (raw []byte, ok bool) {
	ok = found(doc, p.members, func(at []byte) bool { raw = at; return true })
	return raw, ok
}

// Document is a body as a valid document of JSON; nil if it is none. Of an AMQP
// value that is a text or bytes, it is what these say.
func Document(kind engine.BodyKind, body []byte) []byte {
	if kind == engine.ValueBody {
		body = unwrapped(body)
	}
	if kind == engine.SequenceBody || !json.Valid(body) {
		return nil
	}
	return body
}

// Unquoted is what a value of valid JSON says: a text without quotes, anything
// else as it is written.
func Unquoted(raw []byte) string {
	if raw[0] == '"' {
		return unquoted(raw)
	}
	return string(raw)
}

// leafDepth is how many names a path of Leaves has at most.
const leafDepth = 6

// Leaves are the paths, most of them at most, to what in doc, which is valid JSON,
// is neither an object nor in a list, in the order it stands there.
func Leaves(doc []byte, most int) (all []Path) {
	var walk func(doc []byte, path []member)
	walk = func(doc []byte, path []member) {
		if doc = blank(doc); doc[0] != '{' {
			if len(path) > 0 && doc[0] != '[' {
				all = append(all, Path{path})
			}
			return
		}
		if len(path) == leafDepth {
			return
		}
		parts(doc, func(name, value []byte) bool {
			walk(value, append(slices.Clip(path), member{name: unquoted(name)}))
			return len(all) >= most
		})
	}
	walk(doc, nil)
	return all
}
