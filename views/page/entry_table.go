package page

import (
	"slices"
	"strconv"
)

// entryRows is a table of typed values to fill in. The fields of row i are named by the prefix,
// i, and a suffix as in Send's fields.
type entryRows struct {
	prefix  string // "property-"
	count   string // field with the number of rows
	add     string // button that adds rows
	label   string // text ids of that button and of the controls
	name    string
	kind    string
	value   string
	example string // example of a name; empty means none
	rows    []SendProperty
	kinds   []string
}

// propertyEntries returns a table of application properties with at least as many empty rows as empty.
func propertyEntries(rows []SendProperty, kinds []string, empty int) entryRows {
	return entryRows{
		prefix: SendPropertyPrefix, count: SendPropertyRows, add: SendAddProperty, label: "send.property.add",
		name: "send.property.name.of", kind: "send.property.type.of", value: "send.property.value.of",
		rows: withEmpty(rows, empty), kinds: kinds,
	}
}

// withEmpty returns rows with a minimum of least empty ones.
func withEmpty(rows []SendProperty, least int) []SendProperty {
	rows = slices.Clip(rows)
	empty := 0
	for _, r := range rows {
		if r == (SendProperty{Kind: r.Kind}) {
			empty++
		}
	}
	for ; empty < least; empty++ {
		rows = append(rows, SendProperty{})
	}
	return rows
}

func entryField(prefix string, row int, part string) string {
	return prefix + strconv.Itoa(row) + part
}
