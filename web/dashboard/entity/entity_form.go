package entity

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/entity"
	"mayfly/views/view"
	"mayfly/web/dashboard/lab"
	"mayfly/web/dashboard/pages"
)

// CreateForm returns the form for a new queue, topic or subscription.
func CreateForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	kind := at.EntityKind()
	m := entity.Form{
		Kind: pages.KindOnPage(kind), New: true, Href: p.ObjectURL(at), To: p.ObjectURL(at), Refused: t.Refused,
		Name: shorten.To(t.Values.Get("name"), 400), NameError: t.Errors["name"],
		Temporary: kind == engine.Queue && at.Query.Get("temporary") != "" && p.Broker.Limits().Disabled&engine.IdleFeature == 0,
	}
	title := map[engine.EntityKind]string{
		engine.Queue: locale.T(ctx, "form.new.queue"), engine.Topic: locale.T(ctx, "form.new.topic"),
	}[kind]
	var targets []string
	_, err := p.Read(ctx, func(r broker.Reader) error {
		if kind == engine.Subscription {
			topic, err := r.State(at.Path)
			if err != nil {
				return err
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
		lab.FirstRule(ctx, p, at, t, &m)
		title = locale.T(ctx, "form.new.subscription", locale.Args{"Topic": m.Topic})
	}
	if m.Temporary {
		title, m.To = locale.T(ctx, "temporary.new"), p.URL(pages.Address{Namespace: at.Namespace, Kind: at.Kind}.WithQuery("temporary", "1"))
	}
	if at.Query.Get(entity.QuerySelfForward) != "" {
		again := at
		again.Action = ""
		if m.Temporary {
			again = again.WithQuery("temporary", "1")
		}
		m.To = p.URL(again)
	}
	m.Shell = p.StaticShell(ctx, at, title)
	c := p.Broker.Limits().Complete(kind, engine.Config{})
	if m.Temporary {
		c.AutoDeleteOnIdle = max(p.Broker.Limits().MinAutoDelete, time.Second)
	}
	m.Fields = propertyFields(p, kind, c, t, targets)
	for i := range m.Fields { // nothing is stored yet, so no property is fixed or changed
		m.Fields[i].Fixed, m.Fields[i].Was = false, ""
	}
	return m, nil
}

// EditForm returns the form that edits an entity.
func EditForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	var e Snapshot
	var targets []string
	s, err := p.Read(ctx, func(r broker.Reader) (err error) {
		targets = forwardTargets(r)
		e, err = ReadEntity(r, at.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	at.EntityType, at.Path = e.Kind, e.Path
	m := entity.Form{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "form.edit", locale.Args{"Name": e.Path.Name()})),
		Kind:  pages.KindOnPage(e.Kind), Name: e.Path.Name(), Href: p.ObjectURL(at), To: p.URL(at), Refused: t.Refused,
		Fields: propertyFields(p, e.Kind, e.Config, t, targets),
	}
	try := at
	try.Query = url.Values{entity.QueryPreview: {"1"}}
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
			m.Rules = append(m.Rules, ruleWithError(p, e.Path, r, s.Now))
		}
		always = always || r.Filter.Kind == engine.TrueFilter
	}
	if e.Kind == engine.Subscription && !always {
		add := at
		add.Action, add.Query = "rules/add", nil
		m.AddRule = p.URL(add)
	}
	if t.Values != nil {
		if m.TTLPreview, err = PreviewTTL(ctx, p, e.Path, t.Values); err != nil {
			return nil, err
		}
		if t.Errors["AutoDeleteOnIdle"].S == "" {
			m.IdlePreview = previewIdleTime(ctx, e.EntityState, s.Now, t.Values)
		}
	}
	return m, nil
}

func forwardTargets(r broker.Reader) (names []string) {
	for _, e := range r.States(0) {
		if e.Kind != engine.Subscription && len(names) < pages.MaxForwardTargets {
			names = append(names, string(e.Path))
		}
	}
	return names
}

