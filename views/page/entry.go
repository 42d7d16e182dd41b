package page

import (
	"slices"
	"strconv"
)

// entries is a table of typed values to fill in, a row each. The fields of row
// i are the prefix, i, and one of the parts that Send's fields end in.
type entries struct {
	prefix  string // "property-"
	count   string // the field that says how many rows there are
	add     string // the button that asks for more
	label   string // ids of the words on that button, and of those of the controls
	name    string
	kind    string
	value   string
	example string // of a name; empty: none
	rows    []SendProperty
	kinds   []string
}

// propertyEntries are application properties, with some empty rows at least.
func propertyEntries(rows []SendProperty, kinds []string, empty int) entries {
	return entries{
		prefix: SendPropertyPrefix, count: SendPropertyRows, add: SendAddProperty, label: "send.property.add",
		name: "send.property.name.of", kind: "send.property.type.of", value: "send.property.value.of",
		rows: withEmpty(rows, empty), kinds: kinds,
	}
}

// parameterEntries are what the @names of a filter stand for.
func parameterEntries(rows []SendProperty, kinds []string) entries {
	return entries{
		prefix: RuleParameterPrefix, count: RuleParameterRows, add: RuleAddParameter, label: "rule.parameter.add",
		name: "rule.parameter.name.of", kind: "rule.parameter.type.of", value: "rule.parameter.value.of", example: "@limit",
		rows: withEmpty(rows, 1), kinds: kinds,
	}
}

// withEmpty are the rows with empty ones to fill in, at least so many.
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
