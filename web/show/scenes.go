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
	"mayfly/engine/scene"
	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// ScenesURL is the address of the page of all scenes, base path included.
func (p *Pages) ScenesURL() string { return p.o.Base + "/scenes" }

// StageURL is the address behind which what is done to a play is posted.
func (p *Pages) StageURL(namespace string) string {
	return p.o.Base + "/scenes/on/" + url.PathEscape(namespace)
}

// WatchURL is where a play is watched, base path included: the page that its step
// names, before the first that of the first one; the overview if that is none.
func (p *Pages) WatchURL(s scene.State) string {
	look := s.Look()
	if look == "/" {
		look = ""
	}
	home := "/n/" + url.PathEscape(s.Namespace)
	at, err := Parse(home+look, p.b.Limits())
	if err != nil || at.Do != "" {
		return p.o.Base + home
	}
	return p.o.Base + at.String()
}

// scenario are the ids that cards show: those of scenarios, not of rules.
var scenario = regexp.MustCompile(`^[A-Z]+-S\d+$`)

// Scenes is the page of all scenes. It is ErrNoPage where there are none.
func (p *Pages) Scenes(ctx context.Context, refused component.Notice) (page.Scenes, error) {
	stages := p.o.Scenes
	if stages == nil {
		return page.Scenes{}, ErrNoPage
	}
	m := page.Scenes{Shell: p.beside(ctx, locale.T(ctx, "scenes.title")), Stay: int(stages.Stay().Minutes()), Refused: refused}
	m.Shell.Back, m.Shell.Active, m.Add = p.ScenesURL(), layout.Scenes, p.ScenesURL()+"/new"
	for _, s := range stages.Library().List() {
		s := s.In(locale.Lang(ctx))
		c := page.SceneCard{
			Lang: foreign(ctx, s), Title: s.Title, Teaches: s.Teaches, Play: p.ScenesURL() + "/play/" + s.ID, Steps: len(s.Steps), Minutes: s.Minutes, Loaded: !s.Own, Text: p.ScenesURL() + "/text/" + s.ID,
		}
		if s.Added {
			c.Remove = p.removeSceneURL(s.ID)
		}
		for _, id := range s.Shows {
			if scenario.MatchString(id) {
				c.Shows = append(c.Shows, id)
			}
		}
		m.Cards = append(m.Cards, c)
	}
	for _, u := range stages.Unfit() {
		m.Unfit = append(m.Unfit, page.SceneUnfit{ID: u.ID, Faults: faultsOf(u), Mend: m.Add + "?" + url.Values{page.SceneMend: {u.ID}}.Encode(), Remove: p.removeSceneURL(u.ID)})
	}
	for _, play := range stages.List() {
		is := play.State().In(locale.Lang(ctx))
		m.Plays = append(m.Plays, page.ScenePlay{
			Lang: foreign(ctx, is.Scene), Title: is.Scene.Title, Namespace: is.Namespace, Href: p.WatchURL(is), End: p.StageURL(is.Namespace) + "/leave", Step: is.Done, Of: len(is.Scene.Steps),
		})
	}
	return m, nil
}

func (p *Pages) removeSceneURL(id string) string {
	return p.ScenesURL() + "/remove/" + url.PathEscape(id)
}

// faultsOf is why a scene that is kept cannot be played.
func faultsOf(u scene.Unfit) []page.SceneFault {
	if wrong, ok := errors.AsType[*scene.WrongError](u.Err); ok {
		return sceneFaults(u.Text, wrong.Faults)
	}
	if r, ok := errors.AsType[*engine.Refusal](u.Err); ok {
		return []page.SceneFault{{Text: r.Text}}
	}
	return []page.SceneFault{{Text: asSentence(u.Err.Error())}}
}

// sceneFaults are faults of a text, with the lines that they are in.
func sceneFaults(text string, all []scene.Fault) (out []page.SceneFault) {
	lines := strings.Split(text, "\n")
	for _, f := range all {
		one := page.SceneFault{Line: f.Line, At: f.At, Text: f.Text}
		if f.Line > 0 && f.Line <= len(lines) {
			one.Source = cut(strings.TrimSpace(lines[f.Line-1]), longestSource)
		}
		out = append(out, one)
	}
	return out
}

// SceneAsk asks whether to remove a scene that was added. It is scene.ErrNone where there
// is none, and ErrNoPage of one that stays.
func (p *Pages) SceneAsk(ctx context.Context, id string) (page.SceneAsk, error) {
	if p.o.Scenes == nil {
		return page.SceneAsk{}, ErrNoPage
	}
	m := page.SceneAsk{Name: id, To: p.removeSceneURL(id), All: p.ScenesURL(), Text: p.ScenesURL() + "/text/" + url.PathEscape(id)}
	if _, ok := p.o.Scenes.FindUnfit(id); ok {
		m.Text += "?" + page.SceneMend + "=1"
	} else {
		s, err := p.o.Scenes.Library().Find(id)
		if err != nil {
			return m, err //nolint:wrapcheck // it says what it is about
		}
		if !s.Added {
			return m, ErrNoPage
		}
		m.Name = s.In(locale.Lang(ctx)).Title
	}
	m.Shell = p.beside(ctx, m.Title(ctx))
	m.Shell.Back, m.Shell.Active = p.ScenesURL(), layout.Scenes
	return m, nil
}

