package show

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// mostTargets is how many entities a form offers to forward to.
const mostTargets = 500

// createForm asks for a new queue, topic or subscription.
func (p *Pages) createForm(ctx context.Context, at Place, t Typed) (view.Page, error) {
	kind := at.EntityKind()
	m := page.EntityForm{
		Kind: pageKind(kind), New: true, Href: p.thing(at), To: p.thing(at), Refused: t.Refused,
		Name: cut(t.Values.Get("name"), 400), NameError: t.Errors["name"],
		Temporary: kind == engine.Queue && at.Query.Get("temporary") != "" && p.b.Limits().Without&engine.IdleFeature == 0,
	}
	title := map[engine.EntityKind]string{
		engine.Queue: locale.T(ctx, "form.new.queue"), engine.Topic: locale.T(ctx, "form.new.topic"),
	}[kind]
	var targets []string
	_, err := p.look(ctx, func(r broker.Reader) error {
		if kind == engine.Subscription {
			topic, err := r.State(at.Path)
			if err != nil {
				return err //nolint:wrapcheck // the caller asked for just this
			}
			m.Topic = string(topic.Path)
		}
		targets = forwardTargets(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if kind == engine.Subscription {
		m.TopicHref, m.To = p.EntityURL(engine.Topic, engine.Path(m.Topic)), p.URL(at)
		p.firstRule(ctx, at, t, &m)
		title = locale.T(ctx, "form.new.subscription", locale.Args{"Topic": m.Topic})
	}
	if m.Temporary {
		title, m.To = locale.T(ctx, "temporary.new"), p.URL(Place{Namespace: at.Namespace, Kind: at.Kind}.with("temporary", "1"))
	}
	m.Shell = p.still(ctx, at, title)
	c := p.b.Limits().Complete(kind, engine.Config{})
	if m.Temporary {
		c.AutoDeleteOnIdle = max(p.b.Limits().MinAutoDelete, time.Second)
	}
	m.Fields = p.setters(kind, c, t, targets)
	for i := range m.Fields { // nothing is stored yet, so nothing is fixed or different
		m.Fields[i].Fixed, m.Fields[i].Was = false, ""
	}
	return m, nil
}

// editForm asks for another description of an entity.
func (p *Pages) editForm(ctx context.Context, at Place, t Typed) (view.Page, error) {
	var e entitySight
	var targets []string
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		targets = forwardTargets(r)
		e, err = seeEntity(r, at.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	at.Entity, at.Path = e.Kind, e.Path
	m := page.EntityForm{
		Shell: p.still(ctx, at, locale.T(ctx, "form.edit", locale.Args{"Name": e.Path.Name()})),
		Kind:  pageKind(e.Kind), Name: e.Path.Name(), Href: p.thing(at), To: p.URL(at), Refused: t.Refused,
		Fields: p.setters(e.Kind, e.Config, t, targets),
	}
	try := at
	try.Query = url.Values{page.Try: {"1"}}
	m.Try = p.URL(try)
	if topic, _, ok := e.Path.Subscription(); ok {
		m.Topic, m.TopicHref = topic, p.EntityURL(engine.Topic, engine.Path(topic))
	}
	for _, f := range m.Fields {
		if f.Was != "" {
			m.Changes++
		}
	}
	always := false
	for i, r := range e.Rules {
		if i < rulesOnPage {
			m.Rules = append(m.Rules, p.judged(e.Path, r, s.now))
		}
		always = always || r.Filter.Kind == engine.TrueFilter
	}
	if e.Kind == engine.Subscription && !always {
		add := at
		add.Do, add.Query = "rules/add", nil
		m.AddRule = p.URL(add)
	}
	if t.Values != nil {
		if m.WhatIf, err = p.WhatIf(ctx, e.Path, t.Values); err != nil {
			return nil, err
		}
		if t.Errors["AutoDeleteOnIdle"].S == "" {
			m.IdleIf = p.idleIf(ctx, e.EntityState, s.now, t.Values)
		}
	}
	return m, nil
}

func forwardTargets(r broker.Reader) (names []string) {
	for _, e := range r.States(0) {
		if e.Kind != engine.Subscription && len(names) < mostTargets {
			names = append(names, string(e.Path))
		}
	}
	return names
}

// setters are the properties of an entity as a form asks for them: with what
// was typed, else with what is stored.
func (p *Pages) setters(kind engine.EntityKind, stored engine.Config, t Typed, targets []string) (out []page.Setter) {
	limits := p.b.Limits()
	for _, prop := range engine.Properties(kind) {
		if !limits.Offers(prop) && prop.Text(stored) == prop.Default && t.Errors[prop.Name].S == "" {
			continue // there is nothing to choose
		}
		is := FieldText(prop, stored)
		s := page.Setter{
			Name: prop.Name, Type: setterType(prop.Type), Value: is, Default: FieldText(prop, limits.Defaults),
			Fixed: prop.CreateOnly, Error: t.Errors[prop.Name],
			Options: options(prop, kind, targets),
		}
		s.Least, s.Most = bounds(prop, limits)
		if t.Values != nil && !prop.CreateOnly || t.Values.Has(prop.Name) {
			s.Value = cut(typedText(prop, t.Values), 2000)
		}
		if s.Value != is && !sameProperty(prop, kind, limits, s.Value, stored) {
			if s.Was = is; is == "" {
				s.Was = "—"
			}
		}
		out = append(out, s)
	}
	return out
}

func setterType(t engine.PropertyType) page.SetterType {
	switch t {
	case engine.DurationProperty:
		return page.Duration
	case engine.NumberProperty:
		return page.Number
	case engine.SwitchProperty:
		return page.OnOff
	case engine.ChoiceProperty:
		return page.Choice
	case engine.EntityProperty:
		return page.EntityPath
	default:
		return page.Prose
	}
}

// FieldText is a property's value as a form shows it and Config reads it back:
// durations as people write them.
func FieldText(prop engine.Property, c engine.Config) string {
	text := prop.Text(c)
	if prop.Type != engine.DurationProperty {
		return text
	}
	d, never, err := engine.ParseDuration(text)
	switch {
	case never:
		return "never"
	case err != nil:
		return text
	default:
		return typedLength(d)
	}
}

// typedText is what a form sent for a property: of a switch that is off,
// nothing arrives.
func typedText(prop engine.Property, typed url.Values) string {
	if prop.Type == engine.SwitchProperty && !typed.Has(prop.Name) {
		return "false"
	}
	return typed.Get(prop.Name)
}

// sameProperty tells whether text means what is stored.
func sameProperty(prop engine.Property, kind engine.EntityKind, l engine.Limits, text string, stored engine.Config) bool {
	c := stored
	return prop.Set(&c, l, kind, spaceless(prop, text)) == nil && prop.Text(c) == prop.Text(stored)
}

// ReadConfig reads a form into the description that an entity has; what is
// fixed stays as it is unless the entity is new, and so does what was not
// changed, whatever is allowed now. The errors are by field.
func ReadConfig(kind engine.EntityKind, is engine.Config, create Creation, l engine.Limits, typed url.Values) (engine.Config, map[string]component.Text) {
	c, wrong := is, map[string]component.Text{}
	for _, prop := range engine.Properties(kind) {
		if prop.CreateOnly && !bool(create) {
			continue
		}
		text := typedText(prop, typed)
		if text == FieldText(prop, is) && !bool(create) {
			continue
		}
		if err := prop.Set(&c, l, kind, spaceless(prop, text)); err != nil {
			wrong[prop.Name] = component.Said(err.Error())
		}
	}
	return c, wrong
}

// Creation says whether a description is that of a new entity.
type Creation bool

// spaceless lets people write 1h 30m.
func spaceless(prop engine.Property, text string) string {
	if prop.Type != engine.DurationProperty {
		return text
	}
	return Spaceless(text)
}

func options(prop engine.Property, kind engine.EntityKind, targets []string) []string {
	switch prop.Type {
	case engine.EntityProperty:
		return targets
	case engine.ChoiceProperty:
		return slices.DeleteFunc(slices.Clone(prop.Values), func(v string) bool { // §1.4
			return kind == engine.Topic && v == "ReceiveDisabled" || kind == engine.Subscription && v == "SendDisabled"
		})
	default:
		return nil
	}
}

// bounds are the limits of a property, as shown; empty where there is none.
func bounds(prop engine.Property, l engine.Limits) (least, most string) {
	shown := func(n int64) string {
		switch {
		case n == 0:
			return ""
		case prop.Type == engine.DurationProperty:
			return typedLength(time.Duration(n))
		default:
			return strconv.FormatInt(n, 10)
		}
	}
	from, to := prop.Bounds(l)
	return shown(from), shown(to)
}

// propertyWord is a property's value, to be read.
func propertyWord(ctx context.Context, prop engine.Property, text string) string {
	switch {
	case prop.Type == engine.DurationProperty:
		d, never, err := engine.ParseDuration(text)
		if never {
			return locale.T(ctx, "time.never")
		}
		if err == nil {
			return component.Length(ctx, d)
		}
	case prop.Type == engine.SwitchProperty && text == "true":
		return locale.T(ctx, "setting.on")
	case prop.Type == engine.SwitchProperty:
		return locale.T(ctx, "setting.off")
	case text == "":
		return locale.T(ctx, "setting.none")
	case prop.Name == "MaxMessageSizeInKilobytes" && text == "0":
		return locale.T(ctx, "setting.namespace")
	}
	return text
}

// whatIfScanned is how many messages are looked at to tell what a shorter time
// to live would do, and whatIfSlice how many of them in one turn.
const (
	whatIfScanned = 50_000
	whatIfSlice   = 1000
)

// WhatIf says what the typed default time to live would do to the messages that
// are there (TTL-16). It is zero if that is not shorter than what is stored, or
// if there are too many to look at.
func (p *Pages) WhatIf(ctx context.Context, path engine.Path, typed url.Values) (page.WhatIf, error) {
	d, never, err := engine.ParseDuration(Spaceless(typed.Get("DefaultMessageTimeToLive")))
	if err != nil || never || d <= 0 {
		return page.WhatIf{}, nil //nolint:nilerr // the field says what is wrong with it
	}
	var w page.WhatIf
	for from, scanned := engine.Seq(1), 0; from != 0; scanned += whatIfSlice {
		if scanned >= whatIfScanned {
			return page.WhatIf{}, nil
		}
		_, err := p.look(ctx, func(r broker.Reader) error {
			e, err := r.State(path)
			if err != nil {
				return err //nolint:wrapcheck // the caller asked for just this
			}
			is := e.Config.DefaultMessageTimeToLive
			if e.Kind == engine.Topic || is != 0 && d >= is {
				return errNothing
			}
			w.TTL, w.Fate = component.Length(ctx, d), fate(e.Path, e.Config.DeadLetteringOnMessageExpiration)
			w.Locked, w.Dormant = int(e.Counts.Locked), int(e.Counts.Deferred)
			from, err = count(&w, r, engine.Browse{Path: path, From: from, Limit: whatIfSlice}, d)
			return err
		})
		switch {
		case errors.Is(err, errNothing):
			return page.WhatIf{}, nil
		case err != nil:
			return page.WhatIf{}, err
		}
	}
	return w, nil
}

// idleIf says when an entity would delete itself with the typed time to idle.
// It is zero if that is the one it has, or cannot be read.
func (p *Pages) idleIf(ctx context.Context, e engine.EntityState, now engine.Instant, typed url.Values) page.IdleIf {
	d, never, err := engine.ParseDuration(Spaceless(typed.Get("AutoDeleteOnIdle")))
	if never {
		d = 0
	}
	if err != nil || d == e.Config.AutoDeleteOnIdle {
		return page.IdleIf{}
	}
	if d == 0 {
		return page.IdleIf{Never: true}
	}
	e.Config.AutoDeleteOnIdle, e.Config.ForwardTo, e.Unpinned = d, typed.Get("ForwardTo"), 0
	i := page.IdleIf{Is: component.Length(ctx, d)}
	switch {
	case e.Config.ForwardTo != "": // IDLE-12
		i.Why = locale.T(ctx, "if.idle.forwards")
	case e.Held:
		for _, why := range p.whyHeld(ctx, e) {
			i.Why += why.S
		}
	default: // IDLE-10, IDLE-11, IDLE-15
		i.At, i.Messages, i.Subscriptions = now.Add(d).Time(), int(e.Counts.MessageCount()), e.Subscriptions
	}
	return i
}

// count adds a slice of messages to w, and says where the next begins; zero:
// there is none.
func count(w *page.WhatIf, r broker.Reader, b engine.Browse, ttl time.Duration) (next engine.Seq, err error) {
	rows, err := r.Browse(b)
	if err != nil {
		return 0, err //nolint:wrapcheck // the caller asked for just this
	}
	for _, row := range rows {
		m := row.Message
		switch {
		case m.State != engine.Active || m.LockedUntil != 0:
		case m.ExpiresAt != 0:
			w.Own++
		default:
			w.Of++
			if m.EnqueuedAt.Add(ttl).Passed(r.Now) {
				w.Expire++
			}
		}
	}
	if len(rows) < b.Limit {
		return 0, nil
	}
	return rows[len(rows)-1].Message.Seq + 1, nil
}

var errNothing = errors.New("it changes nothing")
