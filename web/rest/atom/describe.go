package atom

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/rest/fault"
)

// putEntity creates or updates a queue, topic or subscription.
func (d *Door) putEntity(c echo.Context, w Wish, body *node) error {
	desc, err := body.described()
	if err != nil {
		return err
	}
	kind, err := kindOf(w, desc)
	if err != nil {
		return err
	}
	r, l := c.Request(), d.o.Broker.Limits()
	if w.Action == Update {
		return d.update(c, w, kind, desc)
	}
	config, err := read(nil, kind, desc, l)
	if err != nil {
		return err
	}
	rules, err := firstRules(kind, desc)
	if err != nil {
		return err
	}
	if err := d.forwards(r, engine.Config{}, config); err != nil {
		return err
	}
	e, err := d.o.Broker.CreateWithRules(r.Context(), kind, w.Path(), config, rules, client(r))
	if err != nil {
		return err
	}
	return d.told(c, http.StatusCreated, e)
}

// update replaces a description. Two at once may both have seen the same one
// before: the later one wins whole, but for what is fixed at creation.
func (d *Door) update(c echo.Context, w Wish, kind engine.EntityKind, desc *node) error {
	r := c.Request()
	s, err := d.state(r.Context(), w.Path())
	if err != nil {
		return err
	}
	if s.Kind != kind { // NAME-7: there is no such queue, or no such topic
		return &engine.Refusal{Kind: engine.ErrNotFound, SubCode: 40400, Text: "The messaging entity '" + string(s.Path) + "' could not be found: it is a " + s.Kind.String() + "."}
	}
	config, err := read(&s.Config, kind, desc, d.o.Broker.Limits())
	if err != nil {
		return err
	}
	if err := d.forwards(r, s.Config, config); err != nil {
		return err
	}
	e, err := d.o.Broker.Update(r.Context(), s.Path, config, client(r))
	if err != nil {
		return err
	}
	return d.told(c, http.StatusOK, e)
}

// forwards asks whether a request may have an entity send on to where it has not
// done so before.
func (d *Door) forwards(r *http.Request, was, is engine.Config) error {
	if d.o.Forward == nil {
		return nil
	}
	for _, f := range []struct{ header, was, to string }{
		{"ServiceBusSupplementaryAuthorization", was.ForwardTo, is.ForwardTo},
		{"ServiceBusDlqSupplementaryAuthorization", was.ForwardDeadLetteredMessagesTo, is.ForwardDeadLetteredMessagesTo},
	} {
		if f.to == "" || strings.EqualFold(f.was, f.to) {
			continue
		}
		if err := d.o.Forward(r, f.header, engine.Path(f.to)); err != nil {
			return err
		}
	}
	return nil
}

// told answers with an entity as it is after a change; if it went at once, as it
// was made.
func (d *Door) told(c echo.Context, code int, e engine.Entity) error {
	s := engine.EntityState{Entity: e}
	if err := d.o.Broker.Read(c.Request().Context(), func(r broker.Reader) error {
		if now, err := r.State(e.Path); err == nil && now.ID == e.ID {
			s = now
		}
		return nil
	}); err != nil {
		return err
	}
	a := d.answer(c)
	return a.entry(code, a.entity(s))
}

// kindOf is what a description describes.
func kindOf(w Wish, desc *node) (engine.EntityKind, error) {
	for _, k := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		if desc.name == descriptionOf(k) && (k == engine.Subscription) == (w.Kind == Subscription) {
			return k, nil
		}
	}
	return 0, argument("A '%s' cannot be put at this address.", fault.Cut(desc.name))
}

func descriptionOf(k engine.EntityKind) string {
	return map[engine.EntityKind]string{engine.Queue: "QueueDescription", engine.Topic: "TopicDescription", engine.Subscription: "SubscriptionDescription"}[k]
}

// read reads a description; was is that of the entity so far, nil for a new one.
func read(was *engine.Config, kind engine.EntityKind, desc *node, l engine.Limits) (c engine.Config, err error) {
	if was != nil {
		c = *was
	}
	c.ForwardToAddress, c.ForwardDeadLetteredMessagesToAddress = "", ""
	for _, p := range engine.Properties(kind) {
		n := desc.child(p.Name)
		if n == nil && p.CreateOnly {
			continue
		}
		text := ""
		if n != nil {
			text = strings.TrimSpace(n.text)
		}
		if p.Name == sizeElement && was != nil {
			text = ofPartition(*was, text, l)
		}
		if was != nil && p.Type != engine.EntityProperty && text == p.Text(*was) {
			continue // left to its default, it stays so
		}
		if err := p.Set(&c, l, kind, text); err != nil {
			return c, err //nolint:wrapcheck // it is said as the engine says it
		}
	}
	if kind != engine.Subscription {
		c.AuthorizationRules, err = readAccess(desc.child(engine.AuthorizationRules), c.AuthorizationRules)
	}
	return c, err
}

const sizeElement = "MaxSizeInMegabytes"

// told is the MaxSizeInMegabytes that a client is told: of all partitions.
func megabytes(c engine.Config) int64 {
	if c.EnablePartitioning {
		return c.Megabytes() * engine.Partitions
	}
	return c.Megabytes()
}

// ofPartition takes what a client was told back: of a partitioned entity the size
// of all its partitions, as soon as it is larger than one may be.
func ofPartition(was engine.Config, text string, l engine.Limits) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !was.EnablePartitioning || n%engine.Partitions != 0 {
		return text
	}
	if n == megabytes(was) || n > l.MaxMegabytes {
		return strconv.FormatInt(n/engine.Partitions, 10)
	}
	return text
}
