package show

import (
	"context"
	"fmt"
	"strings"

	"mayfly/engine"
	"mayfly/engine/scene"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// foreign is the language of a scene's texts, where it is not that of the page.
func foreign(ctx context.Context, s *scene.Scene) string {
	if strings.EqualFold(s.Language, locale.Lang(ctx)) {
		return ""
	}
	return s.Language
}

// instead puts into words what is so instead of what a step says; empty: it is so.
func instead(ctx context.Context, is scene.Instead) string {
	args := locale.Args{"Of": is.Of, "Is": cut(is.Is, 120), "N": locale.Number(ctx, int(is.N)), "Want": locale.Number(ctx, int(is.Want))}
	switch is.What {
	case 0:
		return ""
	case scene.IsIn:
		args["Is"] = Shown(engine.Path(is.Is))
		return locale.T(ctx, "stage.is.in", args)
	case scene.IsGone:
		return locale.T(ctx, "stage.is.gone")
	case scene.IsUnread:
		return cut(is.Is, 120)
	case scene.IsThere:
		return locale.T(ctx, "stage.is.there", args)
	case scene.IsMissing:
		return locale.T(ctx, "stage.is.missing", args)
	case scene.HasCount:
		return locale.T(ctx, map[string]string{
			"active": "stage.is.count.active", "locked": "stage.is.count.locked", "deferred": "stage.is.count.deferred",
			"scheduled": "stage.is.count.scheduled", "dead": "stage.is.count.dead",
		}[is.Is], args)
	case scene.HasState:
		return locale.T(ctx, map[string]string{
			"active": "stage.is.active", "locked": "stage.is.locked", "deferred": "stage.is.deferred", "scheduled": "stage.is.scheduled",
		}[is.Is])
	case scene.HasReason:
		if is.Is == "" {
			return locale.T(ctx, "stage.is.noreason")
		}
		return locale.T(ctx, "stage.is.reason", args)
	case scene.HasFailed:
		return locale.N(ctx, "stage.is.failed", int(is.N))
	case scene.HasBody:
		return locale.T(ctx, "stage.is.body", args)
	case scene.HasProperty:
		return locale.T(ctx, "stage.is.property", args)
	default:
		panic(fmt.Sprintf("unknown kind of finding %d", is.What))
	}
}

// inWords has what an event says of how it happened in the words of the page: the event has
// it in those of a scene, or of the engine.
func (p *Pages) inWords(ctx context.Context, t trace) trace {
	switch t.kind {
	case engine.EventScenePlayed:
		play := p.o.Scenes.Peek(p.b.Name())
		if play == nil {
			return t
		}
		s := play.Scene().In(locale.Lang(ctx))
		if n, ok := s.ParsePlayed(t.reason); ok {
			t.reason = locale.T(ctx, "event.scene.step", locale.Args{"Step": n, "Of": len(s.Steps), "Say": strings.ReplaceAll(s.Steps[n-1].Say, "`", "")})
		}
	case engine.EventClockTurned:
		if turning, ok := scene.ParseTurning(t.reason); ok {
			t.reason = turned(ctx, turning)
		}
	case engine.EventSignedIn:
		t.reason = strings.Replace(t.reason, " · password · ", " · "+locale.T(ctx, "event.signin.password")+" · ", 1)
	case engine.EventSettingsChanged:
		if d, ok := engine.ParseSettingDeed(t.reason); ok {
			t.reason, t.worded = settingWords(ctx, d), true
		}
	case engine.EventAccessChanged:
		if d, ok := engine.ParseAccessDeed(t.reason); ok {
			t.reason, t.worded = locale.T(ctx, accessDids[d.Did], locale.Args{"Rule": component.Visible(d.Rule)}), true
		}
	}
	return t
}

func turned(ctx context.Context, t scene.Turning) string {
	switch {
	case t.Glide:
		return locale.T(ctx, "event.clock.glides")
	case t.Next != "":
		return locale.T(ctx, map[scene.Moment]string{
			scene.Expiry: "event.clock.expiry", scene.Activation: "event.clock.activation",
			scene.Unlock: "event.clock.unlock", scene.AutoDelete: "event.clock.autodelete",
		}[t.Next])
	case t.Rate > 0:
		return locale.T(ctx, "event.clock.runs", locale.Args{"Rate": t.Rate})
	default:
		return locale.T(ctx, "event.clock.stands")
	}
}
