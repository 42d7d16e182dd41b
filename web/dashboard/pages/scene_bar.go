package pages

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/demo"
	"mayfly/engine/shorten"
	"mayfly/views/layout"
	"mayfly/views/locale"
)

// ForeignLanguage returns the language of a scene's texts if it is not that of the page.
func ForeignLanguage(ctx context.Context, s *demo.Scene) string {
	if strings.EqualFold(s.Language, locale.Lang(ctx)) {
		return ""
	}
	return s.Language
}

// actualState describes the actual state where it differs from a step's expectation. It returns
// "" if it does not differ.
func actualState(ctx context.Context, is demo.Actual) string {
	args := locale.Args{"Of": is.Subject, "Is": shorten.To(is.Value, 120), "N": locale.Number(ctx, int(is.Count)), "Want": locale.Number(ctx, int(is.Want))}
	switch is.Kind {
	case 0:
		return ""
	case demo.IsIn:
		args["Is"] = DisplayPath(engine.Path(is.Value))
		return locale.T(ctx, "stage.is.in", args)
	case demo.IsGone:
		return locale.T(ctx, "stage.is.gone")
	case demo.IsUnread:
		return shorten.To(is.Value, 120)
	case demo.IsThere:
		return locale.T(ctx, "stage.is.there", args)
	case demo.IsMissing:
		return locale.T(ctx, "stage.is.missing", args)
	case demo.HasCount:
		return locale.T(ctx, map[string]string{
			"active": "stage.is.count.active", "locked": "stage.is.count.locked", "deferred": "stage.is.count.deferred",
			"scheduled": "stage.is.count.scheduled", "dead": "stage.is.count.dead",
		}[is.Value], args)
	case demo.HasState:
		return locale.T(ctx, map[string]string{
			"active": "stage.is.active", "locked": "stage.is.locked", "deferred": "stage.is.deferred", "scheduled": "stage.is.scheduled",
		}[is.Value])
	case demo.HasReason:
		if is.Value == "" {
			return locale.T(ctx, "stage.is.noreason")
		}
		return locale.T(ctx, "stage.is.reason", args)
	case demo.HasFailed:
		return locale.N(ctx, "stage.is.failed", int(is.Count))
	case demo.HasBody:
		return locale.T(ctx, "stage.is.body", args)
	case demo.HasProperty:
		return locale.T(ctx, "stage.is.property", args)
	default:
		panic(fmt.Sprintf("unknown kind of actual state %d", is.Kind))
	}
}

// addSceneBar adds the scene that is played in the namespace, if any, to the shell.
func (p *Pages) addSceneBar(ctx context.Context, sh *layout.Shell) {
	if p.Options.Scenes == nil {
		return
	}
	sh.Scenes = p.ScenesURL()
	var play *demo.Playback
	if _, seen := ctx.Value(VisitorKey{}).(Visitor); seen {
		play = p.Options.Scenes.Find(p.Broker.Name())
	} else { // a live rendering, perhaps without any viewer: it must not keep the playback alive
		play = p.Options.Scenes.Peek(p.Broker.Name())
	}
	if play == nil {
		return
	}
	is := play.State().InLanguage(locale.Lang(ctx))
	s := &layout.SceneBar{
		Lang: ForeignLanguage(ctx, is.Scene), Title: is.Scene.Title, URL: p.PlayURL(is.Namespace), All: p.ScenesURL(), Step: is.Done, Of: len(is.Scene.Steps), Caption: is.Scene.Summary,
		Playing: is.Playing, Over: is.Ended(), Rebuilt: is.Recreated, Rate: is.ClockState.Rate, Animated: is.ClockState.Until != 0, Now: is.Clock.Time(), RealTime: time.Now(),
	}
	if is.Trouble != nil {
		s.Trouble = cmp.Or(errors.Unwrap(is.Trouble), is.Trouble).Error() // without the step, which the bar shows anyway
	}
	if is.Ended() && !is.Playing && is.Trouble == nil {
		s.Next = p.nextScene(ctx, is.Scene.ID)
	}
	for _, f := range is.Results {
		s.Checks = append(s.Checks, layout.StepCheck{Text: f.Text, Actual: actualState(ctx, f.Actual)})
	}
	if step := is.Step(); step != nil {
		s.Caption, s.Highlights = step.Caption, p.highlights(ctx, is, step)
	}
	if IsConfined(ctx) {
		s.All = ""
	}
	sh.Scene = s
}

// nextScene returns the scene after this one in the library, or nil if there is none.
func (p *Pages) nextScene(ctx context.Context, id string) *layout.NextScene {
	all := p.Options.Scenes.Library().List()
	at := 1 + slices.IndexFunc(all, func(s *demo.Scene) bool { return s.ID == id })
	if at == 0 || at == len(all) { // the scene has been removed meanwhile, or is the last one
		return nil
	}
	next := all[at].InLanguage(locale.Lang(ctx))
	return &layout.NextScene{Title: next.Title, Lang: ForeignLanguage(ctx, next), Play: p.ScenesURL() + "/play/" + next.ID}
}

// highlights returns links to the messages and entities that a step highlights and that exist.
func (p *Pages) highlights(ctx context.Context, is demo.State, step *demo.Step) []layout.Highlight {
	if len(step.Highlight) == 0 {
		return nil
	}
	var marks []layout.Highlight
	err := p.Broker.Read(ctx, func(r broker.Reader) error {
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
