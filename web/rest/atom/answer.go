package atom

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/proxy"
	"mayfly/web/rest/fault"
)

// The XML namespaces of responses.
const (
	atomNamespace       = "http://www.w3.org/2005/Atom"
	serviceBusNamespace = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
	countsNamespace     = "http://schemas.microsoft.com/netservices/2011/06/servicebus"
)

// An answer is the response to one request.
type answer struct {
	c         echo.Context
	limits    engine.Limits
	namespace string
	root      string // scheme and host of the entities' URLs
	types     dialect
	version   string // api-version as in the request, with "?"; empty if it has none
}

func (d *Handler) answer(c echo.Context) *answer {
	r := c.Request()
	a := &answer{c: c, limits: d.o.Broker.Limits(), namespace: d.o.Broker.Name(), root: "http://" + r.Host, types: dialectOf(r)}
	if proxy.Secure(r) {
		a.root = "https://" + r.Host
	}
	if v := r.URL.Query().Get("api-version"); v != "" {
		a.version = "?api-version=" + url.QueryEscape(v)
	}
	return a
}

// An item is the content of an entry: a description and its metadata.
type item struct {
	address            string // the path of the entity
	title              string
	published, updated time.Time
	content            *element
}

// An element is an XML element. Its attributes are written unchanged, and its children
// after its text.
type element struct {
	name, attributes, text string
	children               []*element
}

// append appends children and returns e.
func (e *element) append(children ...*element) *element {
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

// attribute formats an attribute. Its text comes from an address or is a constant.
func attribute(name, text string) string {
	return name + `="` + strings.ReplaceAll(fault.Escape(text), `"`, "&quot;") + `"`
}

func link(rel, href string) *element {
	return &element{name: "link", attributes: attribute("rel", rel) + " " + attribute("href", href)}
}

// address returns the absolute URL of a path, with the request's api-version.
func (a *answer) address(path string) string {
	return a.root + (&url.URL{Path: path}).EscapedPath() + a.version
}

// inRequestCase returns the path of an entity with the segments Subscriptions and Rules in the case
// of the request's path, because azure-servicebus 0.50.3 for Python searches an id for the words
// that it has sent. Names keep their stored case.
func (a *answer) inRequestCase(path string) string {
	parts, asked := strings.Split(path, "/"), strings.Split("/"+strings.Trim(a.c.Request().URL.Path, "/"), "/")
	for i := 2; i < min(len(parts), len(asked)); i++ { // after the entity's first segment
		if (parts[i] == "Subscriptions" || parts[i] == "Rules") && strings.EqualFold(parts[i], asked[i]) {
			parts[i] = asked[i]
		}
	}
	return strings.Join(parts, "/")
}

// entryOf returns an entry, for a feed or as a document of its own.
func (a *answer) entryOf(i item, attributes string) *element {
	at := a.address(a.inRequestCase(i.address))
	e := (&element{name: "entry", attributes: attributes}).append(
		plain("id", at),
		&element{name: "title", attributes: `type="text"`, text: i.title},
		plain("published", moment(i.published)),
		plain("updated", moment(i.updated)),
		plain("author", "").append(plain("name", a.namespace)),
		link("self", at),
		(&element{name: "content", attributes: `type="application/xml"`}).append(i.content),
	)
	return e
}

// description returns an empty description.
func description(name string) *element {
	return &element{name: name, attributes: `xmlns="` + serviceBusNamespace + `" xmlns:i="` + schemaInstance + `"`}
}

// entry answers with one entry.
func (a *answer) entry(code int, i item) error {
	return a.send(code, "entry", a.entryOf(i, attribute("xmlns", atomNamespace)))
}

// feed answers with a page of a list. If another page follows, the feed's second link is the URL of
// that page.
func (a *answer) feed(title string, p page, items []item) error {
	self := a.address(a.c.Request().URL.Path)
	f := (&element{name: "feed", attributes: attribute("xmlns", atomNamespace)}).append(
		&element{name: "title", attributes: `type="text"`, text: title},
		plain("id", self),
		plain("updated", moment(time.Now())),
		link("self", a.root+a.c.Request().URL.RequestURI()),
	)
	if p.more {
		f.append(link("next", p.next(self)))
	}
	for _, i := range items {
		f.append(a.entryOf(i, ""))
	}
	return a.send(http.StatusOK, "feed", f)
}

func (a *answer) send(code int, kind string, e *element) error {
	var b strings.Builder
	e.write(&b)
	return a.c.Blob(code, "application/atom+xml;type="+kind+";charset=utf-8", []byte(b.String()))
}

func number[T ~int | ~int64 | ~int32](n T) string { return strconv.FormatInt(int64(n), 10) }
