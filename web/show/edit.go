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
	"mayfly/engine/draft"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
	"mayfly/web/amqp/carry"
)

// EditMost is how many bytes of a body are put into a form; a larger one stays as it is.
const EditMost = 128 << 10

// rewriteForm asks what a stored message is to be when it is sent again.
func (p *Pages) rewriteForm(ctx context.Context, at Place, t Typed) (view.Page, error) {
	var s messageSight
	_, err := p.look(ctx, func(r broker.Reader) (err error) {
		s, err = seeMessage(r, at.Key)
		return err
	})
	if err != nil {
		return nil, err
	}
	kept, text, err := p.editable(ctx, s)
	if err != nil {
		return nil, err
	}
	props, odd := Spoken(s.Row, s.content)
	if t.Values == nil {
		d := Written(s.content, props)
		d.Body = text
		t.Values = WriteDraft(d)
		t.Values.Set(page.SendTarget, string(destination(s.Row)))
	}
	back := t.Cancel
	if list := p.listAt(at.Query.Get("back")); back == "" && list.Kind != 0 {
		back = p.URL(list)
	}
	at.Query = nil
	name := "#" + strconv.FormatInt(int64(s.Message.Seq), 10)
	m := page.Send{
		Shell: p.still(ctx, at, locale.T(ctx, "edit.title", locale.Args{"Name": name})), In: p.placeOf(s.in.Kind, s.Path), To: p.URL(at), Kinds: kindNames(),
		Sessions: s.in.sessionful(), Values: t.first(), Errors: t.Errors, Refused: t.Refused, Properties: SentEntries(t, page.SendPropertyPrefix),
		Edit: page.SendEdit{Name: name, Href: p.MessageURL(at.Key), Back: back, Cancel: cmp.Or(back, p.MessageURL(at.Key)), Kept: kept, Odd: len(odd)},
	}
	return m, nil
}

// editURL is the form of a dead letter that nobody holds, which leads back to the list
// at a place; empty for any other message.
func (p *Pages) editURL(r engine.Row, list Place) string {
	if !r.Path.IsDeadLetter() || r.Message.Locked() {
		return ""
	}
	form := Place{Namespace: p.b.Name(), Kind: Message, Key: r.Message.Key, Do: "edit", Query: url.Values{"back": {p.URL(list)}}}
	if len(form.String()) > longestAddress {
		form.Query = nil
	}
	return p.URL(form)
}

// editable is the body of a message as a form can hold it, or why it cannot.
func (p *Pages) editable(ctx context.Context, s messageSight) (kept, text string, err error) {
	size := locale.Args{"Size": component.Bytes(ctx, s.content.BodySize)}
	switch {
	case s.content.BodyKind != engine.DataBody:
		return locale.T(ctx, "edit.kept.amqp", size), "", nil
	case s.content.BodySize > EditMost:
		return locale.T(ctx, "edit.kept.large", size), "", nil
	}
	in, err := p.b.Body(ctx, s.Message.Content, s.content.BodySize)
	if err != nil {
		return "", "", err //nolint:wrapcheck // it says what it is about
	}
	defer func() { _ = in.Close() }()
	raw, err := io.ReadAll(in)
	if err != nil {
		return "", "", err //nolint:wrapcheck // likewise
	}
	if text = string(raw); !utf8.ValidString(text) || strings.ContainsAny(text, "\r\x00") {
		return locale.T(ctx, "edit.kept.binary", size), "", nil
	}
	return "", text, nil
}

// Spoken are the application properties of a message without those that tell why it is a
// dead letter: those that a form can hold, and the others.
func Spoken(row engine.Row, c engine.Content) (props, odd value.Properties) {
	for _, q := range row.Message.OwnProperties(c) {
		if oneLine(q.Name) && oneLine(q.Value.Text()) && q.Name != "" {
			props = append(props, q)
		} else {
			odd = append(odd, q)
		}
	}
	return props, odd
}

// Written is a message as somebody might have written it, without its body.
func Written(c engine.Content, props value.Properties) draft.Draft {
	d := draft.Draft{
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
		d.Properties = append(d.Properties, draft.Property{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return d
}

// Rewrite puts what a form says over a stored message. What a form cannot hold stays:
// what only AMQP says, and properties of several lines. body is nil where it stays.
func Rewrite(c engine.Content, row engine.Row, typed engine.Content, body []byte) (engine.Content, error) {
	_, odd := Spoken(row, c)
	typed.Properties = append(typed.Properties, odd...)
	return Again(c, typed, body)
}

// Again is a stored message as somebody has written it anew, with what only AMQP says of
// it. body is nil where it stays.
func Again(c, typed engine.Content, body []byte) (engine.Content, error) {
	typed.ViaPartitionKey, typed.Wire, typed.BodyKind = c.ViaPartitionKey, c.Wire, c.BodyKind
	if !typed.HasSessionID() {
		typed.EmptySessionID = c.EmptySessionID
	}
	if body != nil {
		typed.BodyKind = engine.DataBody
	}
	err := carry.Again(&typed, body)
	return typed, err //nolint:wrapcheck // it says what it is about
}
