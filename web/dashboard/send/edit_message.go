package send

import (
	"cmp"
	"context"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/template"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/send"
	"mayfly/views/view"
	"mayfly/web/amqp/codec"
	"mayfly/web/dashboard/message"
	"mayfly/web/dashboard/pages"
)

// MaxEditableBody is how many bytes of a body a form can edit; a larger body stays unchanged.
const MaxEditableBody = 128 << 10

// EditMessageForm returns the form that edits a stored message before it is sent again.
func EditMessageForm(ctx context.Context, p *pages.Pages, at pages.Address, t pages.FormState) (view.Page, error) {
	var s message.Snapshot
	_, err := p.Read(ctx, func(r broker.Reader) (err error) {
		s, err = message.ReadMessage(r, at.Key)
		return err
	})
	if err != nil {
		return nil, err
	}
	kept, text, err := editableBody(ctx, p, s)
	if err != nil {
		return nil, err
	}
	props, odd := EditableProperties(s.Row, s.Unpacked)
	if t.Values == nil {
		d := DraftOf(s.Unpacked, props)
		d.Body = text
		t.Values = DraftValues(d)
		t.Values.Set(send.SendTarget, string(pages.Destination(s.Row)))
	}
	back := t.Cancel
	if list := p.ListAt(at.Query.Get("back")); back == "" && list.Kind != "" {
		back = p.URL(list)
	}
	at.Query = nil
	name := "#" + strconv.FormatInt(int64(s.Message.Seq), 10)
	m := send.Send{
		Shell: p.StaticShell(ctx, at, locale.T(ctx, "edit.title", locale.Args{"Name": name})), In: p.EntityRef(s.Entity.Kind, s.Path), To: p.URL(at), Kinds: pages.PropertyTypes(),
		Sessions: s.Entity.RequiresSessions(), Values: t.FirstValues(), Errors: t.Errors, Refused: t.Refused, Properties: pages.SubmittedRows(t, send.SendPropertyPrefix),
		Edit: send.EditedMessage{Name: name, Href: p.MessageURL(at.Key), Back: back, Cancel: cmp.Or(back, p.MessageURL(at.Key)), Kept: kept, UnsupportedProperties: len(odd)},
	}
	return m, nil
}

// editableBody returns the body as text for a form. If the body cannot be edited, it returns the
// reason in `kept` instead.
func editableBody(ctx context.Context, p *pages.Pages, s message.Snapshot) (kept, text string, err error) {
	size := locale.Args{"Size": component.Bytes(ctx, s.Unpacked.BodySize)}
	switch {
	case s.Unpacked.BodyKind != engine.DataBody:
		return locale.T(ctx, "edit.kept.amqp", size), "", nil
	case s.Unpacked.BodySize > MaxEditableBody:
		return locale.T(ctx, "edit.kept.large", size), "", nil
	}
	in, err := p.Broker.Body(ctx, s.Message.Content, s.Unpacked.BodySize)
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
		if pages.IsSingleLine(q.Name) && pages.IsSingleLine(q.Value.Text()) && q.Name != "" {
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

// EditMessage returns the stored message `c` with the parts that a form can edit replaced by those
// of `typed`. AMQP-only sections and properties with several lines stay. A nil body keeps the
// stored one.
func EditMessage(c engine.Content, row engine.Row, typed engine.Content, body []byte) (engine.Content, error) {
	_, odd := EditableProperties(row, c)
	typed.Properties = append(typed.Properties, odd...)
	return MergeEdited(c, typed, body)
}

// MergeEdited returns the edited message `typed` with the AMQP-only sections of the stored message
// `c`. A nil body keeps the stored one.
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
