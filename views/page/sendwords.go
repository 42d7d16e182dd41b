package page

import (
	"cmp"
	"context"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// emptyRows is how many empty rows of properties the form offers.
const emptyRows = 4

// field is an input by its name; tip may be empty.
func (m Send) field(ctx context.Context, name, label, tip string) component.Field {
	f := component.Field{Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name]}
	if tip != "" {
		f.Tip = []component.Text{{S: locale.T(ctx, tip)}}
	}
	return f
}

func (m Send) body(ctx context.Context) component.Field {
	f := m.field(ctx, SendBody, "send.body", "send.body.tip")
	f.Kind, f.Rows, f.Focus = component.Area, 8, true
	return f
}

func (m Send) session(ctx context.Context) component.Field {
	f := m.field(ctx, SendSessionID, "send.session", "send.session.required")
	f.Required = true
	return f
}

func (m Send) ttl(ctx context.Context) component.Field {
	f := m.field(ctx, SendTTL, "send.ttl", "send.ttl.tip")
	f.Short, f.Placeholder = true, locale.T(ctx, "time.never")
	if m.Ceiling != "" {
		f.Placeholder = m.Ceiling
		f.Tip = []component.Text{{S: locale.T(ctx, "send.ttl.ceiling", locale.Args{"Ceiling": m.Ceiling})}}
	}
	return f
}

func (m Send) repeat(ctx context.Context) component.Field {
	f := m.field(ctx, SendRepeat, "send.repeat", "")
	f.Kind, f.Short, f.Placeholder = component.Numeric, true, "1"
	f.Tip = []component.Text{{S: locale.T(ctx, "send.repeat.tip", locale.Args{"Most": locale.Number(ctx, cmp.Or(m.Most, 1000))})}}
	return f
}