// propertyFields returns the properties of an entity as form fields: with the typed values, else the
// stored ones.
func propertyFields(p *pages.Pages, kind engine.EntityKind, stored engine.Config, t pages.FormState, targets []string) (out []entity.PropertyField) {
	limits, to := p.Broker.Limits(), stored.ForwardTo
	if t.Values != nil {
		to = t.Values.Get("ForwardTo")
	}
	for _, prop := range engine.Properties(kind) {
		if !limits.Offers(prop) && prop.Text(stored) == prop.Default && t.Errors[prop.Name].S == "" {
			continue // no choice to offer
		}
		is := PropertyText(prop, stored)
		s := entity.PropertyField{
			Name: prop.Name, Type: propertyFieldType(prop.Type), Value: is, Default: PropertyText(prop, limits.Defaults),
			Fixed: prop.CreateOnly, Error: t.Errors[prop.Name],
			Options: options(prop, kind, targets), NoEffect: hasNoEffect(prop, to),
		}
		s.Least, s.Most = bounds(prop, limits)
		if t.Values != nil && !prop.CreateOnly || t.Values.Has(prop.Name) {
			s.Value = shorten.To(submittedText(prop, t.Values), 2000)
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

func propertyFieldType(t engine.PropertyType) entity.PropertyFieldType {
	switch t {
	case engine.DurationProperty:
		return entity.DurationField
	case engine.NumberProperty:
		return entity.NumberField
	case engine.SwitchProperty:
		return entity.SwitchField
	case engine.ChoiceProperty:
		return entity.ChoiceField
	case engine.EntityProperty:
		return entity.EntityField
	default:
		return entity.TextField
	}
}

// PropertyText returns a property's value as a form shows it, with durations as users write them.
// ParseConfig reads it back.
func PropertyText(prop engine.Property, c engine.Config) string {
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
		return pages.InputDuration(d)
	}
}

// submittedText returns what a form sent for a property. A checkbox that is off sends nothing.
func submittedText(prop engine.Property, typed url.Values) string {
	if prop.Type == engine.SwitchProperty && !typed.Has(prop.Name) {
		return "false"
	}
	return typed.Get(prop.Name)
}

// sameProperty reports whether text means the stored value.
func sameProperty(prop engine.Property, kind engine.EntityKind, l engine.Limits, text string, stored engine.Config) bool {
	c := stored
	return prop.Set(&c, l, kind, trimPropertySpaces(prop, text)) == nil && prop.Text(c) == prop.Text(stored)
}

// ParseConfig reads a form into an entity's configuration. Create-only properties change only for
// a new entity, and unchanged values stay even if they are no longer allowed. The map has the
// errors by field.
func ParseConfig(kind engine.EntityKind, is engine.Config, create Creation, l engine.Limits, typed url.Values) (engine.Config, map[string]component.Text) {
	c, wrong := is, map[string]component.Text{}
	for _, prop := range engine.Properties(kind) {
		if prop.CreateOnly && !bool(create) {
			continue
		}
		text := submittedText(prop, typed)
		if text == PropertyText(prop, is) && !bool(create) {
			continue
		}
		if err := prop.Set(&c, l, kind, trimPropertySpaces(prop, text)); err != nil {
			wrong[prop.Name] = component.ServerText(err.Error())
		}
	}
	return c, wrong
}

// Creation is true for the configuration of a new entity.
type Creation bool

// trimPropertySpaces allows durations such as 1h 30m.
func trimPropertySpaces(prop engine.Property, text string) string {
	if prop.Type != engine.DurationProperty {
		return text
	}
	return pages.RemoveSpaces(text)
}

func options(prop engine.Property, kind engine.EntityKind, targets []string) []string {
	switch prop.Type {
	case engine.EntityProperty:
		return targets
	case engine.ChoiceProperty:
		return slices.DeleteFunc(slices.Clone(prop.Values), func(v string) bool { // semantics §1.4
			return kind == engine.Topic && v == "ReceiveDisabled" || kind == engine.Subscription && v == "SendDisabled"
		})
	default:
		return nil
	}
}

// bounds returns the limits of a property for display. A limit is "" if there is none.
func bounds(prop engine.Property, l engine.Limits) (least, most string) {
	shown := func(n int64) string {
		switch {
		case n == 0:
			return ""
		case prop.Type == engine.DurationProperty:
			return pages.InputDuration(time.Duration(n))
		default:
			return strconv.FormatInt(n, 10)
		}
	}
	from, to := prop.Bounds(l)
	return shown(from), shown(to)
}

// displayValue returns a property's value for display.
func displayValue(ctx context.Context, prop engine.Property, text string) string {
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

// ttlPreviewScanned is how many messages are examined to predict the effect of a shorter time to
// live, and ttlPreviewBatch how many of them in one turn of the broker.
const (
	ttlPreviewScanned = 50_000
	ttlPreviewBatch   = 1000
)

// PreviewTTL predicts the effect of the typed default time to live on the stored messages
// (TTL-16). It returns zero if that is not shorter than the stored one, or if there are too
// many messages to examine.
func PreviewTTL(ctx context.Context, p *pages.Pages, path engine.Path, typed url.Values) (entity.TTLPreview, error) {
	d, never, err := engine.ParseDuration(pages.RemoveSpaces(typed.Get("DefaultMessageTimeToLive")))
	if err != nil || never || d <= 0 {
		return entity.TTLPreview{}, nil //nolint:nilerr // the field shows the error
	}
	var w entity.TTLPreview
	for from, scanned := engine.Seq(1), 0; from != 0; scanned += ttlPreviewBatch {
		if scanned >= ttlPreviewScanned {
			return entity.TTLPreview{}, nil
		}
		_, err := p.Read(ctx, func(r broker.Reader) error {
			e, err := r.State(path)
			if err != nil {
				return err
			}
			is := e.Config.DefaultMessageTimeToLive
			if e.Kind == engine.Topic || is != 0 && d >= is {
				return errNoChange
			}
			w.TTL, w.Fate = component.Length(ctx, d), pages.Fate(e.Path, e.Config.DeadLetteringOnMessageExpiration)
			w.Locked, w.Deferred = int(e.Counts.Locked), int(e.Counts.Deferred)
			from, err = countExpiring(&w, r, engine.Browse{Path: path, From: from, Limit: ttlPreviewBatch}, d)
			return err
		})
		switch {
		case errors.Is(err, errNoChange):
			return entity.TTLPreview{}, nil
		case err != nil:
			return entity.TTLPreview{}, err
		}
	}
	return w, nil
}

// previewIdleTime predicts when an entity would be deleted with the typed AutoDeleteOnIdle. It returns
// zero if that is the stored one or cannot be read.
func previewIdleTime(ctx context.Context, e engine.EntityState, now engine.Instant, typed url.Values) entity.IdlePreview {
	d, never, err := engine.ParseDuration(pages.RemoveSpaces(typed.Get("AutoDeleteOnIdle")))
	if never {
		d = 0
	}
	if err != nil || d == e.Config.AutoDeleteOnIdle {
		return entity.IdlePreview{}
	}
	if d == 0 {
		return entity.IdlePreview{Never: true}
	}
	e.Config.AutoDeleteOnIdle, e.Config.ForwardTo, e.UnpinnedIdle = d, typed.Get("ForwardTo"), 0
	i := entity.IdlePreview{Is: component.Length(ctx, d)}
	switch {
	case e.Config.ForwardTo != "": // IDLE-12
		i.Why = locale.T(ctx, "if.idle.forwards")
	case e.KeptAlive:
		for _, why := range idleReasons(ctx, e) {
			i.Why += why.S
		}
	default: // IDLE-10, IDLE-11, IDLE-15
		i.At, i.Messages, i.Subscriptions = now.Add(d).Time(), int(e.Counts.MessageCount()), e.Subscriptions
	}
	return i
}

// countExpiring adds the messages of one Browse to w, and returns the sequence number of the next
// Browse, or zero at the end.
func countExpiring(w *entity.TTLPreview, r broker.Reader, b engine.Browse, ttl time.Duration) (next engine.Seq, err error) {
	rows, err := r.Browse(b)
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		m := row.Message
		switch {
		case m.State != engine.Active || m.LockedUntil != 0:
		case m.ExpiresAt != 0:
			w.OwnTTL++
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

var errNoChange = errors.New("it changes nothing")
