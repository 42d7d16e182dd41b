package atom

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"

	"mayfly/web/rest/fault"
)

// How large a body may be in bytes, how deep its elements may stand in one
// another, and how many there may be. The largest that a client has a use for is a
// rule with some dozens of conditions.
const (
	mostBytes    = 512 << 10
	mostDepth    = 24
	mostElements = 16 << 10
	treeFactor   = 16 // bytes of memory for one of the body, when it was read
)

// The namespaces that attributes are told apart by.
const (
	schemaInstance = "http://www.w3.org/2001/XMLSchema-instance"
	schema         = "http://www.w3.org/2001/XMLSchema"
	serialization  = "http://schemas.microsoft.com/2003/10/Serialization/"
)

// A node is an element that was read.
type node struct {
	space, name string
	text        string // of its own, not of its children
	attrs       []xml.Attr
	children    []*node
	parent      *node
}

// readBody reads a request's body.
func readBody(r *http.Request) (*node, error) {
	raw, err := io.ReadAll(io.LimitReader(r.Body, mostBytes+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // the door knows what the server says of bodies
	}
	if len(raw) > mostBytes {
		return nil, argument("The body of this request has at most %d bytes.", mostBytes)
	}
	return parse(raw)
}

// parse reads a document. There are no entities but those of XML itself, so that
// it takes no more memory than its size allows.
func parse(raw []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(raw))
	var root, at *node
	var texts [][]byte // of the elements that are open
	elements := 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			text := err.Error() // which may name what is as long as the body
			return nil, argument("The body is no XML: %s.", strings.ToValidUTF8(text[:min(len(text), 200)], ""))
		}
		switch t := t.(type) {
		case xml.Directive:
			return nil, argument("The body must not declare a document type.")
		case xml.StartElement:
			if texts = append(texts, nil); len(texts) > mostDepth {
				return nil, argument("The elements of the body stand more than %d deep in one another.", mostDepth)
			}
			if elements++; elements > mostElements {
				return nil, argument("The body has more than %d elements.", mostElements)
			}
			n := &node{space: t.Name.Space, name: t.Name.Local, attrs: t.Attr, parent: at}
			switch {
			case at != nil:
				at.children = append(at.children, n)
			case root != nil:
				return nil, argument("The body has more than one element at its root.")
			default:
				root = n
			}
			at = n
		case xml.EndElement:
			last := len(texts) - 1
			at.text, texts = string(texts[last]), texts[:last]
			at = at.parent
		case xml.CharData:
			if last := len(texts) - 1; last >= 0 {
				texts[last] = append(texts[last], t...)
			}
		}
	}
	if root == nil {
		return nil, argument("The request needs a body: an Atom entry with a description.")
	}
	return root, nil
}

// ours tells whether n is in a namespace that descriptions may be in: Service
// Bus' own, Atom's, none, or one that was never declared.
func (n *node) ours() bool {
	return strings.HasPrefix(n.space, "http://schemas.microsoft.com/") || n.space == atomSpace || !strings.ContainsAny(n.space, ":/")
}

// is tells whether n is called name.
func (n *node) is(name string) bool { return n.name == name && n.ours() }

// child is the element of n with this name, nil if there is none or if it says
// of itself that it is nil.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.is(name) {
			if c.attribute("nil") == "true" {
				return nil
			}
			return c
		}
	}
	return nil
}

// value is the text of the child called name; empty if there is none.
func (n *node) value(name string) string {
	if c := n.child(name); c != nil {
		return c.text
	}
	return ""
}

// all are the children called name.
func (n *node) all(name string) (found []*node) {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.is(name) {
			found = append(found, c)
		}
	}
	return found
}

// unique refuses what is said twice.
func (n *node) unique() error {
	seen := map[string]bool{}
	for _, c := range n.children {
		if c.ours() && seen[c.name] {
			return argument("The element '%s' is given twice in '%s'.", fault.Cut(c.name), fault.Cut(n.name))
		}
		seen[c.name] = c.ours() || seen[c.name]
	}
	return nil
}

// attribute is one of XML Schema: its prefix may be any, or not be declared at
// all, for clients send parts of other documents back.
func (n *node) attribute(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name && (a.Name.Space == schemaInstance || a.Name.Space != "xmlns" && a.Name.Space != "" && !strings.ContainsAny(a.Name.Space, ":/")) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// typed is the type that n says it has, and its namespace: empty where the prefix
// was not declared, or where there is none.
func (n *node) typed() (space, name string) {
	prefix, name, ok := strings.Cut(n.attribute("type"), ":")
	if !ok {
		return "", prefix
	}
	for at := n; at != nil; at = at.parent {
		for _, a := range at.attrs {
			if a.Name.Space == "xmlns" && a.Name.Local == prefix {
				return a.Value, name
			}
		}
	}
	return "", name
}

// described finds the description of an entry: the first element within its
// content.
func (n *node) described() (*node, error) {
	d := n
	if n.name == "entry" {
		content := n.child("content")
		if content == nil || len(content.children) == 0 {
			return nil, argument("The entry has no content with a description in it.")
		}
		d = content.children[0]
	}
	if !d.ours() || !strings.HasSuffix(d.name, "Description") {
		return nil, argument("The content of the entry is '%s', which is no description.", fault.Cut(d.name))
	}
	return d, d.unique()
}
