package component

import "strings"

// A Field is one thing a form asks for. The limit stands beside it, the error
// repeats the rule.
type Field struct {
	Name  string // of the control; also makes the ids
	Label string
	Value string
	Tip   []Text // the limits and what it does; empty: none
	Error Text   // why the value was refused; empty: it was not
	Was   string // the value before this edit, as shown; empty: unchanged

	Kind        Kind
	Options     []Option // of Select and Radios
	List        []string // of Line: what is offered while typing; anything else can be typed too
	Placeholder string
	Rows        int  // of Area; zero: four
	Short       bool // a narrow input, for figures and durations
	Text        bool // prose instead of the monospaced face of identifiers
	Required    bool
	Disabled    bool // shown, but cannot be changed; Note says why
	Focus       bool // gets the focus when the page opens
	On          bool // of Switch
	Note        string
}

// A Kind is what a field is filled in with; the zero value is one line of
// text.
type Kind string

// The kinds there are.
const (
	Line    Kind = ""
	Numeric Kind = "number" // digits; the keyboard of phones follows
	Area    Kind = "area"
	Select  Kind = "select"
	Radios  Kind = "radios"
	Switch  Kind = "switch" // Value is what is sent when On; its word is Note's first line
)

// An Option is one choice of a Select or of Radios.
type Option struct {
	Value, Label string
	Note         string // below the label, in Radios
}

func (f Field) id() string { return "f-" + f.Name }

func (f Field) listID() string { return f.id() + "-l" }

// describedBy names the elements that explain the field; empty for none.
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
