package admin

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/view"
)

// The fields of Definitions.
const (
	DefinitionFile   = "file"   // an uploaded Config.json
	DefinitionText   = "text"   // its text, or the pasted text
	DefinitionAgreed = "agreed" // a submit button: hash of the steps that the user confirmed, as in Definitions.Agreed
)

// Definitions is the page that applies a Config.json to the namespace. It is not live:
// Shell.Live is left empty.
type Definitions struct {
	Shell       layout.Shell
	To          string // the address it posts to
	Export      string // address of a file with the current definitions
	Cancel      string // target of Cancel
	Text        string // of the uploaded file
	Most        string // largest size, as shown
	Refused     component.Notice
	Errors      []DefinitionProblem // errors of the file
	More        int                 // further errors
	Warnings    []DefinitionProblem // parts of the file without effect
	Checked     bool                // the file is valid
	Steps       []DefinitionStep    // the dry run
	Kept        []string            // unchanged entities, as shown
	Agreed      string              // hash that identifies Steps
	Destructive bool                // something existing would change: Safe mode refuses it
}

// DefinitionProblem is an error in a file, or a part without effect.
type DefinitionProblem struct {
	At  string // position in the file; empty means the whole file
	Why string
}

// DefinitionStep is a step of the dry run.
type DefinitionStep struct {
	Do      string // create, update, add-rule, replace-rule or remove-rule
	Kind    page.EntityKind
	Name    string // of the entity, as shown
	Rule    string // for steps about a rule
	Changes []DefinitionChange
}

// DefinitionChange is a property with a new value.
type DefinitionChange struct{ Property, Was, Is string }

// Full returns the whole page.
func (m Definitions) Full() templ.Component { return definitions(m) }

// Watches returns nil, because the page is not live.
func (m Definitions) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Definitions) Parts() []view.Part { return m.Shell.Parts() }

// look returns the tone and the icon of a step, and the text id of its name.
func (s DefinitionStep) look() (tone component.Tone, icon, words string) {
	switch s.Do {
	case "create":
		return component.Plenty, "plus", "definitions.create"
	case "add-rule":
		return component.Plenty, "plus", "definitions.rule.add"
	case "replace-rule":
		return component.Low, "edit", "definitions.rule.replace"
	case "remove-rule":
		return component.Critical, "trash", "definitions.rule.remove"
	default:
		return component.Low, "edit", "definitions.update"
	}
}
