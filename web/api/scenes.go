package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/web/auth"
)

// Scenes is the answer of GET /scenes.
type Scenes struct {
	Scenes []SceneEntry `json:"scenes"` // built-in ones first
}

// SceneEntry is a scene without its content.
type SceneEntry struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Summary string   `json:"summary"`           // in a sentence or two
	Shows   []string `json:"shows,omitempty"`   // ids of rules and scenarios of the specification
	Minutes int      `json:"minutes,omitempty"` // how long a demonstration takes; missing if unknown
	Steps   int      `json:"steps"`             // number of steps
	From    string   `json:"from"`              // program, folder (of --scenes) or added; only an added one can be replaced and deleted

	Language  string   `json:"language"`            // of its texts here, as a tag
	Languages []string `json:"languages,omitempty"` // further languages, besides the original one: see lang
}

// Scene is one scene.
type Scene struct {
	SceneEntry
	Captions []string `json:"captions"` // of its steps
	Text     string   `json:"text"`     // its YAML source
}

func sceneRoutes() []route {
	const part = "The ID of a scene: up to 40 lower-case letters, digits and hyphens."
	return []route{
		{
			method: "GET", path: "/scenes", id: "listScenes", group: groupScenes, summary: "List scenes",
			query:    []parameter{inLanguage()},
			response: Scenes{}, problems: []string{"NotSupported"}, handle: (*handler).scenes,
		},
		{
			method: "GET", path: "/scenes/{name}", id: "getScene", group: groupScenes, summary: "Get a scene and its YAML",
			exampleParam: "deadline", nameMeaning: part, query: []parameter{inLanguage()},
			response: Scene{}, problems: []string{"SceneNotFound", "NotSupported"}, handle: (*handler).scene,
		},
		{
			method: "PUT", path: "/scenes/{name}", id: "setScene", role: auth.Admin, group: groupScenes, summary: "Add a scene, or replace an added one",
			exampleParam: "lunch", nameMeaning: part, exampleBody: `{title: Lunch, summary: What nobody fetches gets cold., entities: [{queue: kitchen}], steps: [{caption: Two soups., actions: [{send: {to: kitchen, body: two soups, timeToLive: 1m}}]}]}`,
			description: "A scene with errors is refused, and the answer lists all errors with their lines. The scene is stored in the server's own namespace. Running playbacks do not change. Built-in scenes and those in the folder of --scenes cannot be replaced.",
			query:       []parameter{flagParameter("check", "Only check the scene.").routeRole()},
			request:     rawBody{"application/yaml", "A scene in YAML, as in the text of GET /scenes/{name}."}, maxBody: demo.MaxBytes,
			response: Scene{}, problems: []string{"SceneAlreadyExists", "QuotaExceeded", "NotSupported"}, handle: (*handler).setScene,
		},
		{
			method: "DELETE", path: "/scenes/{name}", id: "deleteScene", role: auth.Admin, group: groupScenes, summary: "Delete an added scene",
			exampleParam: "dinner", nameMeaning: part,
			description: "Running playbacks continue. Built-in scenes and those in the folder of --scenes cannot be deleted.",
			problems:    []string{"SceneNotFound", "InvalidOperation", "NotSupported"}, handle: (*handler).deleteScene,
		},
	}
}

// inLanguage returns the parameter with the language of scenes' texts.
func inLanguage() parameter {
	return textParameter("lang", "The language of titles, captions and checks, such as cs or pt-BR, if the scene has it. If absent, the language in which the scene was written.").withExample("cs").routeRole()
}

// scenePlayer returns the server's scenes and playbacks.
func (d *handler) scenePlayer() (*demo.Player, error) {
	if d.player == nil {
		return nil, engine.Refuse(engine.ErrNotImplemented, "This server has no scenes.")
	}
	return d.player, nil
}

func presentEntry(s *demo.Scene) SceneEntry {
	out := SceneEntry{ID: s.ID, Title: s.Title, Summary: s.Summary, Shows: s.Shows, Minutes: s.Minutes, Steps: len(s.Steps), From: "folder", Language: s.Language, Languages: s.OtherLanguages()}
	switch {
	case s.Builtin:
		out.From = "program"
	case s.Added:
		out.From = "added"
	}
	return out
}

func presentScene(s *demo.Scene) Scene {
	out := Scene{SceneEntry: presentEntry(s), Text: s.Text, Captions: make([]string, len(s.Steps))}
	for i := range s.Steps {
		out.Captions[i] = s.Steps[i].Caption
	}
	return out
}

func (d *handler) scenes(c echo.Context) error {
	stages, err := d.scenePlayer()
	if err != nil {
		return err
	}
	out := Scenes{Scenes: []SceneEntry{}}
	for _, s := range stages.Library().List() {
		out.Scenes = append(out.Scenes, presentEntry(s.InLanguage(query(c).Get("lang"))))
	}
	return reply(c, http.StatusOK, out)
}

func (d *handler) scene(c echo.Context) error {
	stages, err := d.scenePlayer()
	if err != nil {
		return err
	}
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	s, err := stages.Library().Find(name)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentScene(s.InLanguage(query(c).Get("lang"))))
}

func (d *handler) setScene(c echo.Context) error {
	stages, err := d.scenePlayer()
	if err != nil {
		return err
	}
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	text, err := readBody(c.Request(), demo.MaxBytes)
	if err != nil {
		return err
	}
	var s *demo.Scene
	if query(c).Has("check") {
		s, err = stages.Library().Check(name, text)
	} else {
		s, err = stages.SaveScene(c.Request().Context(), name, text, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentScene(s))
}

func (d *handler) deleteScene(c echo.Context) error {
	stages, err := d.scenePlayer()
	if err != nil {
		return err
	}
	name, err := nameParam(c)
	if err == nil {
		err = stages.DeleteScene(c.Request().Context(), name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
