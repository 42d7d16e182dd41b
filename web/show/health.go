package show

import (
	"context"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// banner says on every page what keeps the broker from working as it should.
func (p *Pages) banner(ctx context.Context) component.Notice {
	h := p.b.Health()
	switch {
	case h.ReadOnly != "":
		return component.Notice{
			Tone:   component.Critical,
			Title:  locale.T(ctx, "health.readonly"),
			Detail: locale.T(ctx, "health.readonly.detail"),
			Said:   asSentence(h.ReadOnly),
		}
	case h.Reopening != "":
		return component.Notice{
			Tone:   component.Critical,
			Title:  locale.T(ctx, "health.reopening"),
			Detail: locale.T(ctx, "health.reopening.detail"),
			Said:   asSentence(h.Reopening),
		}
	case h.Slow != 0:
		return component.Notice{
			Tone:   component.Low,
			Title:  locale.T(ctx, "health.slow", locale.Args{"Span": component.Span(ctx, h.Slow)}),
			Detail: locale.T(ctx, "health.slow.detail"),
		}
	case h.ClockAhead != 0:
		return component.Notice{
			Tone:   component.Low,
			Title:  locale.T(ctx, "health.clock", locale.Args{"Span": component.Span(ctx, h.ClockAhead)}),
			Detail: locale.T(ctx, "health.clock.detail"),
		}
	default:
		return component.Notice{}
	}
}
