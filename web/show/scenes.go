package show

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// ScenesURL returns the address of the page of all scenes, including the base path.
func (p *Pages) ScenesURL() string { return p.o.Base + "/scenes" }

// PlayURL returns the address below which actions on a play are posted.
func (p *Pages) PlayURL(namespace string) string {
	return p.o.Base + "/scenes/on/" + url.PathEscape(namespace)
}

// WatchURL returns the address where a play is watched, including the base path: the page that
// its current step names, or the first step before it has begun; the overview if the step
// names none.
func (p *Pages) WatchURL(s demo.State) string {
	look := s.Page()
	if look == "/" {
		look = ""
	}
	home := "/n/" + url.PathEscape(s.Namespace)
	at, err := p.table.Parse(home+look, p.b.Limits())
	if err != nil || p.Route(at).Type != TypePage {
		return p.o.Base + home
	}
	return p.o.Base + at.String()
}

// scenarioID matches the ids that cards show: those of scenarios, not of rules.
var scenarioID = regexp.MustCompile(`^[A-Z]+-S\d+$`)

// Scenes returns the page of all scenes, or ErrPageNotFound if the server has none.
func (p *Pages) Scenes(ctx context.Context, refused component.Notice) (page.Scenes, error) {
	stages := p.o.Scenes
	if stages == nil {
		return page.Scenes{}, ErrPageNotFound
	}
	m := page.Scenes{Shell: p.serverShell(ctx, locale.T(ctx, "scenes.title")), Stay: int(stages.IdleTimeout().Minutes()), Refused: refused}
	m.Shell.Back, m.Shell.Active, m.Add = p.ScenesURL(), layout.Scenes, p.ScenesURL()+"/new"
	for _, s := range stages.Library().List() {
		s := s.InLanguage(locale.Lang(ctx))
		c := page.SceneCard{
			Lang: foreignLanguage(ctx, s), Title: s.Title, Summary: s.Summary, Play: p.ScenesURL() + "/play/" + s.ID, Steps: len(s.Steps), Minutes: s.Minutes, Loaded: !s.Builtin, Text: p.ScenesURL() + "/text/" + s.ID,
		}
		if s.Added {
			c.Remove = p.removeSceneURL(s.ID)
		}
		for _, id := range s.Shows {
			if scenarioID.MatchString(id) {
				c.ScenarioIDs = append(c.ScenarioIDs, id)
			}
		}
		m.Cards = append(m.Cards, c)
	}
	for _, u := range stages.InvalidScenes() {
		m.Invalid = append(m.Invalid, page.InvalidScene{ID: u.ID, Faults: faultsOf(u), RepairURL: m.Add + "?" + url.Values{page.QueryRepair: {u.ID}}.Encode(), Remove: p.removeSceneURL(u.ID)})
	}
	for _, play := range stages.List() {
		is := play.State().InLanguage(locale.Lang(ctx))
		m.Plays = append(m.Plays, page.ScenePlay{
			Lang: foreignLanguage(ctx, is.Scene), Title: is.Scene.Title, Namespace: is.Namespace, Href: p.WatchURL(is), End: p.PlayURL(is.Namespace) + "/leave", Step: is.Done, Of: len(is.Scene.Steps),
		})
	}
	return m, nil
}

func (p *Pages) removeSceneURL(id string) string {
	return p.ScenesURL() + "/remove/" + url.PathEscape(id)
}

// faultsOf returns why a stored scene cannot be played.
func faultsOf(u demo.InvalidScene) []page.SceneFault {
	if wrong, ok := errors.AsType[*demo.SceneError](u.Err); ok {
		return sceneFaults(u.Text, wrong.Problems)
	}
	if r, ok := errors.AsType[*engine.Refusal](u.Err); ok {
		return []page.SceneFault{{Text: r.Text}}
	}
	return []page.SceneFault{{Text: toSentence(u.Err.Error())}}
}

// sceneFaults returns the faults of a text, with their lines.
func sceneFaults(text string, all []demo.Problem) (out []page.SceneFault) {
	lines := strings.Split(text, "\n")
	for _, f := range all {
		one := page.SceneFault{Line: f.Line, At: f.At, Text: f.Text}
		if f.Line > 0 && f.Line <= len(lines) {
			one.Source = shorten.To(strings.TrimSpace(lines[f.Line-1]), maxSourceBytes)
		}
		out = append(out, one)
	}
	return out
}

