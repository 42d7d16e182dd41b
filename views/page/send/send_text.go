package send

import (
	"cmp"
	"context"
	"strings"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

// emptyRows is how many empty rows of properties the form offers.
const emptyRows = 4

// field returns the input with the given name. `label` and `tip` are text ids; an empty tip means none.
func (m Send) field(ctx context.Context, name, label, tip string) component.Field {
	f := component.Field{Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name]}
	if tip != "" {
		f.Tip = []component.Text{{S: locale.T(ctx, tip)}}
	}
	return f
}

func (m Send) body(ctx context.Context) component.Field {
	f := m.field(ctx, SendBody, "send.body", "send.body.tip")
	f.Kind, f.Rows, f.Focus = component.AreaField, 8, len(m.Preview) == 0
	return f
}

func (m Send) session(ctx context.Context) component.Field {
	if !m.Sessions {
		return m.field(ctx, SendSessionID, "send.session", "send.session.tip")
	}
	f := m.field(ctx, SendSessionID, "send.session", "send.session.required")
	f.Required = true
	return f
}

func (m Send) ttl(ctx context.Context) component.Field {
	f := m.field(ctx, SendTTL, "send.ttl", "send.ttl.tip")
	f.Short, f.Placeholder = true, cmp.Or(m.Limit.Most, locale.T(ctx, "time.never"))
	say := func(id string, args locale.Args) {
		f.Tip = append(f.Tip, component.Text{S: " " + locale.T(ctx, id, args)})
	}
	limit, here := m.Limit, locale.Args{"Name": m.In.Name, "Most": m.Limit.Most}
	switch {
	case m.Edit.Name != "":
		f.Placeholder = ""
		say("send.ttl.edit", nil)
		return f
	case limit.ForwardTo != "":
		say("send.ttl.onward", locale.Args{"To": limit.ForwardTo})
		return f
	case limit.Most != "":
		say("send.ttl.shorter", here)
	default:
		say("send.ttl.endless", here)
	}
	if limit.Shorter != "" {
		say("send.ttl.least", locale.Args{"Name": limit.Shorter, "Least": limit.Least})
	}
	if to := m.In.Href + "/edit"; view.CanOpen(ctx, to) {
		f.Tip = append(f.Tip, component.Text{S: " "}, component.Text{S: locale.T(ctx, "send.ttl.change"), Href: to + "#f-DefaultMessageTimeToLive"}, component.Text{S: "."})
	}
	switch {
	case m.In.Kind == page.Topic:
	case limit.Dead:
		say("send.ttl.dead", nil)
	default:
		say("send.ttl.lost", nil)
	}
	return f
}

func (m Send) repeat(ctx context.Context) component.Field {
	f := m.field(ctx, SendRepeat, "send.repeat", "")
	f.Kind, f.Short, f.Placeholder = component.NumberField, true, "1"
	f.Tip = []component.Text{{S: locale.T(ctx, "send.repeat.tip", locale.Args{"Most": locale.Number(ctx, m.Most), "AtOnce": locale.Number(ctx, m.AtOnce)})}}
	return f
}

func (m Send) every(ctx context.Context) component.Field {
	f := m.field(ctx, SendEvery, "send.every", "send.every.tip")
	f.Short, f.Placeholder = true, "0s"
	return f
}

func (m Send) placeholders(ctx context.Context) component.Field {
	f := m.field(ctx, SendPlaceholders, "send.placeholders", "send.placeholders.tip")
	f.Kind, f.Value, f.On = component.SwitchField, "on", m.Values[SendPlaceholders] != ""
	return f
}

// placeholders are examples of placeholders, with the text ids that explain them.
var placeholders = [][2]string{
	{"{{n}}", "send.ph.n"}, {"{{n+100}}", "send.ph.plus"}, {"{{n%10}}", "send.ph.rest"}, {"{{count}}", "send.ph.count"}, {"{{uuid}}", "send.ph.uuid"},
	{"{{now}}", "send.ph.now"}, {"{{now+5m}}", "send.ph.later"}, {"{{unix}}", "send.ph.unix"}, {"{{random 1 100}}", "send.ph.random"},
	{"{{pick a|b|c}}", "send.ph.pick"}, {"{{letters 20}}", "send.ph.letters"}, {`\{{n}}`, "send.ph.escape"},
}

// fillable are the fields in which placeholders can be used, apart from properties.
var fillable = []string{
	SendBody, SendSubject, SendTTL, SendIn, SendMessageID, SendSessionID, SendContentType, SendCorrelationID, SendPartitionKey, SendTo, SendReplyTo, SendReplyToSession,
}

// explained reports whether the form explains placeholders: a field has one, or they are on.
func (m Send) explained() bool {
	for _, name := range fillable {
		if strings.Contains(m.Values[name], "{{") {
			return true
		}
	}
	return m.Values[SendPlaceholders] != ""
}

// how returns the field that chooses between replacing the message with the edited one (move, the
// default) and sending a copy.
func (m Send) how(ctx context.Context) component.Field {
	f := m.field(ctx, page.FieldHow, "edit.how", "")
	f.Kind = component.RadioField
	f.Options = []component.Option{
		{Value: "move", Label: locale.T(ctx, "edit.how.move"), Note: locale.T(ctx, "edit.how.move.note")},
		{Value: "copy", Label: locale.T(ctx, "edit.how.copy"), Note: locale.T(ctx, "edit.how.copy.note")},
	}
	if f.Value != "copy" {
		f.Value = "move"
	}
	return f
}

// duplicate returns the checkbox that allows the target to drop the message as a duplicate.
func (m Send) duplicate(ctx context.Context) component.Field {
	f := m.field(ctx, page.FieldDuplicate, "edit.duplicate", "edit.duplicate.tip")
	f.Kind, f.Value, f.On = component.SwitchField, "drop", m.Values[page.FieldDuplicate] != ""
	return f
}
