package activity

import (
	"context"
	"errors"
	"net/url"
	"regexp"
	"strings"

	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page/activity"
	"mayfly/web/dashboard/pages"
)

// scenarioID matches the ids that cards show: those of scenarios, not of rules.
var scenarioID = regexp.MustCompile(`^[A-Z]+-S\d+$`)

// Scenes returns the page of all scenes, or ErrPageNotFound if the server has none.
func Scenes(ctx context.Context, p *pages.Pages, refused component.Notice) (activity.Scenes, error) {
	stages := p.Options.Scenes
	if stages == nil {
		return activity.Scenes{}, pages.ErrPageNotFound
	}
	m := activity.Scenes{Shell: p.ServerShell(ctx, locale.T(ctx, "scenes.title")), Stay: int(stages.IdleTimeout().Minutes()), Refused: refused}
	m.Shell.Back, m.Shell.Active, m.Add = p.ScenesURL(), layout.Scenes, p.ScenesURL()+"/new"
	for _, s := range stages.Library().List() {
		s := s.InLanguage(locale.Lang(ctx))
		c := activity.SceneCard{
			Lang: pages.ForeignLanguage(ctx, s), Title: s.Title, Summary: s.Summary, Play: p.ScenesURL() + "/play/" + s.ID, Steps: len(s.Steps), Minutes: s.Minutes, Loaded: !s.Builtin, Text: p.ScenesURL() + "/text/" + s.ID,
		}
		if s.Added {
			c.Remove = removeSceneURL(p, s.ID)
		}
		for _, id := range s.Shows {
			if scenarioID.MatchString(id) {
				c.ScenarioIDs = append(c.ScenarioIDs, id)
			}
		}
		m.Cards = append(m.Cards, c)
	}
	for _, u := range stages.InvalidScenes() {
		m.Invalid = append(m.Invalid, activity.InvalidScene{ID: u.ID, Faults: faultsOf(u), RepairURL: m.Add + "?" + url.Values{activity.QueryRepair: {u.ID}}.Encode(), Remove: removeSceneURL(p, u.ID)})
	}
	for _, play := range stages.List() {
		is := play.State().InLanguage(locale.Lang(ctx))
		m.Plays = append(m.Plays, activity.ScenePlay{
			Lang: pages.ForeignLanguage(ctx, is.Scene), Title: is.Scene.Title, Namespace: is.Namespace, Href: p.WatchURL(is), End: p.PlayURL(is.Namespace) + "/leave", Step: is.Done, Of: len(is.Scene.Steps),
		})
	}
	return m, nil
}

func removeSceneURL(p *pages.Pages, id string) string {
	return p.ScenesURL() + "/remove/" + url.PathEscape(id)
}

// faultsOf returns why a stored scene cannot be played.
func faultsOf(u demo.InvalidScene) []activity.SceneFault {
	if wrong, ok := errors.AsType[*demo.SceneError](u.Err); ok {
		return sceneFaults(u.Text, wrong.Problems)
	}
	if r, ok := errors.AsType[*engine.Refusal](u.Err); ok {
		return []activity.SceneFault{{Text: r.Text}}
	}
	return []activity.SceneFault{{Text: pages.ToSentence(u.Err.Error())}}
}

// sceneFaults returns the faults of a text, with their lines.
func sceneFaults(text string, all []demo.Problem) (out []activity.SceneFault) {
	lines := strings.Split(text, "\n")
	for _, f := range all {
		one := activity.SceneFault{Line: f.Line, At: f.At, Text: f.Text}
		if f.Line > 0 && f.Line <= len(lines) {
			one.Source = shorten.To(strings.TrimSpace(lines[f.Line-1]), maxSourceBytes)
		}
		out = append(out, one)
	}
	return out
}

// ConfirmRemoveScene asks to confirm the removal of an added scene. It returns demo.ErrNoScene
// if the scene does not exist, and ErrPageNotFound for a built-in one.
func ConfirmRemoveScene(ctx context.Context, p *pages.Pages, id string) (activity.ConfirmRemoveScene, error) {
	if p.Options.Scenes == nil {
		return activity.ConfirmRemoveScene{}, pages.ErrPageNotFound
	}
	m := activity.ConfirmRemoveScene{Name: id, To: removeSceneURL(p, id), All: p.ScenesURL(), Text: p.ScenesURL() + "/text/" + url.PathEscape(id)}
	if _, ok := p.Options.Scenes.FindInvalidScene(id); ok {
		m.Text += "?" + activity.QueryRepair + "=1"
	} else {
		s, err := p.Options.Scenes.Library().Find(id)
		if err != nil {
			return m, err
		}
		if !s.Added {
			return m, pages.ErrPageNotFound
		}
		m.Name = s.InLanguage(locale.Lang(ctx)).Title
	}
	m.Shell = p.ServerShell(ctx, m.Title(ctx))
	m.Shell.Back, m.Shell.Active = p.ScenesURL(), layout.Scenes
	return m, nil
}

// SceneFormState is the submitted form of a new scene, with its errors.
type SceneFormState struct {
	ID, Text       string
	Error, IDError component.Text
	Faults         []demo.Problem
}

// SceneForm returns the form that adds a scene.
func SceneForm(ctx context.Context, p *pages.Pages, typed SceneFormState) (activity.SceneForm, error) {
	if p.Options.Scenes == nil {
		return activity.SceneForm{}, pages.ErrPageNotFound
	}
	m := activity.SceneForm{
		Shell: p.ServerShell(ctx, locale.T(ctx, "scenes.add")), All: p.ScenesURL(), To: p.ScenesURL() + "/new", Most: component.Bytes(ctx, demo.MaxBytes),
		ID: typed.ID, Text: typed.Text, Error: typed.Error, IDError: typed.IDError,
	}
	m.Shell.Back, m.Shell.Active = p.ScenesURL()+"/new", layout.Scenes
	m.Faults = sceneFaults(typed.Text, typed.Faults)
	return m, nil
}

// maxSourceBytes is how many bytes of a scene's line are shown beside its error.
const maxSourceBytes = 120
