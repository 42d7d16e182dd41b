package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/scene"
	"mayfly/web/identity"
)

// Scenes is the answer of GET /scenes.
type Scenes struct {
	Scenes []SceneEntry `json:"scenes"` // those that came with the program first
}

// SceneEntry is a scene without what is in it.
type SceneEntry struct {
	ID      string   `json:"id"`
	Title   string   `json:"title"`
	Teaches string   `json:"teaches"`           // what it shows, in a sentence or two
	Shows   []string `json:"shows,omitempty"`   // ids of rules and scenarios of the specification
	Minutes int      `json:"minutes,omitempty"` // how long showing it takes; missing: it does not say
	Steps   int      `json:"steps"`             // how many it has
	From    string   `json:"from"`              // program; folder: that of --scenes; or added: it can be replaced and deleted

	Language  string   `json:"language"`            // that of its texts here, as a tag
	Languages []string `json:"languages,omitempty"` // those that it has besides the one it was written in: see lang
}

// Scene is one scene.
type Scene struct {
	SceneEntry
	Captions []string `json:"captions"` // of its steps
	Text     string   `json:"text"`     // all of it, in YAML
}

func sceneRoutes() []route {
	const part = "The id of a scene: up to 40 small letters, digits and hyphens."
	return []route{
		{
			method: "GET", path: "/scenes", id: "listScenes", group: groupScenes, summary: "All scenes",
			query: []parameter{inLanguage()},
			gives: Scenes{}, fails: []string{"NotSupported"}, serve: (*door).scenes,
		},
		{
			method: "GET", path: "/scenes/{name}", id: "getScene", group: groupScenes, summary: "One scene, with its YAML",
			at: "deadline", part: part, query: []parameter{inLanguage()},
			gives: Scene{}, fails: []string{"SceneNotFound", "NotSupported"}, serve: (*door).scene,
		},
		{
			method: "PUT", path: "/scenes/{name}", id: "setScene", needs: identity.Admin, group: groupScenes, summary: "Add a scene, or replace one that was added",
			at: "lunch", part: part, sends: `{title: Lunch, teaches: What nobody fetches gets cold., entities: [{queue: kitchen}], steps: [{say: Two soups., do: [{send: {to: kitchen, body: two soups, ttl: 1m}}]}]}`,
			about: "All that is wrong with it is told at once, each by its line, and changes nothing. It is kept as the server's own namespace is. What is under way is played on as it was. One that came with the program, or is in the folder of --scenes, stays.",
			query: []parameter{yes("check", "Only tell what is wrong with it.")},
			takes: written{"application/yaml", "A scene, as GET /scenes/{name} has it in text."}, most: scene.MostBytes,
			gives: Scene{}, fails: []string{"SceneAlreadyExists", "QuotaExceeded", "NotSupported"}, serve: (*door).setScene,
		},
		{
			method: "DELETE", path: "/scenes/{name}", id: "deleteScene", needs: identity.Admin, group: groupScenes, summary: "Forget a scene that was added",
			at: "dinner", part: part,
			about: "What is under way is played on. One that came with the program, or is in the folder of --scenes, stays.",
			fails: []string{"SceneNotFound", "InvalidOperation", "NotSupported"}, serve: (*door).deleteScene,
		},
	}
}

// inLanguage is the language that texts of scenes are wanted in.
func inLanguage() parameter {
	return word("lang", "The language of titles, captions and what is so, such as cs or pt-BR, where the scene has it. Left out: that in which it was written.").like("cs")
}

// stages are where scenes are played.
func (d *door) stages() (*scene.Stages, error) {
	if d.plays == nil {
		return nil, &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "This server has no scenes."}
	}
	return d.plays, nil
}

func presentEntry(s *scene.Scene) SceneEntry {
	out := SceneEntry{ID: s.ID, Title: s.Title, Teaches: s.Teaches, Shows: s.Shows, Minutes: s.Minutes, Steps: len(s.Steps), From: "folder", Language: s.Language, Languages: s.Tongues()}
	switch {
	case s.Own:
		out.From = "program"
	case s.Added:
		out.From = "added"
	}
	return out
}

func presentScene(s *scene.Scene) Scene {
	out := Scene{SceneEntry: presentEntry(s), Text: s.Text, Captions: make([]string, len(s.Steps))}
	for i := range s.Steps {
		out.Captions[i] = s.Steps[i].Say
	}
	return out
}

func (d *door) scenes(c echo.Context) error {
	stages, err := d.stages()
	if err != nil {
		return err
	}
	out := Scenes{Scenes: []SceneEntry{}}
	for _, s := range stages.Library().List() {
		out.Scenes = append(out.Scenes, presentEntry(s.In(query(c).Get("lang"))))
	}
	return reply(c, http.StatusOK, out)
}

func (d *door) scene(c echo.Context) error {
	stages, err := d.stages()
	if err != nil {
		return err
	}
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	s, err := stages.Library().Find(name)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	return reply(c, http.StatusOK, presentScene(s.In(query(c).Get("lang"))))
}

func (d *door) setScene(c echo.Context) error {
	stages, err := d.stages()
	if err != nil {
		return err
	}
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	text, err := readBody(c.Request(), scene.MostBytes)
	if err != nil {
		return err
	}
	var s *scene.Scene
	if query(c).Has("check") {
		s, err = stages.Library().Check(name, text)
	} else {
		s, err = stages.Keep(c.Request().Context(), name, text, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, presentScene(s))
}

func (d *door) deleteScene(c echo.Context) error {
	stages, err := d.stages()
	if err != nil {
		return err
	}
	name, err := nameIn(c)
	if err == nil {
		err = stages.Forget(c.Request().Context(), name, client(c.Request()))
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