// SceneTyped is what somebody sent who adds a scene, and what is wrong with it.
type SceneTyped struct {
	ID, Text       string
	Error, IDError component.Text
	Faults         []scene.Fault
}

// SceneForm is the page that adds a scene.
func (p *Pages) SceneForm(ctx context.Context, typed SceneTyped) (page.SceneForm, error) {
	if p.o.Scenes == nil {
		return page.SceneForm{}, ErrNoPage
	}
	m := page.SceneForm{
		Shell: p.beside(ctx, locale.T(ctx, "scenes.add")), All: p.ScenesURL(), To: p.ScenesURL() + "/new", Most: component.Bytes(ctx, scene.MostBytes),
		ID: typed.ID, Text: typed.Text, Error: typed.Error, IDError: typed.IDError,
	}
	m.Shell.Back, m.Shell.Active = p.ScenesURL()+"/new", layout.Scenes
	m.Faults = sceneFaults(typed.Text, typed.Faults)
	return m, nil
}

// longestSource is how much of a line of a scene is shown beside what is wrong with it.
const longestSource = 120

// stage has the shell show the scene that is played in the namespace, if one is.
func (p *Pages) stage(ctx context.Context, sh *layout.Shell) {
	if p.o.Scenes == nil {
		return
	}
	sh.Scenes = p.ScenesURL()
	var play *scene.Play
	if _, seen := ctx.Value(visitorKey{}).(Visitor); seen {
		play = p.o.Scenes.Find(p.b.Name())
	} else { // rendered for pages that are open, perhaps for nobody who is there
		play = p.o.Scenes.Peek(p.b.Name())
	}
	if play == nil {
		return
	}
	is := play.State().In(locale.Lang(ctx))
	s := &layout.Strip{
		Lang: foreign(ctx, is.Scene), Title: is.Scene.Title, To: p.StageURL(is.Namespace), All: p.ScenesURL(), Step: is.Done, Of: len(is.Scene.Steps), Say: is.Scene.Teaches,
		Playing: is.Playing, Over: is.Over(), Mended: is.Mended, Rate: is.Pace.Rate, Glide: is.Pace.Until != 0, Now: is.Clock.Time(), Wall: time.Now(),
	}
	if is.Trouble != nil {
		s.Trouble = cmp.Or(errors.Unwrap(is.Trouble), is.Trouble).Error() // which step it was stands above
	}
	if is.Over() && !is.Playing && is.Trouble == nil {
		s.Then = p.sequel(ctx, is.Scene.ID)
	}
	for _, f := range is.Findings {
		s.Done = append(s.Done, layout.Finding{Text: f.Text, Is: instead(ctx, f.Is)})
	}
	if step := is.Step(); step != nil {
		s.Say, s.Marks = step.Say, p.marks(ctx, is, step)
	}
	if within(ctx) {
		s.All = ""
	}
	sh.Strip = s
}

// sequel is the scene that comes after one in the library; nil: none does.
func (p *Pages) sequel(ctx context.Context, id string) *layout.Sequel {
	all := p.o.Scenes.Library().List()
	at := 1 + slices.IndexFunc(all, func(s *scene.Scene) bool { return s.ID == id })
	if at == 0 || at == len(all) { // it was removed meanwhile, or is the last
		return nil
	}
	next := all[at].In(locale.Lang(ctx))
	return &layout.Sequel{Title: next.Title, Lang: foreign(ctx, next), Play: p.ScenesURL() + "/play/" + next.ID}
}

// marks is what a step has somebody look at, as far as it is there.
func (p *Pages) marks(ctx context.Context, is scene.State, step *scene.Step) []layout.Mark {
	if len(step.Mark) == 0 {
		return nil
	}
	var marks []layout.Mark
	err := p.b.Read(ctx, func(r broker.Reader) error {
		marks = make([]layout.Mark, 0, len(step.Mark))
		for _, name := range step.Mark {
			if k, ok := is.Keys[name]; ok && k != 0 {
				if _, err := r.Message(k); err == nil {
					marks = append(marks, layout.Mark{Label: name, Href: p.MessageURL(k)})
				}
			} else if s, err := r.State(engine.Path(name)); err == nil {
				marks = append(marks, layout.Mark{Label: name, Href: p.EntityURL(s.Kind, s.Path)})
			}
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return slices.Clip(marks)
}

// StagePage is an address of a page of a play's namespace as it is written in one
// way, base path included; where it is none, where the play is watched.
func (p *Pages) StagePage(address string, s scene.State) string {
	raw, ok := strings.CutPrefix(address, p.o.Base)
	if at, err := Parse(raw, p.b.Limits()); ok && err == nil && at.Do == "" && strings.EqualFold(at.Namespace, s.Namespace) {
		return p.o.Base + at.String()
	}
	return p.WatchURL(s)
}
