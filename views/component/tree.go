package component

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
)

// The limits of trees: beyond them a body is shown as it is.
const (
	TreeBytes = 64 << 10
	treeDepth = 64
	treeNodes = 2_000
)

// A Tree is a JSON document to be looked at. Numbers keep the digits they came
// with, keys their order, and none is lost when it is there twice.
type Tree struct {
	Key      string // in its object
	Keyed    bool   // it is a member of an object
	Kind     TreeKind
	Text     string // of a scalar, as shown
	Children []Tree
	More     int // children that are not shown, because the document is long
}

// A TreeKind is what a value is.
type TreeKind string

// The kinds there are.
const (
	Object  TreeKind = "object"
	Array   TreeKind = "array"
	Words   TreeKind = "text"
	Figure  TreeKind = "number"
	Literal TreeKind = "literal" // true, false, null
)

// ReadTree reads a body. Not ok means that it is no JSON object or array, or
// too large or too deep to be drawn.
func ReadTree(body []byte) (t Tree, ok bool) {
	if len(body) > TreeBytes {
		return Tree{}, false
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	r := treeReader{d: d, left: treeNodes}
	t, ok = r.value(0)
	if !ok || t.Kind != Object && t.Kind != Array {
		return Tree{}, false
	}
	if _, err := d.Token(); err != io.EOF {
		return Tree{}, false // something follows
	}
	return t, true
}

type treeReader struct {
	d    *json.Decoder
	left int // nodes that may still be kept
}

func (r *treeReader) value(depth int) (Tree, bool) {
	tok, err := r.d.Token()
	if err != nil || depth > treeDepth {
		return Tree{}, false
	}
	r.left--
	switch v := tok.(type) {
	case json.Delim:
		t := Tree{Kind: Array}
		if v == '{' {
			t.Kind = Object
		}
		return t, r.children(&t, depth)
	case string:
		return Tree{Kind: Words, Text: quote(v)}, true
	case json.Number:
		return Tree{Kind: Figure, Text: v.String()}, true
	case bool:
		if v {
			return Tree{Kind: Literal, Text: "true"}, true
		}
		return Tree{Kind: Literal, Text: "false"}, true
	default:
		return Tree{Kind: Literal, Text: "null"}, true
	}
}

func (r *treeReader) children(t *Tree, depth int) bool {
	for r.d.More() {
		key := ""
		if t.Kind == Object {
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
		if r.left < 0 {
			t.More++
			continue
		}
		c.Key, c.Keyed = Visible(key), t.Kind == Object
		t.Children = append(t.Children, c)
	}
	_, err := r.d.Token()
	return err == nil
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\r", `\r`) //nolint:gochecknoglobals // a constant, which a replacer cannot be

func quote(s string) string { return `"` + Visible(escapes.Replace(s)) + `"` }

func (t Tree) container() bool { return t.Kind == Object || t.Kind == Array }

func (t Tree) size() int { return len(t.Children) + t.More }

// class is the colour of a scalar.
func (t Tree) class() string {
	switch t.Kind {
	case Figure:
		return "k"
	case Words:
		return "v"
	default:
		return "p"
	}
}

// opens says whether a level is shown unfolded: the first two, unless long.
func (t Tree) opens(depth int) bool { return depth == 0 || depth == 1 && t.size() <= 12 }
