package show

import (
	"context"
	"fmt"
	"strings"

	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// foreignLanguage returns the language of a scene's texts if it is not that of the page.
func foreignLanguage(ctx context.Context, s *demo.Scene) string {
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
		panic(fmt.Sprintf("unknown kind of finding %d", is.Kind))
	}
}

// translateReason translates the reason of an event, which the event has in the words of a scene or of
// the engine.
func (p *Pages) translateReason(ctx context.Context, t eventRecord) eventRecord {
	switch t.kind {
	case engine.EventScenePlayed:
		play := p.o.Scenes.Peek(p.b.Name())
		if play == nil {
			return t
		}
		s := play.Scene().InLanguage(locale.Lang(ctx))
		if n, ok := s.ParsePlayed(t.reason); ok {
			t.reason = locale.T(ctx, "event.scene.step", locale.Args{"Step": n, "Of": len(s.Steps), "Say": strings.ReplaceAll(s.Steps[n-1].Caption, "`", "")})
		}
	case engine.EventClockTurned:
		if turning, ok := demo.ParseClockChange(t.reason); ok {
			t.reason = clockText(ctx, turning)
		}
	case engine.EventSignedIn:
		t.reason = strings.Replace(t.reason, " · password · ", " · "+locale.T(ctx, "event.signin.password")+" · ", 1)
	case engine.EventSettingsChanged:
		if d, ok := engine.ParseSettingAction(t.reason); ok {
			t.reason, t.translated = settingText(ctx, d), true
		}
	case engine.EventAccessChanged:
		if d, ok := engine.ParseAccessAction(t.reason); ok {
			t.reason, t.translated = locale.T(ctx, accessActionTexts[d.Kind], locale.Args{"Rule": component.ShowInvisible(d.Rule)}), true
		}
	}
	return t
}

func clockText(ctx context.Context, t demo.ClockChange) string {
	switch {
	case t.Running:
		return locale.T(ctx, "event.clock.glides")
	case t.JumpedTo != "":
		return locale.T(ctx, map[demo.Moment]string{
			demo.Expiry: "event.clock.expiry", demo.Activation: "event.clock.activation",
			demo.Unlock: "event.clock.unlock", demo.AutoDelete: "event.clock.autodelete",
		}[t.JumpedTo])
	case t.Rate > 0:
		return locale.T(ctx, "event.clock.runs", locale.Args{"Rate": t.Rate})
	default:
		return locale.T(ctx, "event.clock.stands")
	}
}
