package atom

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
)

// maxEntries is the maximum number of entries on a page, and the default.
const maxEntries = 100

// A page is a part of a list.
type page struct {
	skip, top int
	more      bool // another page follows
}

// list answers with a page of a list.
func (d *Handler) list(c echo.Context, w Request) error {
	p, err := parsePage(c.Request())
	if err != nil {
		return err
	}
	a := d.answer(c)
	if w.Kind == Rule {
		return d.listRules(c, w, p, a)
	}
	kind := map[Kind]engine.EntityKind{Queues: engine.Queue, Topics: engine.Topic, Subscription: engine.Subscription}[w.Kind]
	var states []engine.EntityState
	if err := d.o.Broker.Read(c.Request().Context(), func(r broker.Reader) (err error) {
		states, err = r.EntityPage(kind, w.Path(), p.skip, p.top+1)
		return err
	}); err != nil {
		return err
	}
	if p.more = p.top > 0 && len(states) > p.top; len(states) > p.top {
		states = states[:p.top]
	}
	items := make([]item, len(states))
	for i, s := range states {
		items[i] = a.entity(s)
	}
	return a.feed(map[Kind]string{Queues: "Queues", Topics: "Topics", Subscription: "Subscriptions"}[w.Kind], p, items)
}

func (d *Handler) listRules(c echo.Context, w Request, p page, a *answer) error {
	s, err := d.state(c.Request().Context(), w.Path())
	if err != nil {
		return err
	}
	rules := s.Rules[min(p.skip, len(s.Rules)):]
	p.more = p.top > 0 && len(rules) > p.top
	items := []item{}
	for _, r := range rules[:min(p.top, len(rules))] {
		items = append(items, a.rule(s.Path, r))
	}
	return a.feed("Rules", p, items)
}

// parsePage parses $skip and $top, whose names may be in any case.
func parsePage(r *http.Request) (page, error) {
	p := page{top: maxEntries}
	for key, values := range r.URL.Query() {
		at := map[string]*int{"$skip": &p.skip, "$top": &p.top}[strings.ToLower(key)]
		if at == nil {
			continue
		}
		n, err := strconv.ParseInt(values[0], 10, 32)
		if err != nil || n < 0 {
			return p, engine.Refuse(engine.ErrArgument, "The value for '%s' must be a whole number from 0, not '%s'.", shorten.Quote(key), shorten.Quote(values[0]))
		}
		*at = int(n)
	}
	p.top = min(p.top, maxEntries)
	return p, nil
}

// next returns the URL of the page after p. `list` is the list's URL, without $skip and $top.
func (p page) next(list string) string {
	sep := "?"
	if u, err := url.Parse(list); err == nil && u.RawQuery != "" {
		sep = "&"
	}
	return list + sep + "$skip=" + number(p.skip+p.top) + "&$top=" + number(p.top)
}
