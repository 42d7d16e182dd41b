package atom

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/rest/fault"
)

// The namespaces of what is answered.
const (
	atomSpace  = "http://www.w3.org/2005/Atom"
	busSpace   = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
	countSpace = "http://schemas.microsoft.com/netservices/2011/06/servicebus"
)

// An answer is written for one request.
type answer struct {
	c         echo.Context
	limits    engine.Limits
	namespace string
	root      string // of the addresses of entities: scheme and host
	version   string // api-version as it was asked for, "?" and all; empty: it was not
}

func (d *Door) answer(c echo.Context) *answer {
	r := c.Request()
	a := &answer{c: c, limits: d.o.Broker.Limits(), namespace: d.o.Broker.Name(), root: "http://" + r.Host}
	if r.TLS != nil {
		a.root = "https://" + r.Host
	}
	if v := r.URL.Query().Get("api-version"); v != "" {
		a.version = "?api-version=" + url.QueryEscape(v)
	}
	return a
}

// An item is what an entry tells: a description with what stands around it.
type item struct {
	address            string // the path of the entity's own address
	title              string
	published, updated time.Time
	content            *element
}

// An element is written with its attributes as they are, and its children after
// its text.
type element struct {
	name, attributes, text string
	children               []*element
}

// with appends a child and is e.
func (e *element) with(children ...*element) *element {
	e.children = append(e.children, children...)
	return e
}

func plain(name, text string) *element { return &element{name: name, text: text} }

func (e *element) write(b *strings.Builder) {
	b.WriteString("<" + e.name)
	if e.attributes != "" {
		b.WriteString(" " + e.attributes)
	}
	if e.text == "" && len(e.children) == 0 {
		b.WriteString("/>")
		return
	}
	b.WriteString(">" + fault.Escape(e.text))
	for _, c := range e.children {
		c.write(b)
	}
	b.WriteString("</" + e.name + ">")
}

// attribute writes one; what is in it came from an address or is ours.
func attribute(name, text string) string {
	return name + `="` + strings.ReplaceAll(fault.Escape(text), `"`, "&quot;") + `"`
}

func link(rel, href string) *element {
	return &element{name: "link", attributes: attribute("rel", rel) + " " + attribute("href", href)}
}

// address is the absolute address of a path, with the version that was asked for.
func (a *answer) address(path string) string {
	return a.root + (&url.URL{Path: path}).EscapedPath() + a.version
}

// entryOf is an entry, as it stands alone or in a feed.
func (a *answer) entryOf(i item, attributes string) *element {
	at := a.address(i.address)
	e := (&element{name: "entry", attributes: attributes}).with(
		plain("id", at),
		&element{name: "title", attributes: `type="text"`, text: i.title},
		plain("published", moment(i.published)),
		plain("updated", moment(i.updated)),
		plain("author", "").with(plain("name", a.namespace)),
		link("self", at),
		(&element{name: "content", attributes: `type="application/xml"`}).with(i.content),
	)
	return e
}

// description is an empty one.
func description(name string) *element {
	return &element{name: name, attributes: `xmlns="` + busSpace + `" xmlns:i="` + schemaInstance + `"`}
}

// entry answers with one thing.
func (a *answer) entry(code int, i item) error {
	return a.send(code, "entry", a.entryOf(i, attribute("xmlns", atomSpace)))
}

// feed answers with a page of things. The next one, if there is one, has the
// second link of its feed: a client would not take a single one for a list.
func (a *answer) feed(title string, p page, items []item) error {
	self := a.address(a.c.Request().URL.Path)
	f := (&element{name: "feed", attributes: attribute("xmlns", atomSpace)}).with(
		&element{name: "title", attributes: `type="text"`, text: title},
		plain("id", self),
		plain("updated", moment(time.Now())),
		link("self", a.root+a.c.Request().URL.RequestURI()),
	)
	if p.more {
		f.with(link("next", p.next(self)))
	}
	for _, i := range items {
		f.with(a.entryOf(i, ""))
	}
	return a.send(http.StatusOK, "feed", f)
}

func (a *answer) send(code int, kind string, e *element) error {
	var b strings.Builder
	e.write(&b)
	return a.c.Blob(code, "application/atom+xml;type="+kind+";charset=utf-8", []byte(b.String())) //nolint:wrapcheck // it says whose it is
}

func number[T ~int | ~int64 | ~int32](n T) string { return strconv.FormatInt(int64(n), 10) }
