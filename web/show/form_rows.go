package show

import (
	"context"
	"strconv"
	"strings"
	"unicode/utf8"

	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// maxRowsRead is how many rows of a form's table are read: far more than a form adds, because a
// stored entity may already have many.
const maxRowsRead = 1000

// SubmittedRows returns the rows of typed values whose fields begin with prefix, as typed.
func SubmittedRows(t FormState, prefix string) (rows []page.SendProperty) {
	for i := range maxRowsRead {
		field := prefix + strconv.Itoa(i)
		if !t.Values.Has(field+page.SendPropertyName) && !t.Values.Has(field+page.SendPropertyValue) {
			break
		}
		rows = append(rows, page.SendProperty{
			Name: t.Values.Get(field + page.SendPropertyName), Kind: t.Values.Get(field + page.SendPropertyKind),
			Value: t.Values.Get(field + page.SendPropertyValue), Error: t.Errors[field],
		})
	}
	return rows
}

// ParseRows reads the rows of typed values whose fields begin with prefix, skipping empty
// rows. Errors go to t.Errors, by prefix and row number.
func ParseRows(ctx context.Context, t FormState, prefix string) (out value.Properties) {
	for i, row := range SubmittedRows(t, prefix) {
		if row.Name == "" && row.Value == "" {
			continue
		}
		v, err := parseRow(ctx, row.Name, row.Kind, row.Value)
		if err.S != "" {
			t.Errors[prefix+strconv.Itoa(i)] = err
			continue
		}
		out = append(out, value.Property{Name: row.Name, Value: v})
	}
	return out
}

// parseRow returns the value of a row, or its error.
func parseRow(ctx context.Context, name, kind, text string) (v value.Value, wrong component.Text) {
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

// propertyRows returns typed values as rows.
func propertyRows(all value.Properties) (rows []page.SendProperty) {
	for _, q := range all {
		rows = append(rows, page.SendProperty{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return rows
}

// singleLineError returns the error for a text that a single-line field cannot hold unchanged,
// or none if it can.
func singleLineError(ctx context.Context, text string) component.Text {
	if isSingleLine(text) {
		return component.Text{}
	}
	return component.Text{S: locale.T(ctx, "ui.oneline")}
}

// isSingleLine reports whether a single-line field returns text unchanged.
func isSingleLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\r\n\x00")
}

// propertyTypes returns the types of properties to choose from.
func propertyTypes() (names []string) {
	for _, k := range value.Kinds() {
		names = append(names, k.String())
	}
	return names
}
