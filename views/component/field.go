package component

import "strings"

// A Field is one input of a form. Its tip states the limits, and its error repeats them.
type Field struct {
	Name  string // of the control; also used in ids
	Label string
	Value string
	Tip   []Text // the limits and the effect; empty means none
	Error Text   // why the value was refused; empty if it was not refused
	Was   string // the value before this edit, as shown; empty means unchanged

	Kind        FieldKind
	Options     []Option // of SelectField and RadioField
	List        []string // of LineField: suggestions while typing
	Placeholder string
	Rows        int  // of AreaField; zero means four
	Short       bool // a narrow input, for numbers and durations
	Text        bool // prose instead of the monospaced face of identifiers
	Required    bool
	Disabled    bool // shown, but cannot be changed; Note gives the reason
	Focus       bool // gets the focus when the page opens
	On          bool // of SwitchField
	Note        string
}

// A FieldKind is the type of a field's control; the zero value is one line of text.
type FieldKind string

// The kinds of fields.
const (
	LineField   FieldKind = ""
	NumberField FieldKind = "number" // digits; phones show a numeric keyboard
	AreaField   FieldKind = "area"
	SelectField FieldKind = "select"
	RadioField  FieldKind = "radios"
	SwitchField FieldKind = "switch" // Value is sent when On; the first line of Note is its label
)

// An Option is one choice of a SelectField or of RadioField.
type Option struct {
	Value, Label string
	Note         string // below the label, in RadioField
}

func (f Field) id() string { return "f-" + f.Name }

func (f Field) listID() string { return f.id() + "-l" }

// describedBy returns the ids of the elements that explain the field, or "" if none.
func (f Field) describedBy() string {
	var ids []string
	if len(f.Tip) > 0 {
		ids = append(ids, f.id()+"-t")
	}
	if f.Error.S != "" {
		ids = append(ids, f.id()+"-e")
	}
	return strings.Join(ids, " ")
}

func (f Field) class() string {
	c := "input"
	if !f.Text {
		c += " mono"
	}
	if f.Short {
		c += " short"
	}
	return c
}

func (f Field) rows() int {
	if f.Rows == 0 {
		return 4
	}
	return f.Rows
}
