package activity

import (
	"context"
	"strings"

	"mayfly/engine"
	"mayfly/engine/demo"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// translateReason returns the event record with its reason in the viewer's language, if the reason
// is a text of a scene or of the engine.
func translateReason(ctx context.Context, p *pages.Pages, t recent.EventRecord) recent.EventRecord {
	switch t.Kind {
	case engine.EventScenePlayed:
		play := p.Options.Scenes.Peek(p.Broker.Name())
		if play == nil {
			return t
		}
		s := play.Scene().InLanguage(locale.Lang(ctx))
		if n, ok := s.ParsePlayed(t.Reason); ok {
			t.Reason = locale.T(ctx, "event.scene.step", locale.Args{"Step": n, "Of": len(s.Steps), "Say": strings.ReplaceAll(s.Steps[n-1].Caption, "`", "")})
		}
	case engine.EventClockTurned:
		if turning, ok := demo.ParseClockChange(t.Reason); ok {
			t.Reason = clockText(ctx, turning)
		}
	case engine.EventSignedIn:
		t.Reason = strings.Replace(t.Reason, " · password · ", " · "+locale.T(ctx, "event.signin.password")+" · ", 1)
	case engine.EventSettingsChanged:
		if d, ok := engine.ParseSettingAction(t.Reason); ok {
			t.Reason, t.Translated = settingText(ctx, d), true
		}
	case engine.EventAccessChanged:
		if d, ok := engine.ParseAccessAction(t.Reason); ok {
			t.Reason, t.Translated = locale.T(ctx, accessActionTexts[d.Kind], locale.Args{"Rule": component.ShowInvisible(d.Rule)}), true
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
