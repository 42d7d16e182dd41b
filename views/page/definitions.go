package page

import (
	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/view"
)

// The names of the fields of Definitions.
const (
	DefinitionFile   = "file"   // a Config.json that is sent
	DefinitionText   = "text"   // what stands in it, or was pasted
	DefinitionAgreed = "agreed" // a submit: the steps that somebody has seen, as DefinitionSteps.Agreed has them
)

// Definitions is the page that makes entities and rules what a Config.json says. It
// stands still: Shell.Live is left empty.
type Definitions struct {
	Shell   layout.Shell
	To      string // the address it posts to
	Export  string // the address of a file of what there is
	Cancel  string // where Cancel leads
	Text    string // of the file that was sent
	Most    string // the largest, as shown
	Refused component.Notice
	Wrong   []DefinitionProblem // what is wrong with the file
	More    int                 // problems beside these
	Seen    bool                // the file was looked at, and nothing is wrong with it
	Steps   []DefinitionStep    // what it would do
	Kept    []string            // entities that are as it says, as shown
	Agreed  string              // by which Steps are known again
	Alters  bool                // something that is there would be another: Safe mode refuses it
}

// DefinitionProblem is one thing that is wrong with a file.
type DefinitionProblem struct {
	At  string // where in the file; empty: in all of it
	Why string
}

// DefinitionStep is one thing that a file does.
type DefinitionStep struct {
	Do      string // create, update, add-rule or remove-rule
	Kind    Kind
	Name    string // of the entity, as shown
	Rule    string // of a step about a rule
	Changes []DefinitionChange
}

// DefinitionChange is a property that gets another value.
type DefinitionChange struct{ Property, Was, Is string }

// Full is the page.
func (m Definitions) Full() templ.Component { return definitions(m) }

// Watches is nil; the page stands still.
func (m Definitions) Watches() []string { return nil }

// Parts is what is live in the page: the shell.
func (m Definitions) Parts() []view.Part { return m.Shell.Parts() }

// look is how a step is shown.
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
