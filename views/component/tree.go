package component

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// The limits of trees: a larger body is shown as text.
const (
	TreeBytes = 64 << 10
	treeDepth = 64
	treeNodes = 2_000
)

// A Tree is a JSON document for display. Numbers keep their digits and keys their order;
// duplicate keys are all kept.
type Tree struct {
	Key      string // in its object, if Keyed
	Keyed    bool   // it is a member of an object
	Kind     TreeKind
	Text     string // of a scalar, as shown
	Children []Tree
	More     int // children that are not shown because the document is long
}

// A TreeKind is the type of a value.
type TreeKind string

// The kinds of values.
const (
	ObjectValue  TreeKind = "object"
	ArrayValue   TreeKind = "array"
	TextValue    TreeKind = "text"
	NumberValue  TreeKind = "number"
	LiteralValue TreeKind = "literal" // true, false, null
)

// ReadTree parses a body. It returns false if the body is not a JSON object or array, or is
// too large or too deep to be drawn.
func ReadTree(body []byte) (t Tree, ok bool) {
	if len(body) > TreeBytes {
		return Tree{}, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	r := treeReader{d: d, nodesLeft: treeNodes}
	t, ok = r.value(0)
	if !ok || t.Kind != ObjectValue && t.Kind != ArrayValue {
		return Tree{}, false
	}
	if _, err := d.Token(); err != io.EOF {
		return Tree{}, false // more data follows
	}
	return t, true
}

type treeReader struct {
	d         *json.Decoder
	nodesLeft int // number of nodes that may still be added
}

func (r *treeReader) value(depth int) (Tree, bool) {
	tok, err := r.d.Token()
	if err != nil || depth > treeDepth {
		return Tree{}, false
	}
	r.nodesLeft--
	switch v := tok.(type) {
	case json.Delim:
		t := Tree{Kind: ArrayValue}
		if v == '{' {
			t.Kind = ObjectValue
		}
		return t, r.children(&t, depth)
	case string:
		return Tree{Kind: TextValue, Text: quote(v)}, true
	case json.Number:
		return Tree{Kind: NumberValue, Text: v.String()}, true
	case bool:
		if v {
			return Tree{Kind: LiteralValue, Text: "true"}, true
		}
		return Tree{Kind: LiteralValue, Text: "false"}, true
	default:
		return Tree{Kind: LiteralValue, Text: "null"}, true
	}
}

func (r *treeReader) children(t *Tree, depth int) bool {
	for r.d.More() {
		key := ""
		if t.Kind == ObjectValue {
			tok, err := r.d.Token()
			if err != nil {
				return false
			}
			key, _ = tok.(string)
		}
		c, ok := r.value(depth + 1)
		if !ok {
			return false
		}
		if r.nodesLeft < 0 {
			t.More++
			continue
		}
		c.Key, c.Keyed = ShowInvisible(key), t.Kind == ObjectValue
		t.Children = append(t.Children, c)
	}
	_, err := r.d.Token()
	return err == nil
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`) //nolint:gochecknoglobals // in effect a constant

func quote(s string) string { return `"` + ShowInvisible(escapes.Replace(s)) + `"` }

func (t Tree) container() bool { return t.Kind == ObjectValue || t.Kind == ArrayValue }

func (t Tree) size() int { return len(t.Children) + t.More }

// class returns the CSS class of a scalar.
func (t Tree) class() string {
	switch t.Kind {
	case NumberValue:
		return "k"
	case TextValue:
		return "v"
	default:
		return "p"
	}
}

// opens reports whether a level is shown unfolded: the first one, and the second if it is
// short.
func (t Tree) opens(depth int) bool { return depth == 0 || depth == 1 && t.size() <= 12 }