// ConfirmRemoveScene asks to confirm the removal of an added scene. It returns demo.ErrNoScene
// if the scene does not exist, and ErrPageNotFound for a built-in one.
func (p *Pages) ConfirmRemoveScene(ctx context.Context, id string) (page.ConfirmRemoveScene, error) {
	if p.o.Scenes == nil {
		return page.ConfirmRemoveScene{}, ErrPageNotFound
	}
	m := page.ConfirmRemoveScene{Name: id, To: p.removeSceneURL(id), All: p.ScenesURL(), Text: p.ScenesURL() + "/text/" + url.PathEscape(id)}
	if _, ok := p.o.Scenes.FindInvalidScene(id); ok {
		m.Text += "?" + page.QueryRepair + "=1"
	} else {
		s, err := p.o.Scenes.Library().Find(id)
		if err != nil {
			return m, err
		}
		if !s.Added {
			return m, ErrPageNotFound
		}
		m.Name = s.InLanguage(locale.Lang(ctx)).Title
	}
	m.Shell = p.serverShell(ctx, m.Title(ctx))
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
func (p *Pages) SceneForm(ctx context.Context, typed SceneFormState) (page.SceneForm, error) {
	if p.o.Scenes == nil {
		return page.SceneForm{}, ErrPageNotFound
	}
	m := page.SceneForm{
		Shell: p.serverShell(ctx, locale.T(ctx, "scenes.add")), All: p.ScenesURL(), To: p.ScenesURL() + "/new", Most: component.Bytes(ctx, demo.MaxBytes),
		ID: typed.ID, Text: typed.Text, Error: typed.Error, IDError: typed.IDError,
	}
	m.Shell.Back, m.Shell.Active = p.ScenesURL()+"/new", layout.Scenes
	m.Faults = sceneFaults(typed.Text, typed.Faults)
	return m, nil
}

// maxSourceBytes is how many bytes of a scene's line are shown beside its error.
const maxSourceBytes = 120

// addSceneBar adds the scene that is played in the namespace, if any, to the shell.
func (p *Pages) addSceneBar(ctx context.Context, sh *layout.Shell) {
	if p.o.Scenes == nil {
		return
	}
	sh.Scenes = p.ScenesURL()
	var play *demo.Playback
	if _, seen := ctx.Value(visitorKey{}).(Visitor); seen {
		play = p.o.Scenes.Find(p.b.Name())
	} else { // a live rendering, perhaps without any viewer: it must not keep the play alive
		play = p.o.Scenes.Peek(p.b.Name())
	}
	if play == nil {
		return
	}
	is := play.State().InLanguage(locale.Lang(ctx))
	s := &layout.SceneBar{
		Lang: foreignLanguage(ctx, is.Scene), Title: is.Scene.Title, URL: p.PlayURL(is.Namespace), All: p.ScenesURL(), Step: is.Done, Of: len(is.Scene.Steps), Caption: is.Scene.Summary,
		Playing: is.Playing, Over: is.Ended(), Rebuilt: is.Recreated, Rate: is.ClockState.Rate, Animated: is.ClockState.Until != 0, Now: is.Clock.Time(), RealTime: time.Now(),
	}
	if is.Trouble != nil {
		s.Trouble = cmp.Or(errors.Unwrap(is.Trouble), is.Trouble).Error() // the step is shown above
	}
	if is.Ended() && !is.Playing && is.Trouble == nil {
		s.Next = p.nextScene(ctx, is.Scene.ID)
	}
	for _, f := range is.Findings {
		s.Checks = append(s.Checks, layout.StepCheck{Text: f.Text, Actual: actualState(ctx, f.Actual)})
	}
	if step := is.Step(); step != nil {
		s.Caption, s.Highlights = step.Caption, p.highlights(ctx, is, step)
	}
	if isConfined(ctx) {
		s.All = ""
	}
	sh.Scene = s
}

// nextScene returns the scene after this one in the library, or nil if there is none.
func (p *Pages) nextScene(ctx context.Context, id string) *layout.NextScene {
	all := p.o.Scenes.Library().List()
	at := 1 + slices.IndexFunc(all, func(s *demo.Scene) bool { return s.ID == id })
	if at == 0 || at == len(all) { // removed meanwhile, or the last one
		return nil
	}
	next := all[at].InLanguage(locale.Lang(ctx))
	return &layout.NextScene{Title: next.Title, Lang: foreignLanguage(ctx, next), Play: p.ScenesURL() + "/play/" + next.ID}
}

// highlights returns links to what a step points out, as far as it exists.
func (p *Pages) highlights(ctx context.Context, is demo.State, step *demo.Step) []layout.Highlight {
	if len(step.Highlight) == 0 {
		return nil
	}
	var marks []layout.Highlight
	err := p.b.Read(ctx, func(r broker.Reader) error {
		marks = make([]layout.Highlight, 0, len(step.Highlight))
		for _, name := range step.Highlight {
			if k, ok := is.Keys[name]; ok && k != 0 {
				if _, err := r.Message(k); err == nil {
					marks = append(marks, layout.Highlight{Label: name, Href: p.MessageURL(k)})
				}
			} else if s, err := r.State(engine.Path(name)); err == nil {
				marks = append(marks, layout.Highlight{Label: name, Href: p.EntityURL(s.Kind, s.Path)})
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return slices.Clip(marks)
}

// PlayPage returns the canonical form of address, including the base path, if it is a page of
// the play's namespace; else the address where the play is watched.
func (p *Pages) PlayPage(address string, s demo.State) string {
	raw, ok := strings.CutPrefix(address, p.o.Base)
	if at, err := p.table.Parse(raw, p.b.Limits()); ok && err == nil && p.Route(at).Type == TypePage && strings.EqualFold(at.Namespace, s.Namespace) {
		return p.o.Base + at.String()
	}
	return p.WatchURL(s)
}
