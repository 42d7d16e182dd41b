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
			Title:  locale.T(ctx, "health.readonly", locale.Args{"Why": h.ReadOnly}),
			Detail: locale.T(ctx, "health.readonly.detail"),
		}
	case h.Reopening != "":
		return component.Notice{
			Tone:   component.Critical,
			Title:  locale.T(ctx, "health.reopening", locale.Args{"Why": h.Reopening}),
			Detail: locale.T(ctx, "health.reopening.detail"),
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
