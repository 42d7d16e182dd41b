package show

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/draft"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

const (
	// MostAtOnce is how many messages a form sends while somebody waits; more are
	// sent by a job.
	MostAtOnce = 1000
	// MostRows is how many rows a table of a form can be given, such as that of
	// application properties.
	MostRows = 100

	sighted     = 3       // messages of a preview
	sightedBody = 2 << 10 // bytes of the body of each
)

// sendForm asks for a message.
func (p *Pages) sendForm(ctx context.Context, at Place, t Typed) (view.Page, error) {
	var e entitySight
	var kept []engine.Setting
	s, err := p.look(ctx, func(r broker.Reader) (err error) {
		kept = r.Settings(draft.Prefix)
		e, err = seeEntity(r, at.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	at.Entity, at.Path = e.Kind, e.Path
	name := at.Query.Get("template")
	at.Query = nil
	m := page.Send{
		Shell: p.still(ctx, at, locale.T(ctx, "send.title", locale.Args{"Name": Shown(e.Path)})),
		In:    p.placeOf(e.Kind, e.Path), To: p.URL(at), Once: rand.Text(), Most: draft.MostMessages, AtOnce: MostAtOnce, Kinds: kindNames(), Sessions: e.sessionful(),
		Manage: p.URL(Place{Namespace: at.Namespace, Kind: Templates}),
	}
	for _, one := range kept {
		m.Templates = append(m.Templates, strings.TrimPrefix(one.Key, draft.Prefix))
		if t.Values == nil && name != "" && one.Key == draft.Key(name) {
			k, err := draft.Read(one)
			if err != nil {
				t.Refused = component.Notice{Tone: component.Critical, Said: asSentence(err.Error())}
				continue
			}
			m.Template, t.Values = name, WriteDraft(k.Draft)
		}
	}
	if t.Values == nil && name != "" && !t.Refused.Shown() {
		t.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "templates.gone", locale.Args{"Name": cut(name, 80)})}
	}
	m.Values, m.Errors, m.Refused, m.Properties = t.first(), t.Errors, t.Refused, SentEntries(t, page.SendPropertyPrefix)
	if m.Template != "" {
		m.Values[page.SendTemplateName] = m.Template
	}
	m.Limit = sendLimit(e)
	if t.Preview != nil {
		m.Values[page.SendSeed] = hex.EncodeToString(t.Preview.Seed[:])
		m.Sights = sights(ctx, t.Preview, s.now)
	}
	return m, nil
}

// sendLimit is what an entity makes of the time to live of what is sent to it.
func sendLimit(e entitySight) (l page.SendLimit) {
	l.Dead = e.Config.DeadLetteringOnMessageExpiration
	if to := e.Config.ForwardTo; to != "" {
		l.Onward = Shown(engine.Path(to))
		return l
	}
	least := e.Config.DefaultMessageTimeToLive
	if least != 0 {
		l.Most = typedLength(least)
	}
	for _, sub := range e.subs {
		ttl := sub.Config.DefaultMessageTimeToLive
		if ttl == 0 || sub.Config.ForwardTo != "" || least != 0 && ttl >= least {
			continue
		}
		least = ttl
		_, l.Shorter, _ = sub.Path.Subscription()
		l.Least = typedLength(ttl)
	}
	return l
}

// A Preview is what a form would send.
type Preview struct {
	Mould *draft.Mould
	Seed  draft.Seed
}

// sights are the first messages of a preview.
func sights(ctx context.Context, v *Preview, now engine.Instant) (all []page.SendSight) {
	for n := int64(1); n <= min(v.Mould.Count(), sighted); n++ {
		c, body, err := v.Mould.Message(n, now, v.Seed)
		if err != nil {
			break
		}
		sight := page.SendSight{N: int(n), Body: string(body[:min(len(body), sightedBody)]), More: len(body) - sightedBody}
		if !utf8.ValidString(sight.Body) {
			sight.Body = strings.ToValidUTF8(sight.Body, "")
		}
		add := func(label, text string) {
			if text != "" {
				sight.Facts = append(sight.Facts, page.SendFact{Label: label, Value: cut(text, 200)})
			}
		}
		add(locale.T(ctx, "send.subject"), c.Subject)
		if c.TTL != 0 {
			add(locale.T(ctx, "send.ttl"), component.Length(ctx, c.TTL))
		}
		add(locale.T(ctx, "send.id"), c.MessageID)
		add(locale.T(ctx, "send.session"), c.SessionID)
		add(locale.T(ctx, "send.type"), c.ContentType)
		add(locale.T(ctx, "send.correlation"), c.CorrelationID)
		add(locale.T(ctx, "send.partition"), c.PartitionKey)
		add(locale.T(ctx, "send.to"), c.To)
		add(locale.T(ctx, "send.reply"), c.ReplyTo)
		add(locale.T(ctx, "send.reply.session"), c.ReplyToSessionID)
		if c.ScheduledFor != 0 {
			sight.Due = c.ScheduledFor.Time()
		}
		for _, q := range c.Properties {
			add(q.Name, fmt.Sprintf("%s (%s)", q.Value.Text(), q.Value.Kind()))
		}
		all = append(all, sight)
	}
	return all
}

// ReadSeed is the seed of a preview that a form comes from; ok false if it comes
// from none.
func ReadSeed(text string) (seed draft.Seed, ok bool) {
	raw, err := hex.DecodeString(cut(text, 2*len(seed)))
	return draft.Seed(append(raw, make([]byte, len(seed))...)[:len(seed)]), err == nil && len(raw) == len(seed)
}

// templates lists what forms can be filled with.
func (p *Pages) templates(ctx context.Context, at Place) (view.Page, uint64, error) {
	page, err := p.askTemplates(ctx, at, Typed{})
	return page, 0, err
}

// askTemplates lists templates, each with what can be done to it.
func (p *Pages) askTemplates(ctx context.Context, at Place, t Typed) (view.Page, error) {
	var kept []engine.Setting
	s, err := p.look(ctx, func(r broker.Reader) error { kept = r.Settings(draft.Prefix); return nil })
	if err != nil {
		return nil, err
	}
	asked := cmp.Or(t.Values.Get(page.SendTemplate), at.Query.Get("template"))
	here := Place{Namespace: at.Namespace, Kind: Templates}
	of := func(do string) string { here := here; here.Do = do; return p.URL(here) }
	if at.Do == "remove" {
		for _, one := range kept {
			if one.Key == draft.Key(asked) {
				return page.TemplateAsk{Shell: p.still(ctx, here, locale.T(ctx, "templates.title")), Name: asked, To: of("remove"), All: p.URL(here)}, nil
			}
		}
		return nil, draft.ErrNoTemplate
	}
	m := page.Templates{
		Shell: p.still(ctx, here, locale.T(ctx, "templates.title")), Rename: of("rename"), Remove: of("remove"), Asked: asked,
		Typed: t.Values.Get(page.SendTemplateName), Error: t.Errors[page.SendTemplateName], Queues: p.URL(Place{Namespace: at.Namespace, Kind: Queues}),
	}
	for _, one := range kept {
		row := page.TemplateRow{Name: strings.TrimPrefix(one.Key, draft.Prefix), Changed: one.ChangedAt.Time(), Now: s.now.Time()}
		k, err := draft.Read(one)
		if err != nil {
			row.Broken = asSentence(err.Error())
		}
		row.Subject, row.Repeat, row.Size = k.Draft.Subject, int(k.Draft.Count()), int64(len(k.Draft.Body)+len(k.Draft.Binary))
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}
