package send

import (
	"slices"
	"strconv"
)

// EntryRows is a table of typed values to fill in. The fields of row i are named by the prefix,
// i, and a suffix as in Send's fields.
type EntryRows struct {
	Prefix  string // "property-"
	Count   string // field with the number of rows
	Add     string // button that adds rows
	Label   string // text ids of that button and of the controls
	Name    string
	Kind    string
	Value   string
	Example string // example of a name; empty means none
	Rows    []Property
	Kinds   []string
}

// PropertyEntries returns a table of application properties, in which at least `empty` rows are empty.
func PropertyEntries(rows []Property, kinds []string, empty int) EntryRows {
	return EntryRows{
		Prefix: SendPropertyPrefix, Count: SendPropertyRows, Add: SendAddProperty, Label: "send.property.add",
		Name: "send.property.name.of", Kind: "send.property.type.of", Value: "send.property.value.of",
		Rows: WithEmpty(rows, empty), Kinds: kinds,
	}
}

// WithEmpty returns rows and, after them, empty ones, so that at least `least` rows are empty.
func WithEmpty(rows []Property, least int) []Property {
	rows = slices.Clip(rows)
	empty := 0
	for _, r := range rows {
		if r == (Property{Kind: r.Kind}) {
			empty++
		}
	}
	for ; empty < least; empty++ {
		rows = append(rows, Property{})
	}
	return rows
}

func EntryField(prefix string, row int, part string) string {
	return prefix + strconv.Itoa(row) + part
}
