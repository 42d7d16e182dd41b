package pages

import (
	"context"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
)

// banner returns the notice that every page shows when the broker does not work as it should.
func (p *Pages) banner(ctx context.Context) component.Notice {
	h := p.Broker.Health()
	switch {
	case h.ReadOnly != "":
		return component.Notice{
			Tone:       component.Critical,
			Title:      locale.T(ctx, "health.readonly"),
			Detail:     locale.T(ctx, "health.readonly.detail"),
			ServerText: ToSentence(h.ReadOnly),
		}
	case h.Reopening != "":
		return component.Notice{
			Tone:       component.Critical,
			Title:      locale.T(ctx, "health.reopening"),
			Detail:     locale.T(ctx, "health.reopening.detail"),
			ServerText: ToSentence(h.Reopening),
		}
	case h.Memory.Full:
		return component.Notice{
			Tone:   component.Critical,
			Title:  locale.T(ctx, "health.memory"),
			Detail: locale.T(ctx, "health.memory.detail", memoryArgs(ctx, h.Memory)),
		}
	case h.Damaged != 0:
		return component.Notice{
			Tone:   component.Critical,
			Title:  locale.T(ctx, "health.damaged", locale.Args{"Count": h.Damaged}),
			Detail: locale.T(ctx, "health.damaged.detail"),
			Go:     p.damagedLink(ctx),
		}
	case h.Slow != 0:
		return component.Notice{
			Tone:   component.Low,
			Title:  locale.T(ctx, "health.slow", locale.Args{"Span": component.Span(ctx, h.Slow)}),
			Detail: locale.T(ctx, "health.slow.detail"),
		}
	case h.Memory.Low():
		return component.Notice{
			Tone:   component.Low,
			Title:  locale.T(ctx, "health.memory.low"),
			Detail: locale.T(ctx, "health.memory.low.detail", memoryArgs(ctx, h.Memory)),
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

func memoryArgs(ctx context.Context, m broker.Memory) locale.Args {
	return locale.Args{"Kept": component.Bytes(ctx, m.Used), "Limit": component.Bytes(ctx, m.Limit)}
}

// DamagedNotice returns a notice with the number of damaged messages that `is` selects, in the
// text with the id `words`. It returns zero if there are none, and queries the broker only if any
// message is damaged.
func (p *Pages) DamagedNotice(ctx context.Context, is func(engine.DamagedMessage) bool, words string) component.Notice {
	if p.Broker.Health().Damaged == 0 {
		return component.Notice{}
	}
	all, err := p.Broker.DamagedMessages(ctx)
	if err != nil { // the page itself reports why nothing can be read
		return component.Notice{}
	}
	n := 0
	for _, d := range all {
		if is(d) {
			n++
		}
	}
	if n == 0 {
		return component.Notice{}
	}
	return component.Notice{Tone: component.Low, Title: locale.N(ctx, words, n), Detail: locale.T(ctx, "damaged.of.detail"), Go: p.damagedLink(ctx)}
}
