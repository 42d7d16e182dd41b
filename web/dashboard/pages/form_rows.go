package pages

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page/send"
)

// MaxRowsRead is how many rows of a form's table are read: far more than a form adds, because a
// stored entity may already have many.
const MaxRowsRead = 1000

// SubmittedRows returns up to MaxRowsRead rows of the table whose fields begin with `prefix`, as
// the user typed them.
func SubmittedRows(t FormState, prefix string) (rows []send.Property) {
	for i := range MaxRowsRead {
		field := prefix + strconv.Itoa(i)
		if !t.Values.Has(field+send.SendPropertyName) && !t.Values.Has(field+send.SendPropertyValue) {
			break
		}
		rows = append(rows, send.Property{
			Name: t.Values.Get(field + send.SendPropertyName), Kind: t.Values.Get(field + send.SendPropertyKind),
			Value: t.Values.Get(field + send.SendPropertyValue), Error: t.Errors[field],
		})
	}
	return rows
}

// ParseRows reads the rows of the table whose fields begin with `prefix`, and skips empty rows.
// Errors go to t.Errors, by prefix and row number.
func ParseRows(ctx context.Context, t FormState, prefix string) (out value.Properties) {
	for i, row := range SubmittedRows(t, prefix) {
		if row.Name == "" && row.Value == "" {
			continue
		}
		v, err := ParseRow(ctx, row.Name, row.Kind, row.Value)
		if err.S != "" {
			t.Errors[prefix+strconv.Itoa(i)] = err
			continue
		}
		out = append(out, value.Property{Name: row.Name, Value: v})
	}
	return out
}

// ParseRow returns the value of a row, or its error.
func ParseRow(ctx context.Context, name, kind, text string) (v value.Value, wrong component.Text) {
	if name == "" {
		return v, component.Text{S: locale.T(ctx, "ui.property.name")}
	}
	k, err := value.String, error(nil)
	if kind != "" {
		k, err = value.ParseKind(kind)
	}
	if err == nil {
		v, err = value.Parse(k, text)
	}
	if err != nil {
		return v, component.ServerText(err.Error())
	}
	return v, component.Text{}
}

// PropertyRows returns typed values as rows.
func PropertyRows(all value.Properties) (rows []send.Property) {
	for _, q := range all {
		rows = append(rows, send.Property{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return rows
}

// SingleLineError returns the error for a text that a single-line field cannot hold unchanged,
// or none if it can.
func SingleLineError(ctx context.Context, text string) component.Text {
	if IsSingleLine(text) {
		return component.Text{}
	}
	return component.Text{S: locale.T(ctx, "ui.oneline")}
}

// IsSingleLine reports whether a single-line field can hold `text` without changing it.
func IsSingleLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\r\n\x00")
}

// PropertyTypes returns the types of properties to choose from.
func PropertyTypes() (names []string) {
	for _, k := range value.Kinds() {
		names = append(names, k.String())
	}
	return names
}

// MaxRows is how many rows a form's table may have, such as that of application properties.
const MaxRows = 100
