package atom

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strings"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/web/auth/origin"
)

// Limits of a body: bytes, depth of nested elements, and number of elements. The largest
// bodies in practice are rules with some dozens of conditions.
const (
	maxBytes    = 512 << 10
	maxDepth    = 24
	maxElements = 16 << 10
	treeFactor  = 16 // bytes of memory for each byte of a parsed body
)

// XML namespaces of attributes.
const (
	schemaInstance = "http://www.w3.org/2001/XMLSchema-instance"
	schema         = "http://www.w3.org/2001/XMLSchema"
	serialization  = "http://schemas.microsoft.com/2003/10/Serialization/"
	system         = "http://schemas.datacontract.org/2004/07/System" // .NET's
)

// A node is a parsed element.
type node struct {
	namespace, name string
	text            string // without the text of its children
	attrs           []xml.Attr
	children        []*node
	parent          *node
}

// readBody reads a request's body. It reserves memory only for bytes that have arrived, so clients
// that announce large bodies and send little do not block others.
func readBody(r *http.Request) ([]byte, error) {
	raw, err := origin.ShareOf(r.Context()).ReadAll(r.Context(), r.Body, maxBytes)
	if err != nil {
		return nil, err
	}
	if len(raw) > maxBytes {
		return nil, engine.Refuse(engine.ErrArgument, "The body of this request has at most %d bytes.", maxBytes)
	}
	return raw, nil
}

// parse parses a document. It accepts no entities but XML's predefined ones, so a document cannot
// expand beyond its size.
func parse(raw []byte) (*node, error) {
	d := xml.NewDecoder(bytes.NewReader(raw))
	var root, at *node
	var texts [][]byte // of the open elements
	elements := 0
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			text := err.Error() // which may quote the whole body
			return nil, engine.Refuse(engine.ErrArgument, "The body is not XML: %s.", strings.ToValidUTF8(text[:min(len(text), 200)], ""))
		}
		switch t := t.(type) {
		case xml.Directive:
			return nil, engine.Refuse(engine.ErrArgument, "The body must not declare a document type.")
		case xml.StartElement:
			if texts = append(texts, nil); len(texts) > maxDepth {
				return nil, engine.Refuse(engine.ErrArgument, "The elements of the body are nested more than %d deep.", maxDepth)
			}
			if elements += 1 + len(t.Attr); elements > maxElements {
				return nil, engine.Refuse(engine.ErrArgument, "The body has more than %d elements and attributes.", maxElements)
			}
			n := &node{namespace: t.Name.Space, name: t.Name.Local, attrs: t.Attr, parent: at}
			switch {
			case at != nil:
				at.children = append(at.children, n)
			case root != nil:
				return nil, engine.Refuse(engine.ErrArgument, "The body has more than one element at its root.")
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
		return nil, engine.Refuse(engine.ErrArgument, "The request needs a body: an Atom entry with a description.")
	}
	return root, nil
}

// isOurs reports whether n's namespace may be that of a description: Service Bus' own,
// Atom's, none, or an undeclared one.
func (n *node) isOurs() bool {
	return strings.HasPrefix(n.namespace, "http://schemas.microsoft.com/") || n.namespace == atomNamespace || !strings.ContainsAny(n.namespace, ":/")
}

// isNamed reports whether n has this name, in a namespace that isOurs accepts.
func (n *node) isNamed(name string) bool { return n.name == name && n.isOurs() }

// child returns the child with this name, or nil if there is none or if its attribute i:nil is
// true.
func (n *node) child(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.isNamed(name) {
			if c.attribute("nil") == "true" {
				return nil
			}
			return c
		}
	}
	return nil
}

// value returns the text of a child, or the empty string if there is none.
func (n *node) value(name string) string {
	if c := n.child(name); c != nil {
		return c.text
	}
	return ""
}

// all returns the children with this name.
func (n *node) all(name string) (found []*node) {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.isNamed(name) {
			found = append(found, c)
		}
	}
	return found
}

// unique returns an error if n has two children with the same name.
func (n *node) unique() error {
	seen := map[string]bool{}
	for _, c := range n.children {
		if c.isOurs() && seen[c.name] {
			return engine.Refuse(engine.ErrArgument, "The element '%s' occurs twice in '%s'.", shorten.Quote(c.name), shorten.Quote(n.name))
		}
		seen[c.name] = c.isOurs() || seen[c.name]
	}
	return nil
}

// attribute returns an attribute of XML Schema's namespace. It accepts any prefix, even an
// undeclared one, because clients send parts of other documents back.
func (n *node) attribute(name string) string {
	for _, a := range n.attrs {
		if a.Name.Local == name && (a.Name.Space == schemaInstance || a.Name.Space != "xmlns" && a.Name.Space != "" && !strings.ContainsAny(a.Name.Space, ":/")) {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
}

// typed returns n's type and the namespace of the type, which is empty if the prefix is
// undeclared or missing.
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

// described returns the description of an entry: the first element in its content.
func (n *node) described() (*node, error) {
	d := n
	if n.name == "entry" {
		content := n.child("content")
		if content == nil || len(content.children) == 0 {
			return nil, engine.Refuse(engine.ErrArgument, "The entry has no content with a description.")
		}
		d = content.children[0]
	}
	if !d.isOurs() || !strings.HasSuffix(d.name, "Description") {
		return nil, engine.Refuse(engine.ErrArgument, "The content of the entry is '%s', which is not a description.", shorten.Quote(d.name))
	}
	return d, d.unique()
}
