package page

import (
	"context"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Scenes is the page of all scenes, and of those that are played. It stands still.
type Scenes struct {
	Shell   layout.Shell
	Cards   []SceneCard
	Plays   []ScenePlay
	Unfit   []SceneUnfit
	Stay    int    // minutes after which a play goes that nobody looks at
	Add     string // the page that adds one
	Refused component.Notice
}

// A SceneCard is one scene.
type SceneCard struct {
	Title, Teaches string // names in Teaches between backticks
	Lang           string // of both, where it is not the page's
	Play           string // it is begun by posting there
	Steps, Minutes int
	Shows          []string // ids of scenarios
	Loaded         bool     // it did not come with the program
	Text           string   // where its YAML is
	Remove         string   // the page that asks whether to remove it; empty: it stays
}

// A SceneUnfit is one that is kept and cannot be played.
type SceneUnfit struct {
	ID           string
	Faults       []SceneFault // why not
	Mend, Remove string       // the form with its text, and the page that asks whether to remove it
}

// SceneAsk asks whether to remove a scene.
type SceneAsk struct {
	Shell         layout.Shell
	Name          string // its title, or what it is called where it cannot be read
	To, All, Text string // addresses; Text is its YAML
}

// Title is the page's.
func (m SceneAsk) Title(ctx context.Context) string {
	return locale.T(ctx, "scenes.ask", locale.Args{"Title": m.Name})
}

// Full is the whole document.
func (m SceneAsk) Full() templ.Component { return sceneAsk(m) }

// Asks is the form of the page.
func (m SceneAsk) Asks() templ.Component { return sceneAskForm(m) }

// Watches is nothing.
func (SceneAsk) Watches() []string { return nil }

// Parts is what is live in it: the shell's.
func (m SceneAsk) Parts() []view.Part { return m.Shell.Parts() }

// A ScenePlay is one that is under way.
type ScenePlay struct {
	Title, Namespace string
	Lang             string // of Title, where it is not the page's
	Href             string // where it is watched
	End              string // it is ended by posting there
	Step, Of         int
}

// Title is the page's.
func (Scenes) Title(ctx context.Context) string { return locale.T(ctx, "scenes.title") }

// Full is the whole document.
func (m Scenes) Full() templ.Component { return scenes(m) }

// Watches is nothing.
func (Scenes) Watches() []string { return nil }

// Parts is what is live in it: the shell's.
func (m Scenes) Parts() []view.Part { return m.Shell.Parts() }

// The fields of the form that adds a scene.
const (
	SceneFile = "file"
	SceneText = "text"
	SceneID   = "id"

	// SceneMend is no field but what an address says: the id of one that is kept, and is
	// to be mended.
	SceneMend = "kept"
)

// SceneForm is the page that adds a scene.
type SceneForm struct {
	Shell          layout.Shell
	All, To        string         // the page of all, and where the form is posted
	Most           string         // the size of a scene
	ID, Text       string         // what was sent
	Error, IDError component.Text // what is wrong with the text as a whole, and with its name
	Faults         []SceneFault
}

// A SceneFault is what is wrong with a line.
type SceneFault struct {
	Line     int // zero: all of it
	At, Text string
	Source   string // the line, without spaces at its ends
}

// Title is the page's.
func (SceneForm) Title(ctx context.Context) string { return locale.T(ctx, "scenes.add") }

// Full is the whole document.
func (m SceneForm) Full() templ.Component { return sceneForm(m) }

// Watches is nothing.
func (SceneForm) Watches() []string { return nil }

// Parts is what is live in it: the shell's.
func (m SceneForm) Parts() []view.Part { return m.Shell.Parts() }

// where is the line of a fault and what is there.
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
		Name: SceneText, Label: locale.T(ctx, "scenes.add.text"), Value: m.Text, Error: m.Error, Kind: component.Area, Rows: 16,
		Tip: []component.Text{{S: locale.T(ctx, "scenes.add.text.tip")}},
	}
}
