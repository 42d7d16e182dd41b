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

// rowsRead is how many rows of a table of a form are read: far more than it adds,
// since what is there already may have many.
const rowsRead = 1000

// SentEntries are the rows of typed values whose fields begin with prefix, as
// they were typed.
func SentEntries(t Typed, prefix string) (rows []page.SendProperty) {
	for i := range rowsRead {
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

// ReadEntries reads the rows of typed values whose fields begin with prefix;
// empty ones are none. What is wrong goes to t.Errors, by the row's prefix and
// number.
func ReadEntries(ctx context.Context, t Typed, prefix string) (out value.Properties) {
	for i, row := range SentEntries(t, prefix) {
		if row.Name == "" && row.Value == "" {
			continue
		}
		v, err := readEntry(ctx, row.Name, row.Kind, row.Value)
		if err.S != "" {
			t.Errors[prefix+strconv.Itoa(i)] = err
			continue
		}
		out = append(out, value.Property{Name: row.Name, Value: v})
	}
	return out
}

// readEntry is the value of a row, or what is wrong with it.
func readEntry(ctx context.Context, name, kind, text string) (v value.Value, wrong component.Text) {
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
		return v, component.Said(err.Error())
	}
	return v, component.Text{}
}

// entries are typed values, as rows.
func entries(all value.Properties) (rows []page.SendProperty) {
	for _, q := range all {
		rows = append(rows, page.SendProperty{Name: q.Name, Kind: q.Value.Kind().String(), Value: q.Value.Text()})
	}
	return rows
}

// cannotKeep is what is to be said of a value that a line of a form cannot hold
// as it is; empty: it can.
func cannotKeep(ctx context.Context, text string) component.Text {
	if oneLine(text) {
		return component.Text{}
	}
	return component.Text{S: locale.T(ctx, "ui.oneline")}
}

// oneLine tells whether a line of a form gives back text as it was put in.
func oneLine(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsAny(text, "\r\n\x00")
}

// kindNames are the types of properties, to choose from.
func kindNames() (names []string) {
	for _, k := range value.Kinds() {
		names = append(names, k.String())
	}
	return names
}
