package page

import (
	"context"
	"slices"
	"strconv"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/view"
)

func plain(n int) string { return strconv.Itoa(n) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// picked is how many messages lie in the states that are chosen.
func (m Confirm) picked() int {
	n := 0
	for _, s := range m.States {
		if s.Picked {
			n += s.N
		}
	}
	return n
}

// nothing tells whether there is nothing that a purge could remove.
func (m Confirm) nothing() bool {
	return m.Verb == Purge && !slices.ContainsFunc(m.States, func(s StateLine) bool { return s.N > 0 })
}

// atMost is how many messages a filter may match.
func (f PurgeFilter) atMost() int { return f.Matching + f.Unseen }

// refused tells whether Safe mode refuses it.
func (m Confirm) refused(ctx context.Context) bool {
	return view.Safe(ctx) && m.weight() == component.Final
}

// safeNotice says that Safe mode refuses what a form is for.
func safeNotice(ctx context.Context) component.Notice {
	return component.Notice{Tone: component.Low, Title: locale.T(ctx, "safe.refused"), Detail: safeHow(ctx)}
}

// safeHow says who can switch Safe mode off.
func safeHow(ctx context.Context) string {
	if view.SafetyOf(ctx) == view.SafeAll {
		return locale.T(ctx, "safe.all")
	}
	return locale.T(ctx, "safe.here")
}

// weight is how the last button looks: red where nothing comes back.
func (m Confirm) weight() component.Look {
	switch m.Verb {
	case DeleteEntity, Purge, DeleteMessages, CancelSchedule:
		return component.Final
	default:
		return component.Primary
	}
}

// title asks the question.
func (m Confirm) title(ctx context.Context) string {
	args := locale.Args{"Name": m.In.Name, "Message": m.Subject}
	one := m.Subject != ""
	switch m.Verb {
	case DeleteEntity:
		switch m.In.Kind {
		case Topic:
			return locale.T(ctx, "confirm.entity.topic", args)
		case Subscription:
			return locale.T(ctx, "confirm.entity.subscription", args)
		default:
			return locale.T(ctx, "confirm.entity.queue", args)
		}
	case Purge:
		return locale.T(ctx, "confirm.purge", args)
	case MoveToDead:
		if one {
			return locale.T(ctx, "confirm.dead.one", args)
		}
		return locale.N(ctx, "confirm.dead", m.N, args)
	case CancelSchedule:
		if one {
			return locale.T(ctx, "confirm.cancelling.one", args)
		}
		return locale.N(ctx, "confirm.cancelling", m.N, args)
	case Reschedule:
		if !one {
			return locale.N(ctx, "confirm.reschedule.many", m.N, args)
		}
		return locale.T(ctx, "confirm.reschedule", args)
	case Extend:
		if one {
			return locale.T(ctx, "confirm.extend.one", args)
		}
		return locale.N(ctx, "confirm.extend", m.N, args)
	case MoveTo:
		return locale.N(ctx, "confirm.move", m.N, args)
	case Resubmit:
		if one {
			return locale.T(ctx, "confirm.resubmit.one", args)
		}
		return locale.N(ctx, "confirm.resubmit", m.N, args)
	case SetStatus:
		return locale.T(ctx, m.Status.question(), args)
	default:
		if one {
			return locale.T(ctx, "confirm.delete.one", args)
		}
		return locale.N(ctx, "confirm.delete", m.N, args)
	}
}

// note says what it means.
func (m Confirm) note(ctx context.Context) string {
	switch m.Verb {
	case DeleteEntity:
		return locale.N(ctx, "confirm.entity.note", m.N)
	case Purge:
		switch {
		case m.nothing() && m.Left > 0:
			return locale.N(ctx, "confirm.purge.locked", m.Left)
		case m.nothing():
			return locale.T(ctx, "confirm.purge.none", locale.Args{"Name": m.In.Name})
		}
		return locale.T(ctx, "confirm.purge.note")
	case MoveToDead:
		if m.In.All {
			return locale.T(ctx, "confirm.dead.note.all")
		}
		return locale.T(ctx, "confirm.dead.note", locale.Args{"Name": m.In.Name})
	case CancelSchedule:
		return locale.T(ctx, "confirm.cancelling.note")
	case Reschedule:
		return locale.T(ctx, "confirm.reschedule.note")
	case Extend:
		return locale.T(ctx, "confirm.extend.note")
	case MoveTo:
		return locale.T(ctx, "confirm.move.note")
	case Resubmit:
		return locale.T(ctx, "confirm.resubmit.note")
	case SetStatus:
		return m.Status.stops(ctx, m.In.Kind)
	default:
		return locale.T(ctx, "confirm.delete.note")
	}
}

// button repeats the verb and the number.
func (m Confirm) button(ctx context.Context) string {
	switch m.Verb {
	case DeleteEntity:
		args := locale.Args{"Name": m.In.Name}
		if m.N == 0 {
			return locale.T(ctx, "confirm.entity.do.empty", args)
		}
		return locale.N(ctx, "confirm.entity.do", m.N, args)
	case MoveToDead:
		return locale.N(ctx, "confirm.dead.do", m.N)
	case CancelSchedule:
		return locale.N(ctx, "confirm.cancelling.do", m.N)
	case Reschedule:
		return locale.N(ctx, "confirm.reschedule.do", m.N)
	case MoveTo:
		return locale.N(ctx, "confirm.move.do", m.N)
	case Extend:
		return locale.N(ctx, "confirm.extend.do", m.N)
	case Resubmit:
		return locale.N(ctx, "confirm.resubmit.do", m.N)
	case SetStatus:
		return locale.T(ctx, m.Status.stop())
	default:
		return locale.N(ctx, "confirm.delete.do", m.N)
	}
}

// question is the id of what asks whether to switch to a status.
func (s Status) question() string {
	switch s {
	case SendDisabled:
		return "confirm.status.send"
	case ReceiveDisabled:
		return "confirm.status.receive"
	case Disabled:
		return "confirm.status.all"
	default:
		return "confirm.status.open"
	}
}

// purged is the id of what a purge does to messages of this state.
func (s State) purged() string {
	switch s {
	case Scheduled:
		return "confirm.purged.scheduled"
	case Parking:
		return "confirm.purged.deferred"
	case DeadLetter, TransferDead:
		return "confirm.purged.dead"
	default:
		return "confirm.purged.active"
	}
}

// field is an input by its name; tip may be empty.
func (m Confirm) field(ctx context.Context, name, label, tip string, prose bool) component.Field {
	f := component.Field{
		Name: name, Label: locale.T(ctx, label), Value: m.Values[name], Error: m.Errors[name],
		Text: prose, Short: !prose,
	}
	if tip != "" {
		f.Tip = []component.Text{{S: locale.T(ctx, tip)}}
	}
	return f
}

// some names a few of n messages and says how many it does not name.
func some(ctx context.Context, names []string, n int) string {
	if rest := n - len(names); rest > 0 {
		names = append(slices.Clip(names), locale.N(ctx, "confirm.more", rest))
	}
	return locale.List(ctx, names...)
}
