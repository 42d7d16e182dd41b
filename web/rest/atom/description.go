package atom

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
)

// putEntity creates or updates a queue, topic or subscription.
func (d *Handler) putEntity(c echo.Context, w Request, body *node) error {
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
	config, err := readDescription(nil, kind, desc, l)
	if err != nil {
		return err
	}
	rules, err := firstRules(kind, desc)
	if err != nil {
		return err
	}
	if err := d.authorizeForwards(r, engine.Config{}, config); err != nil {
		return err
	}
	e, err := d.o.Broker.CreateWithRules(r.Context(), kind, w.Path(), config, rules, client(r))
	if err != nil {
		return err
	}
	return d.answerEntity(c, http.StatusCreated, e)
}

// update replaces a description. Two concurrent updates may both start from the same
// description: the later one replaces the other completely, except for properties that
// are fixed at creation.
func (d *Handler) update(c echo.Context, w Request, kind engine.EntityKind, desc *node) error {
	r := c.Request()
	s, err := d.state(r.Context(), w.Path())
	if err != nil {
		return err
	}
	if s.Kind != kind { // NAME-7: no queue, or no topic, of this name exists
		return engine.Refuse(engine.ErrNotFound, "%s", "The messaging entity '"+string(s.Path)+"' could not be found: it is a "+s.Kind.String()+".")
	}
	config, err := readDescription(&s.Config, kind, desc, d.o.Broker.Limits())
	if err != nil {
		return err
	}
	if err := d.authorizeForwards(r, s.Config, config); err != nil {
		return err
	}
	e, err := d.o.Broker.Update(r.Context(), s.Path, config, client(r))
	if err != nil {
		return err
	}
	return d.answerEntity(c, http.StatusOK, e)
}

// ForwardToken and DeadLetterToken are the headers of the tokens for entities to which the
// described entity forwards messages and dead letters.
const (
	ForwardToken    = "ServiceBusSupplementaryAuthorization"
	DeadLetterToken = "ServiceBusDlqSupplementaryAuthorization"
)

// authorizeForwards checks that a request may make an entity forward to a destination that it does
// not forward to yet.
func (d *Handler) authorizeForwards(r *http.Request, was, is engine.Config) error {
	if d.o.Forward == nil {
		return nil
	}
	for _, f := range []struct{ header, was, to string }{
		{ForwardToken, was.ForwardTo, is.ForwardTo},
		{DeadLetterToken, was.ForwardDeadLetteredMessagesTo, is.ForwardDeadLetteredMessagesTo},
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

// answerEntity answers with the entity's state after a change, or with e if the entity has
// already been deleted.
func (d *Handler) answerEntity(c echo.Context, code int, e engine.Entity) error {
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

// kindOf returns the kind of entity that desc describes. It returns an error if the address of w
// cannot have an entity of that kind.
func kindOf(w Request, desc *node) (engine.EntityKind, error) {
	for _, k := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
		if desc.name == descriptionOf(k) && (k == engine.Subscription) == (w.Kind == Subscription) {
			return k, nil
		}
	}
	return 0, engine.Refuse(engine.ErrArgument, "A '%s' cannot be put at this address.", shorten.Quote(desc.name))
}

func descriptionOf(k engine.EntityKind) string {
	return map[engine.EntityKind]string{engine.Queue: "QueueDescription", engine.Topic: "TopicDescription", engine.Subscription: "SubscriptionDescription"}[k]
}

// readDescription parses a description. `was` is the entity's present configuration, or nil for a
// new entity. A property that the description omits gets its default again, unless it is fixed at
// creation.
func readDescription(was *engine.Config, kind engine.EntityKind, desc *node, l engine.Limits) (c engine.Config, err error) {
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
			text = partitionSize(*was, text, l)
		}
		if was != nil && p.Type != engine.EntityProperty && text == p.Text(*was) {
			continue // so that an unset property stays unset
		}
		if err := p.Set(&c, l, kind, text); err != nil {
			return c, err
		}
	}
	if kind != engine.Subscription {
		c.AuthorizationRules, err = readAccess(desc.child(engine.AuthorizationRules), c.AuthorizationRules)
	}
	return c, err
}

const sizeElement = "MaxSizeInMegabytes"

// megabytes returns the MaxSizeInMegabytes that clients see: the total of all partitions.
func megabytes(c engine.Config) int64 {
	if c.EnablePartitioning {
		return c.MaxMegabytes() * engine.Partitions
	}
	return c.MaxMegabytes()
}

// partitionSize converts the MaxSizeInMegabytes in an update to the size of one partition. For a
// partitioned entity, it divides a multiple of the number of partitions by that number if it is the
// entity's present total or more than one partition may have. Otherwise it returns `text`
// unchanged.
func partitionSize(was engine.Config, text string, l engine.Limits) string {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !was.EnablePartitioning || n%engine.Partitions != 0 {
		return text
	}
	if n == megabytes(was) || n > l.MaxMegabytes {
		return strconv.FormatInt(n/engine.Partitions, 10)
	}
	return text
}
