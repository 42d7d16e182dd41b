package dashboard

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
	"mayfly/engine/job"
	"mayfly/engine/template"
	"mayfly/views/component"
	"mayfly/views/locale"
	sendpage "mayfly/views/page/send"
	"mayfly/web/auth/origin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/send"
)

// send sends the message in the form as often as requested, previews it, or saves it as a
// template.
func (d *Handler) send(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed, Errors: map[string]component.Text{}}
	if addRows(typed) {
		return d.writeForm(c, http.StatusOK, at, t)
	}
	now, err := d.b.Now(ctx)
	if err != nil {
		return err
	}
	m, seed, written, err := d.parseMessageForm(ctx, t, now)
	if len(t.Errors) > 0 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	switch {
	case typed.Has(sendpage.SendPreview):
		t.Preview = &pages.Preview{Template: m, Seed: seed}
		return d.writeForm(c, http.StatusOK, at, t)
	case typed.Has(sendpage.SendSave):
		return d.saveTemplate(c, at, t, written)
	case m.Count() > send.MaxDirectSend:
		if d.jobs == nil {
			return &pages.LocalizedError{Err: engine.ErrNotImplemented, Text: locale.T(ctx, "ui.repeat", locale.Args{"Most": locale.Number(ctx, send.MaxDirectSend)})}
		}
		is, err := d.jobs.Send(ctx, job.Plan{To: at.Path, SendSpec: &job.SendSpec{Draft: written, Seed: seed}, IdempotencyKey: formToken(typed)}, actor(c))
		if err != nil {
			return d.writeFormError(c, at, t, err)
		}
		return d.redirectWithNotice(c, d.pages.JobURL(is.ID), component.Notice{Title: locale.T(ctx, "ui.sending", locale.Args{"Name": pages.DisplayPath(at.Path)})})
	}
	n, again, err := d.sentForms.Do(ctx, formIdempotencyKey(at, typed), func() (component.Notice, error) {
		sent, err := d.sendAll(ctx, actor(c), at.Path, m, now, seed)
		if err != nil && sent > 0 {
			return component.Notice{
				Tone: component.Critical, Title: locale.N(ctx, "ui.sent.some", sent, locale.Args{"All": locale.Number(ctx, int(m.Count()))}), ServerText: errorText(err),
			}, nil
		}
		return component.Notice{Title: locale.N(ctx, "ui.sent", sent, locale.Args{"Name": pages.DisplayPath(at.Path)})}, err
	})
	if err != nil {
		return d.writeFormError(c, at, t, err)
	}
	if again {
		n.Detail = strings.TrimSpace(n.Detail + " " + locale.T(ctx, "ui.sent.twice"))
	}
	return d.redirectWithNotice(c, d.pages.EntityURL(at.EntityType, at.Path), n)
}

// formIdempotencyKey returns a key that is equal for a form that is sent twice with the same values: by
// a double click, or by a page that is loaded again. If the user goes back and changes a
// value, the key differs. It is empty for a form without a random word.
func formIdempotencyKey(at pages.Address, typed url.Values) string {
	if formToken(typed) == "" {
		return ""
	}
	all := maps.Clone(typed)
	all.Del(origin.FormField)
	sum := sha256.Sum256([]byte(at.String() + "\x00" + all.Encode()))
	return string(sum[:])
}

// parseMessageForm reads a message template and its seed and checks the first message of it. Errors
// of fields go to t.Errors; err is the broker's error.
func (d *Handler) parseMessageForm(ctx context.Context, t pages.FormState, now engine.Instant) (m *template.CompiledDraft, seed template.Seed, written template.Draft, err error) {
	for _, field := range []string{sendpage.SendMessageID, sendpage.SendSessionID, sendpage.SendReplyToSession, sendpage.SendPartitionKey} {
		if !strings.Contains(t.Values.Get(field), "{{") {
			d.parseID(ctx, t, field)
		}
	}
	seed, ok := send.ParseSeed(t.Values.Get(sendpage.SendSeed))
	if !ok {
		_, _ = rand.Read(seed[:]) // never fails, by its contract
	}
	written, m = send.ParseDraft(ctx, t, now)
	if m != nil {
		err = send.CheckDraft(ctx, t, m, now, seed, d.b.Limits())
	}
	return m, seed, written, err
}

