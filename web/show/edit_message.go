package show

import (
	"cmp"
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/template"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/amqp/codec"
)

// MaxEditableBody is how many bytes of a body a form can edit; a larger body stays unchanged.
const MaxEditableBody = 128 << 10

// editMessageForm returns the form that edits a stored message before it is sent again.
func (p *Pages) editMessageForm(ctx context.Context, at Address, t FormState) (view.Page, error) {
	var s messageSnapshot
	_, err := p.read(ctx, func(r broker.Reader) (err error) {
		s, err = readMessage(r, at.Key)
		return err
	})
	if err != nil {
		return nil, err
	}
	kept, text, err := p.editableBody(ctx, s)
	if err != nil {
		return nil, err
	}
	props, odd := EditableProperties(s.Row, s.content)
	if t.Values == nil {
		d := DraftOf(s.content, props)
		d.Body = text
		t.Values = DraftValues(d)
		t.Values.Set(page.SendTarget, string(destination(s.Row)))
	}
	back := t.Cancel
	if list := p.listAt(at.Query.Get("back")); back == "" && list.Kind != "" {
		back = p.URL(list)
	}
	at.Query = nil
	name := "#" + strconv.FormatInt(int64(s.Message.Seq), 10)
	m := page.Send{
		Shell: p.staticShell(ctx, at, locale.T(ctx, "edit.title", locale.Args{"Name": name})), In: p.entityRef(s.entity.Kind, s.Path), To: p.URL(at), Kinds: propertyTypes(),
		Sessions: s.entity.requiresSessions(), Values: t.firstValues(), Errors: t.Errors, Refused: t.Refused, Properties: SubmittedRows(t, page.SendPropertyPrefix),
		Edit: page.EditedMessage{Name: name, Href: p.MessageURL(at.Key), Back: back, Cancel: cmp.Or(back, p.MessageURL(at.Key)), Kept: kept, UnsupportedProperties: len(odd)},
	}
	return m, nil
}

// editURL returns the edit form of an unlocked dead letter, which returns to the list at a
// place, or "" for any other message.
func (p *Pages) editURL(r engine.Row, list Address) string {
	if !r.Path.IsDeadLetter() || r.Message.Locked() {
		return ""
	}
	form := Address{Namespace: p.b.Name(), Kind: Message, Key: r.Message.Key, Action: "edit", Query: url.Values{"back": {p.URL(list)}}}
	if len(form.String()) > maxAddressBytes {
		form.Query = nil
	}
	return p.URL(form)
}

// editableBody returns the body as text for a form, or the reason why it cannot be edited.
func (p *Pages) editableBody(ctx context.Context, s messageSnapshot) (kept, text string, err error) {
	size := locale.Args{"Size": component.Bytes(ctx, s.content.BodySize)}
	switch {
	case s.content.BodyKind != engine.DataBody:
		return locale.T(ctx, "edit.kept.amqp", size), "", nil
	case s.content.BodySize > MaxEditableBody:
		return locale.T(ctx, "edit.kept.large", size), "", nil
	}
	in, err := p.b.Body(ctx, s.Message.Content, s.content.BodySize)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = in.Close() }()
	raw, err := io.ReadAll(in)
	if err != nil {
		return "", "", err
	}
	if text = string(raw); !utf8.ValidString(text) || strings.ContainsAny(text, "\r\x00") {
		return locale.T(ctx, "edit.kept.binary", size), "", nil
	}
	return "", text, nil
}

// EditableProperties returns the application properties of a message without its dead-letter reason and
// description: those that a form can edit, and the rest.
func EditableProperties(row engine.Row, c engine.Content) (props, odd value.Properties) {
	for _, q := range row.Message.OwnProperties(c) {
		if isSingleLine(q.Name) && isSingleLine(q.Value.Text()) && q.Name != "" {
			props = append(props, q)
		} else {
			odd = append(odd, q)
		}
	}
	return props, odd
}

// DraftOf returns a message without its body as a draft.
func DraftOf(c engine.Content, props value.Properties) template.Draft {
	d := template.Draft{
		MessageID: c.MessageID, PartitionKey: c.PartitionKey, CorrelationID: c.CorrelationID, Subject: c.Subject, To: c.To, ReplyTo: c.ReplyTo,
		ReplyToSessionID: c.ReplyToSessionID, ContentType: c.ContentType,
	}
	if c.HasSessionID() {
		d.SessionID = &c.SessionID
	}
	if c.TTL > 0 {
		d.TimeToLive = engine.FormatDuration(c.TTL)
	}
	for _, q := range props {
		d.Properties = append(d.Properties, template.Property{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return d
}

// EditMessage replaces the parts of a stored message that a form can edit. The rest stays:
// AMQP-only sections, and properties with several lines. A nil body keeps the stored one.
func EditMessage(c engine.Content, row engine.Row, typed engine.Content, body []byte) (engine.Content, error) {
	_, odd := EditableProperties(row, c)
	typed.Properties = append(typed.Properties, odd...)
	return MergeEdited(c, typed, body)
}

// MergeEdited returns a stored message as edited, with its AMQP-only sections. A nil body keeps the
// stored one.
func MergeEdited(c, typed engine.Content, body []byte) (engine.Content, error) {
	typed.ViaPartitionKey, typed.Wire, typed.BodyKind = c.ViaPartitionKey, c.Wire, c.BodyKind
	if !typed.HasSessionID() {
		typed.EmptySessionID = c.EmptySessionID
	}
	if body != nil {
		typed.BodyKind = engine.DataBody
	}
	err := codec.ValidateStored(&typed, body)
	return typed, err
}
