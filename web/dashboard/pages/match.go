package pages

import (
	"math"
	"net/url"
	"strconv"
	"strings"

	"mayfly/engine"
)

// The variables of addresses.
const (
	varNamespace = iota + 1
	varQueue
	varTopic
	varSub
	varMessage
	varDeleted
	varConnection
	varJob
	varAlert
	varUndo
	varServerNamespace
	varScene
	varPlay
	varVerb
	varToken
	varPresentation
	varDoc
)

// variables are the names of the variables in our patterns and in Echo's.
var variables = [...]struct{ name, echo string }{
	varNamespace: {"{ns}", "ns"}, varQueue: {"{queue}", "queue"}, varTopic: {"{topic}", "topic"}, varSub: {"{sub}", "sub"},
	varMessage: {"{message}", "key"}, varDeleted: {"{deleted}", "id"}, varConnection: {"{connection}", "id"},
	varJob: {"{job}", "id"}, varAlert: {"{alert}", "id"}, varUndo: {"{undo}", "word"},
	varServerNamespace: {"{namespace}", "name"}, varScene: {"{scene}", "scene"}, varPlay: {"{play}", "play"}, varVerb: {"{verb}", "verb"},
	varToken: {"{token}", "id"}, varPresentation: {"{presentation}", "id"}, varDoc: {"{doc}", "page"},
}

// variable returns the variable whose name is part, or zero if there is none.
func variable(part string) int {
	for i, v := range variables {
		if v.name != "" && v.name == part {
			return i
		}
	}
	return 0
}

// maxID bounds the ids in addresses that are not numbers, in bytes.
const maxID = 64

// setVariable parses a part of an address as the variable `v`. Unless `limits` is nil, it checks
// names as the engine does. It returns false for an invalid part.
func (p *Address) setVariable(v int, part string, limits *engine.Limits) (ok bool) {
	switch v {
	case varNamespace:
		p.Namespace = part
		return true
	case varQueue:
		p.Path = engine.Path(part)
		p.EntityType = engine.Queue
		return limits == nil || engine.CheckName(p.EntityType, part, *limits) == nil
	case varTopic:
		p.Path = engine.Path(part)
		p.EntityType = engine.Topic
		return limits == nil || engine.CheckName(p.EntityType, part, *limits) == nil
	case varSub:
		p.Path = engine.SubscriptionPath(string(p.Path), part)
		p.EntityType = engine.Subscription
		return limits == nil || engine.CheckName(p.EntityType, part, *limits) == nil
	case varMessage:
		n, ok := ParseNumber(part)
		p.Key = engine.Key(n)
		return ok
	case varDeleted:
		epoch, n, _ := strings.Cut(part, "-")
		if p.Epoch, ok = ParseNumber(epoch); !ok {
			return false
		}
		p.ID, ok = ParseNumber(n)
		return ok
	case varJob, varAlert:
		p.ID, ok = ParseNumber(part)
		return ok && p.ID <= math.MaxInt64
	case varVerb:
		p.Verb = part
		return len(part) <= maxID
	default:
		p.StringID = part
		return len(part) <= maxID
	}
}

// appendVariable appends the part of an address that a variable stands for.
func (p Address) appendVariable(b []byte, v int) []byte {
	switch v {
	case varNamespace:
		return append(b, url.PathEscape(p.Namespace)...)
	case varQueue:
		return append(b, url.PathEscape(p.Path.Name())...)
	case varTopic, varSub:
		topic, sub, ok := p.Path.Subscription()
		if !ok {
			topic = p.Path.Name()
		}
		if v == varSub {
			topic = sub
		}
		return append(b, url.PathEscape(topic)...)
	case varMessage:
		return strconv.AppendUint(b, uint64(p.Key), 10)
	case varDeleted:
		return append(b, DeletedEntityID(p.Epoch, p.ID)...)
	case varJob, varAlert:
		return strconv.AppendUint(b, p.ID, 10)
	case varVerb:
		return append(b, url.PathEscape(p.Verb)...)
	default:
		return append(b, url.PathEscape(p.StringID)...)
	}
}

// A node is a part of an address in the tree of patterns.
type node struct {
	literal  map[string]*node
	variable int    // variable for parts that are not literal; zero means none
	below    *node  // the node below the variable
	route    *Route // route whose pattern ends here; nil if there is none
}

// add adds a route. It panics if another one has the same pattern.
func (n *node) add(pattern string, r *Route) {
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		n = n.child(part)
	}
	if n.route != nil {
		panic("two routes for " + pattern)
	}
	n.route = r
}

func (n *node) child(part string) *node {
	if v := variable(part); v != 0 {
		if n.below == nil {
			n.variable, n.below = v, new(node)
		}
		if n.variable != v {
			panic("two variables in the same place: " + variables[n.variable].name + " and " + part)
		}
		return n.below
	}
	next := n.literal[part]
	if next == nil {
		if n.literal == nil {
			n.literal = map[string]*node{}
		}
		next = new(node)
		n.literal[part] = next
	}
	return next
}

// find returns the route of the rest of an escaped path, and sets the variables of at. Literal
// parts take precedence, as in Echo. An empty method stands for any. If there is no route, at is
// undefined.
func (n *node) find(rest, method string, at *Address, limits *engine.Limits) *Route {
	part, rest, more := strings.Cut(rest, "/")
	if strings.Contains(part, "%") {
		var err error
		if part, err = url.PathUnescape(part); err != nil {
			return nil
		}
	}
	if next := n.literal[part]; next != nil {
		if r := next.findBelow(rest, more, method, at, limits); r != nil {
			return r
		}
	}
	if part == "" || n.below == nil || !at.setVariable(n.variable, part, limits) {
		return nil
	}
	return n.below.findBelow(rest, more, method, at, limits)
}

func (n *node) findBelow(rest string, more bool, method string, at *Address, limits *engine.Limits) *Route {
	if more {
		return n.find(rest, method, at, limits)
	}
	if n.route == nil || method != "" && !n.route.Has(method) {
		return nil
	}
	return n.route
}

// match returns the address and the route of an escaped path, without base path and query.
func (t *Table) match(method, path string, limits *engine.Limits) (at Address, r *Route) {
	path, ok := strings.CutPrefix(path, "/")
	if !ok {
		return at, nil
	}
	if r = t.tree.find(path, method, &at, limits); r == nil {
		return Address{}, nil
	}
	at.Kind, at.Action = r.Kind, r.Action
	return at, r
}

// Match returns the route of a link, without the base path. It ignores the query and the fragment
// of the link. It does not check names. Nil means that the link leads to no page of the
// dashboard.
func (t *Table) Match(method, href string) *Route {
	href, _, _ = strings.Cut(href, "#")
	href, _, _ = strings.Cut(href, "?")
	_, r := t.match(method, href, nil)
	return r
}
