package send

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
	"mayfly/engine/shorten"
	"mayfly/engine/template"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/send"
	"mayfly/views/view"
	"mayfly/web/dashboard/entity"
	"mayfly/web/dashboard/pages"
)

const (
	// MaxDirectSend is how many messages a form sends directly; more are sent by a job.
	MaxDirectSend = 1000

	previewedMessages  = 3       // messages of a preview
	previewedBodyBytes = 2 << 10 // bytes of the body of each
)

// Form returns the form for a message.
func Form(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	var e entity.Snapshot
	var kept []engine.Setting
	s, err := p.Read(ctx, func(r broker.Reader) (err error) {
		kept = r.Settings(template.SettingPrefix)
		e, err = entity.ReadEntity(r, at.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	at.EntityType, at.Path = e.Kind, e.Path
	name := at.Query.Get("template")
	at.Query = nil
	m := send.Send{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "send.title", locale.Args{"Name": pages.DisplayPath(e.Path)})),
		In:    p.EntityRef(e.Kind, e.Path), To: p.URL(at), FormToken: rand.Text(), Most: template.MaxMessages, AtOnce: MaxDirectSend, Kinds: pages.PropertyTypes(), Sessions: e.RequiresSessions(),
		Manage: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Templates}),
	}
	for _, one := range kept {
		m.Templates = append(m.Templates, strings.TrimPrefix(one.Key, template.SettingPrefix))
		if t.Values == nil && name != "" && one.Key == template.SettingKey(name) {
			k, err := template.FromSetting(one)
			if err != nil {
				t.Refused = component.Notice{Tone: component.Critical, ServerText: pages.ToSentence(err.Error())}
				continue
			}
			m.Template, t.Values = name, DraftValues(k.Draft)
		}
	}
	if t.Values == nil && name != "" && !t.Refused.Visible() {
		t.Refused = component.Notice{Tone: component.Critical, Title: locale.T(ctx, "templates.gone", locale.Args{"Name": shorten.To(name, 80)})}
	}
	m.Values, m.Errors, m.Refused, m.Properties = t.FirstValues(), t.Errors, t.Refused, pages.SubmittedRows(t, send.SendPropertyPrefix)
	if m.Template != "" {
		m.Values[send.SendTemplateName] = m.Template
	}
	m.Limit = sendLimit(e)
	if t.Preview != nil {
		m.Values[send.SendSeed] = hex.EncodeToString(t.Preview.Seed[:])
		m.Preview = previewMessages(ctx, t.Preview, s.Now)
	}
	return m, nil
}

// sendLimit returns how an entity limits the time to live of messages sent to it.
func sendLimit(e entity.Snapshot) (l send.TTLLimit) {
	l.Dead = e.Config.DeadLetteringOnMessageExpiration
	if to := e.Config.ForwardTo; to != "" {
		l.ForwardTo = pages.DisplayPath(engine.Path(to))
		return l
	}
	least := e.Config.DefaultMessageTimeToLive
	if least != 0 {
		l.Most = pages.InputDuration(least)
	}
	for _, sub := range e.Subs {
		ttl := sub.Config.DefaultMessageTimeToLive
		if ttl == 0 || sub.Config.ForwardTo != "" || least != 0 && ttl >= least {
			continue
		}
		least = ttl
		_, l.Shorter, _ = sub.Path.Subscription()
		l.Least = pages.InputDuration(ttl)
	}
	return l
}

// previewMessages returns the first messages of a preview.
func previewMessages(ctx context.Context, v *pages.Preview, now engine.Instant) (all []send.PreviewMessage) {
	for n := int64(1); n <= min(v.Template.Count(), previewedMessages); n++ {
		c, body, err := v.Template.Message(n, now, v.Seed)
		if err != nil {
			break
		}
		sight := send.PreviewMessage{N: int(n), Body: string(body[:min(len(body), previewedBodyBytes)]), More: len(body) - previewedBodyBytes}
		if !utf8.ValidString(sight.Body) {
			sight.Body = strings.ToValidUTF8(sight.Body, "")
		}
		add := func(label, text string) {
			if text != "" {
				sight.Facts = append(sight.Facts, send.PreviewProperty{Label: label, Value: shorten.To(text, 200)})
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

// ParseSeed reads the seed of the preview that a form was submitted from. ok is false if there
// is none.
func ParseSeed(text string) (seed template.Seed, ok bool) {
	raw, err := hex.DecodeString(shorten.To(text, 2*len(seed)))
	return template.Seed(append(raw, make([]byte, len(seed))...)[:len(seed)]), err == nil && len(raw) == len(seed)
}

// Templates returns the page of templates.
func Templates(ctx context.Context, p *pages.Pages, at pages.Address) (view.Page, uint64, error) {
	page, err := TemplatesForm(ctx, p, at, pages.FormState{})
	return page, 0, err
}

// TemplatesForm lists templates with their actions, or asks to confirm the removal of one.
func TemplatesForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	var kept []engine.Setting
	s, err := p.Read(ctx, func(r broker.Reader) error { kept = r.Settings(template.SettingPrefix); return nil })
	if err != nil {
		return nil, err
	}
	asked := cmp.Or(t.Values.Get(send.SendTemplate), at.Query.Get("template"))
	here := pages.Address{Namespace: at.Namespace, Kind: pages.Templates}
	of := func(do string) string { here := here; here.Action = do; return p.URL(here) }
	if at.Action == "remove" {
		for _, one := range kept {
			if one.Key == template.SettingKey(asked) {
				return send.ConfirmRemoveTemplate{Shell: p.StaticShell(ctx, here, locale.T(ctx, "templates.title")), Name: asked, To: of("remove"), All: p.URL(here)}, nil
			}
		}
		return nil, template.ErrNoTemplate
	}
	m := send.Templates{
		Shell: p.StaticShell(ctx, here, locale.T(ctx, "templates.title")), Rename: of("rename"), Remove: of("remove"), Asked: asked,
		Typed: t.Values.Get(send.SendTemplateName), Error: t.Errors[send.SendTemplateName], Queues: p.URL(pages.Address{Namespace: at.Namespace, Kind: pages.Queues}),
	}
	for _, one := range kept {
		row := send.TemplateRow{Name: strings.TrimPrefix(one.Key, template.SettingPrefix), Changed: one.ChangedAt.Time(), Now: s.Now.Time()}
		k, err := template.FromSetting(one)
		if err != nil {
			row.Broken = pages.ToSentence(err.Error())
		}
		row.Subject, row.Repeat, row.Size = k.Draft.Subject, int(k.Draft.Count()), int64(len(k.Draft.Body)+len(k.Draft.Binary))
		m.Rows = append(m.Rows, row)
	}
	return m, nil
}
