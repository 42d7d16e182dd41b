package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/jsonc"

	"mayfly/engine/value/measure"
)

// A node is a JSON value. Unlike a map, it keeps the order of members and duplicate names.
type node struct {
	kind    kind
	text    string // the value of a text, number or boolean
	members []member
	items   []*node
}

type member struct {
	name  string
	value *node
}

type kind uint8

const (
	null kind = iota
	boolean
	number
	text
	list
	object
)

func (k kind) String() string {
	return [...]string{"null", "a boolean", "a number", "a text", "a list", "an object"}[k]
}

// maxDepth bounds the nesting of values; the format needs twelve levels. maxValues bounds their
// number; even a file of the maximum size has fewer, unless its names have one letter.
const (
	maxDepth  = 32
	maxValues = 192 << 10
)

// parse parses JSON with // and /* */ comments and trailing commas. It skips a byte order mark,
// which editors on Windows write.
func parse(b []byte) (*node, error) {
	// ToJSON replaces comments by spaces, so offsets stay valid.
	plain := jsonc.ToJSON(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")))
	if len(bytes.TrimSpace(plain)) == 0 {
		return nil, newProblem("", "The file is empty.")
	}
	if _, err := measure.CountValues(plain, measure.Bounds{Values: maxValues}); err != nil {
		return nil, newProblem("", "The file cannot be read: %v.", err)
	}
	var whole json.RawMessage
	if err := json.Unmarshal(plain, &whole); err != nil {
		return nil, jsonError(plain, err)
	}
	d := json.NewDecoder(bytes.NewReader(plain))
	d.UseNumber()
	n, err := build(d, 0)
	if err != nil {
		return nil, newProblem(lineColumn(plain, d.InputOffset()), "This is not JSON: %v.", err)
	}
	return n, nil
}

func jsonError(b []byte, err error) error {
	at := int64(len(b))
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		at = s.Offset - 1 // Offset includes the offending byte
	}
	return newProblem(lineColumn(b, at), "This is not JSON: %v.", err)
}

// lineColumn returns the line and column of an offset, counted from 1; columns are in bytes.
func lineColumn(b []byte, at int64) string {
	head := b[:max(0, min(at, int64(len(b))))]
	return fmt.Sprintf("line %d, column %d", bytes.Count(head, []byte{'\n'})+1, len(head)-bytes.LastIndexByte(head, '\n'))
}

func build(d *json.Decoder, depth int) (*node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("values are nested more than %d deep", maxDepth)
	}
	t, err := d.Token()
	if err != nil {
		return nil, fmt.Errorf("read a value: %w", err)
	}
	switch t := t.(type) {
	case nil:
		return &node{kind: null}, nil
	case bool:
		return &node{kind: boolean, text: fmt.Sprint(t)}, nil
	case json.Number:
		return &node{kind: number, text: t.String()}, nil
	case string:
		return &node{kind: text, text: t}, nil
	case json.Delim:
		if t == '[' {
			return buildList(d, depth)
		}
		return buildObject(d, depth)
	default:
		return nil, fmt.Errorf("unexpected %v: %w", t, io.ErrUnexpectedEOF)
	}
}

func buildList(d *json.Decoder, depth int) (*node, error) {
	n := &node{kind: list}
	for d.More() {
		item, err := build(d, depth+1)
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, item)
	}
	_, err := d.Token()
	return n, err
}

func buildObject(d *json.Decoder, depth int) (*node, error) {
	n := &node{kind: object}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read a name: %w", err)
		}
		v, err := build(d, depth+1)
		if err != nil {
			return nil, err
		}
		n.members = append(n.members, member{fmt.Sprint(t), v})
	}
	_, err := d.Token()
	return n, err
}

// memberPath returns the path of the member called `name` of the object at path `at`.
func memberPath(at, name string) string {
	if name == "" || len(name) > 64 || strings.Trim(name, letters) != "" {
		if len(name) > 64 {
			name = strings.ToValidUTF8(name[:64], "") + "…"
		}
		return fmt.Sprintf("%s[%q]", at, name)
	}
	if at == "" {
		return name
	}
	return at + "." + name
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_$-"