// parseID returns the value of an id field. If it is too long, t.Errors gets the error (MSG-5).
func (d *Handler) parseID(ctx context.Context, t pages.FormState, field string) string {
	text := t.Values.Get(field)
	if most := d.b.Limits().IDLength; runes(text) > most {
		t.Errors[field] = component.Text{S: locale.N(ctx, "ui.long", int(most))}
	}
	return text
}

// sendAll sends the messages of the draft `m` in batches within the broker's limits. It returns
// how many messages the broker has accepted, even if there is an error.
func (d *Handler) sendAll(ctx context.Context, who string, to engine.Path, m *template.CompiledDraft, now engine.Instant, seed template.Seed) (sent int, err error) {
	const batchMost = 100
	half := d.b.Limits().BatchSize / 2 // room for headers and properties
	var batch []broker.Outgoing
	size := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if _, err := d.b.Send(ctx, to, batch, who); err != nil {
			return err
		}
		sent, batch, size = sent+len(batch), nil, 0
		return nil
	}
	for n := int64(1); n <= m.Count(); n++ {
		content, body, err := m.Message(n, now, seed)
		if err != nil {
			return sent, err
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

// saveTemplate saves the form as a template.
func (d *Handler) saveTemplate(c echo.Context, at pages.Address, t pages.FormState, written template.Draft) error {
	ctx := c.Request().Context()
	name := strings.TrimSpace(t.Values.Get(sendpage.SendTemplateName))
	if _, err := template.Save(ctx, d.b, name, written, actor(c)); err != nil {
		if text := errorMessage(err); text.S != "" && isFormError(err) {
			t.Errors[sendpage.SendTemplateName] = text
			return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
		}
		return err
	}
	at.Action, at.Query = "send", url.Values{"template": {name}}
	return d.redirectWithNotice(c, d.pages.URL(at), component.Notice{Title: locale.T(ctx, "templates.kept", locale.Args{"Name": name})})
}

// renameTemplate renames a template. The new name must be unused.
func (d *Handler) renameTemplate(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	from, to := typed.Get(sendpage.SendTemplate), strings.TrimSpace(typed.Get(sendpage.SendTemplateName))
	_, err := template.Rename(ctx, d.b, from, to, actor(c))
	if errors.Is(err, engine.ErrExists) {
		err = &pages.LocalizedError{Err: engine.ErrExists, Text: locale.T(ctx, "templates.taken", locale.Args{"Name": to})}
	}
	if err != nil && errorMessage(err).S != "" && isFormError(err) {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{Values: typed, Errors: map[string]component.Text{sendpage.SendTemplateName: errorMessage(err)}})
	}
	if err != nil {
		return err
	}
	at.Action, at.Query = "", nil
	return d.redirectWithNotice(c, d.pages.URL(at), component.Notice{Title: locale.T(ctx, "templates.renamed", locale.Args{"Name": to})})
}

// removeTemplate deletes a template, once the user has confirmed it.
func (d *Handler) removeTemplate(c echo.Context, at pages.Address, typed url.Values) error {
	name := typed.Get(sendpage.SendTemplate)
	if n, ok := confirmedCount(typed); !ok || n != 1 {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, pages.FormState{Values: typed})
	}
	if err := template.Delete(c.Request().Context(), d.b, name, actor(c)); err != nil {
		return err
	}
	at.Action, at.Query = "", nil
	return d.redirectWithNotice(c, d.pages.URL(at), textNotice(c, "templates.removed", locale.Args{"Name": name}))
}
