package activity

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Scenes is the page of all scenes and running playbacks. It is not live.
type Scenes struct {
	Shell   layout.Shell
	Cards   []SceneCard
	Plays   []ScenePlay
	Invalid []InvalidScene
	Stay    int    // minutes after which a playback without viewers ends
	Add     string // address of the form that adds a scene
	Refused component.Notice
}

// A SceneCard is a scene in the list.
type SceneCard struct {
	Title, Summary string // names in Summary are between backticks
	Lang           string // language of both, if it is not the page's
	Play           string // address to post to for starting it
	Steps, Minutes int
	ScenarioIDs    []string // ids of scenarios
	Loaded         bool     // not built into the program
	Text           string   // address of its YAML
	Remove         string   // address of the form that confirms its removal; empty if it cannot be removed
}

// An InvalidScene is a stored scene that cannot be played.
type InvalidScene struct {
	ID                string
	Faults            []SceneFault // why not
	RepairURL, Remove string       // addresses of the form with its text, and of the form that confirms its removal
}

// ConfirmRemoveScene asks to confirm the removal of a scene.
type ConfirmRemoveScene struct {
	Shell         layout.Shell
	Name          string // title, or id if the scene cannot be read
	To, All, Text string // addresses; Text is that of its YAML
}

// Title returns the page's title.
func (m ConfirmRemoveScene) Title(ctx context.Context) string {
	return locale.T(ctx, "scenes.ask", locale.Args{"Title": m.Name})
}

// Full returns the whole page.
func (m ConfirmRemoveScene) Full() templ.Component { return confirmRemoveScene(m) }

// Dialog returns the form of the page.
func (m ConfirmRemoveScene) Dialog() templ.Component { return confirmRemoveSceneForm(m) }

// Watches returns nil, because the page is not live.
func (ConfirmRemoveScene) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m ConfirmRemoveScene) Parts() []view.Part { return m.Shell.Parts() }

// A ScenePlay is a running playback.
type ScenePlay struct {
	Title, Namespace string
	Lang             string // language of Title, if it is not the page's
	Href             string // address where it is watched
	End              string // address to post to for ending it
	Step, Of         int
}

// Title returns the page's title.
func (Scenes) Title(ctx context.Context) string { return locale.T(ctx, "scenes.title") }

// Full returns the whole page.
func (m Scenes) Full() templ.Component { return scenes(m) }

// Watches returns nil, because the page is not live.
func (Scenes) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m Scenes) Parts() []view.Part { return m.Shell.Parts() }

// The fields of the form that adds a scene.
const (
	SceneFile = "file"
	SceneText = "text"
	SceneID   = "id"

	// QueryRepair is not a field but a query parameter: the id of a stored scene to repair.
	QueryRepair = "kept"
)

// SceneForm is the form that adds a scene.
type SceneForm struct {
	Shell          layout.Shell
	All, To        string         // address of all scenes, and the address it posts to
	Most           string         // largest size of a scene
	ID, Text       string         // as submitted
	Error, IDError component.Text // errors of the text as a whole, and of the id
	Faults         []SceneFault
}

// A SceneFault is an error in a line.
type SceneFault struct {
	Line     int // zero means the whole text
	At, Text string
	Source   string // the line, trimmed
}

// Title returns the page's title.
func (SceneForm) Title(ctx context.Context) string { return locale.T(ctx, "scenes.add") }

// Full returns the whole page.
func (m SceneForm) Full() templ.Component { return sceneForm(m) }

// Watches returns nil, because the page is not live.
func (SceneForm) Watches() []string { return nil }

// Parts returns the shell's parts: the rest is not live.
func (m SceneForm) Parts() []view.Part { return m.Shell.Parts() }

// where returns the position of a fault.
func (f SceneFault) where(ctx context.Context) string {
	switch {
	case f.Line == 0:
		return f.At
	case f.At == "":
		return locale.T(ctx, "scenes.add.line", locale.Args{"Line": f.Line})
	default:
		return locale.T(ctx, "scenes.add.line", locale.Args{"Line": f.Line}) + " · " + f.At
	}
}

func (m SceneForm) id(ctx context.Context) component.Field {
	return component.Field{
		Name: SceneID, Label: locale.T(ctx, "scenes.add.id"), Value: m.ID, Error: m.IDError, Placeholder: "lunch",
		Tip: []component.Text{{S: locale.T(ctx, "scenes.add.id.tip")}},
	}
}

func (m SceneForm) text(ctx context.Context) component.Field {
	return component.Field{
		Name: SceneText, Label: locale.T(ctx, "scenes.add.text"), Value: m.Text, Error: m.Error, Kind: component.AreaField, Rows: 16,
		Tip: []component.Text{{S: locale.T(ctx, "scenes.add.text.tip")}},
	}
}
