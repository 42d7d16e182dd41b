package ui

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/draft"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/access"
	"mayfly/web/show"
)

// send sends what was filled in, as often as was asked; shows what that would be,
// or keeps it as a template.
func (d *Door) send(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.form(c, http.StatusOK, at, t)
	}
	now, err := d.b.Now(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	m, seed, written, err := d.readMessage(ctx, t, now)
	if len(t.Errors) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	if err != nil {
		return d.again(c, at, t, err)
	}
	switch {
	case typed.Has(page.SendPreview):
		t.Preview = &show.Preview{Mould: m, Seed: seed}
		return d.form(c, http.StatusOK, at, t)
	case typed.Has(page.SendSave):
		return d.saveTemplate(c, at, t, written)
	case m.Count() > show.MostAtOnce:
		if d.jobs == nil {
			return &show.Refusal{Kind: engine.ErrNotImplemented, Text: locale.T(ctx, "ui.repeat", locale.Args{"Most": locale.Number(ctx, show.MostAtOnce)})}
		}
		is, err := d.jobs.Send(ctx, job.Plan{To: at.Path, Sends: &job.Sends{Draft: written, Seed: seed}, Once: onceWord(typed)}, actor(c))
		if err != nil {
			return d.again(c, at, t, err)
		}
		return d.goTo(c, d.pages.JobURL(is.ID), component.Notice{Title: locale.T(ctx, "ui.sending", locale.Args{"Name": show.Shown(at.Path)})})
	}
	n, again, err := d.sends.Do(ctx, sameForm(at, typed), func() (component.Notice, error) {
		sent, err := d.sendAll(ctx, actor(c), at.Path, m, now, seed)
		if err != nil && sent > 0 {
			return component.Notice{
				Tone: component.Critical, Title: locale.N(ctx, "ui.sent.some", sent, locale.Args{"All": locale.Number(ctx, int(m.Count()))}), Said: told(err),
			}, nil
		}
		return component.Notice{Title: locale.N(ctx, "ui.sent", sent, locale.Args{"Name": show.Shown(at.Path)})}, err
	})
	if err != nil {
		return d.again(c, at, t, err)
	}
	if again {
		n.Detail = strings.TrimSpace(n.Detail + " " + locale.T(ctx, "ui.sent.twice"))
	}
	return d.goTo(c, d.pages.EntityURL(at.Entity, at.Path), n)
}

// sameForm is the same for a form that is sent twice as it was given out and filled
// in: by a double click, or by a page that is loaded again. Whoever goes back to it and
// changes something sends another. It is empty for one without a word.
func sameForm(at show.Place, typed url.Values) string {
	if onceWord(typed) == "" {
		return ""
	}
	all := maps.Clone(typed)
	all.Del(access.FormField)
	sum := sha256.Sum256([]byte(at.String() + "\x00" + all.Encode()))
	return string(sum[:])
}

// readMessage reads a message and makes the first of those that it would be; what
// is wrong goes to t.Errors, or is the broker's error.
func (d *Door) readMessage(ctx context.Context, t show.Typed, now engine.Instant) (m *draft.Mould, seed draft.Seed, written draft.Draft, err error) {
	for _, field := range []string{page.SendMessageID, page.SendSessionID, page.SendReplyToSession, page.SendPartitionKey} {
		if !strings.Contains(t.Values.Get(field), "{{") {
			d.id(ctx, t, field)
		}
	}
	seed, ok := show.ReadSeed(t.Values.Get(page.SendSeed))
	if !ok {
		_, _ = rand.Read(seed[:]) // never fails, by its contract
	}
	written, m = show.ReadDraft(ctx, t, now)
	if m != nil {
		err = show.CheckDraft(ctx, t, m, now, seed, d.b.Limits())
	}
	return m, seed, written, err
}

// id is a field whose length is limited (MSG-5).
func (d *Door) id(ctx context.Context, t show.Typed, field string) string {
	text := t.Values.Get(field)
	if most := d.b.Limits().IDLength; runes(text) > most {
		t.Errors[field] = component.Text{S: locale.N(ctx, "ui.long", int(most))}
	}
	return text
}

// sendAll sends in batches that the broker takes, and says how many it took.
func (d *Door) sendAll(ctx context.Context, who string, to engine.Path, m *draft.Mould, now engine.Instant, seed draft.Seed) (sent int, err error) {
	const batchMost = 100
	half := d.b.Limits().BatchSize / 2 // room for what else counts
	var batch []broker.Outgoing
	size := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if _, err := d.b.Send(ctx, to, batch, who); err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
		sent, batch, size = sent+len(batch), nil, 0
		return nil
	}
	for n := int64(1); n <= m.Count(); n++ {
		content, body, err := m.Message(n, now, seed)
		if err != nil {
			return sent, err //nolint:wrapcheck // it says what it is about
		}
		if len(batch) == batchMost || size+int64(len(body)) > half {
			if err := flush(); err != nil {
				return sent, err
			}
		}
		batch, size = append(batch, broker.Outgoing{Content: content, Body: body}), size+int64(len(body))+256
	}
	return sent, flush()
}

// saveTemplate keeps what was filled in under a name.
func (d *Door) saveTemplate(c echo.Context, at show.Place, t show.Typed, written draft.Draft) error {
	ctx := c.Request().Context()
	name := strings.TrimSpace(t.Values.Get(page.SendTemplateName))
	if _, err := draft.Save(ctx, d.b, name, written, actor(c)); err != nil {
		if text := why(err); text.S != "" && asks(err) {
			t.Errors[page.SendTemplateName] = text
			return d.form(c, http.StatusUnprocessableEntity, at, t)
		}
		return err
	}
	at.Do, at.Query = "send", url.Values{"template": {name}}
	return d.goTo(c, d.pages.URL(at), component.Notice{Title: locale.T(ctx, "templates.kept", locale.Args{"Name": name})})
}

// renameTemplate gives a template another name, which nothing has.
func (d *Door) renameTemplate(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	from, to := typed.Get(page.SendTemplate), strings.TrimSpace(typed.Get(page.SendTemplateName))
	_, err := draft.Rename(ctx, d.b, from, to, actor(c))
	if errors.Is(err, engine.ErrExists) {
		err = &show.Refusal{Kind: engine.ErrExists, Text: locale.T(ctx, "templates.taken", locale.Args{"Name": to})}
	}
	if err != nil && why(err).S != "" && asks(err) {
		at.Do = ""
		return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{Values: typed, Errors: map[string]component.Text{page.SendTemplateName: why(err)}})
	}
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	at.Do, at.Query = "", nil
	return d.goTo(c, d.pages.URL(at), component.Notice{Title: locale.T(ctx, "templates.renamed", locale.Args{"Name": to})})
}

// removeTemplate forgets one, once that was agreed to.
func (d *Door) removeTemplate(c echo.Context, at show.Place, typed url.Values) error {
	name := typed.Get(page.SendTemplate)
	if n, ok := agreedTo(typed); !ok || n != 1 {
		return d.form(c, http.StatusUnprocessableEntity, at, show.Typed{Values: typed})
	}
	if err := draft.Drop(c.Request().Context(), d.b, name, actor(c)); err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	at.Do, at.Query = "", nil
	return d.goTo(c, d.pages.URL(at), says(c, "templates.removed", locale.Args{"Name": name}))
}
