package operate

import (
	"context"
	"slices"
	"strconv"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/view"
)

func digits(n int) string { return strconv.Itoa(n) }

func boolValue(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// picked returns how many messages are in the selected states.
func (m Confirm) picked() int {
	n := 0
	for _, s := range m.States {
		if s.Picked {
			n += s.N
		}
	}
	return n
}

// isEmpty reports whether a purge would have nothing to remove.
func (m Confirm) isEmpty() bool {
	return m.Verb == Purge && !slices.ContainsFunc(m.States, func(s StateLine) bool { return s.N > 0 })
}

// atMost returns how many messages the filter may match at most.
func (f PurgeFilter) atMost() int { return f.Matching + f.Unexamined }

// refused reports whether Safe mode refuses the action.
func (m Confirm) refused(ctx context.Context) bool {
	return view.SafeModeOn(ctx) && m.buttonStyle() == component.Final
}

// buttonStyle returns the style of the last button: red if the action cannot be undone.
func (m Confirm) buttonStyle() component.ButtonStyle {
	switch m.Verb {
	case DeleteEntity, Purge, DeleteMessages, CancelSchedule:
		return component.Final
	default:
		return component.Primary
	}
}

// title returns the question.
func (m Confirm) title(ctx context.Context) string {
	args := locale.Args{"Name": m.Entity.Name, "Message": m.Subject}
	one := m.Subject != ""
	switch m.Verb {
	case DeleteEntity:
		switch m.Entity.Kind {
		case page.Topic:
			return locale.T(ctx, "confirm.entity.topic", args)
		case page.Subscription:
			return locale.T(ctx, "confirm.entity.subscription", args)
		default:
			return locale.T(ctx, "confirm.entity.queue", args)
		}
	case Purge:
		return locale.T(ctx, "confirm.purge", args)
	case MoveToDeadLetter:
		if one {
			return locale.T(ctx, "confirm.dead.one", args)
		}
		return locale.N(ctx, "confirm.dead", m.Count, args)
	case CancelSchedule:
		if one {
			return locale.T(ctx, "confirm.cancelling.one", args)
		}
		return locale.N(ctx, "confirm.cancelling", m.Count, args)
	case Reschedule:
		if !one {
			return locale.N(ctx, "confirm.reschedule.many", m.Count, args)
		}
		return locale.T(ctx, "confirm.reschedule", args)
	case Extend:
		if one {
			return locale.T(ctx, "confirm.extend.one", args)
		}
		return locale.N(ctx, "confirm.extend", m.Count, args)
	case MoveTo:
		return locale.N(ctx, "confirm.move", m.Count, args)
	case Resubmit:
		if one {
			return locale.T(ctx, "confirm.resubmit.one", args)
		}
		return locale.N(ctx, "confirm.resubmit", m.Count, args)
	case SetStatus:
		return locale.T(ctx, m.Status.Question(), args)
	default:
		if one {
			return locale.T(ctx, "confirm.delete.one", args)
		}
		return locale.N(ctx, "confirm.delete", m.Count, args)
	}
}

// note explains the consequences.
func (m Confirm) note(ctx context.Context) string {
	switch m.Verb {
	case DeleteEntity:
		return locale.N(ctx, "confirm.entity.note", m.Count)
	case Purge:
		switch {
		case m.isEmpty() && m.Left > 0:
			return locale.N(ctx, "confirm.purge.locked", m.Left)
		case m.isEmpty():
			return locale.T(ctx, "confirm.purge.none", locale.Args{"Name": m.Entity.Name})
		}
		return locale.T(ctx, "confirm.purge.note")
	case MoveToDeadLetter:
		if m.Entity.WholeNamespace {
			return locale.T(ctx, "confirm.dead.note.all")
		}
		return locale.T(ctx, "confirm.dead.note", locale.Args{"Name": m.Entity.Name})
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
		return m.Status.DisabledText(ctx, m.Entity.Kind)
	default:
		return locale.T(ctx, "confirm.delete.note")
	}
}

// button returns the button's label: verb and number.
func (m Confirm) button(ctx context.Context) string {
	switch m.Verb {
	case DeleteEntity:
		args := locale.Args{"Name": m.Entity.Name}
		if m.Count == 0 {
			return locale.T(ctx, "confirm.entity.do.empty", args)
		}
		return locale.N(ctx, "confirm.entity.do", m.Count, args)
	case MoveToDeadLetter:
		return locale.N(ctx, "confirm.dead.do", m.Count)
	case CancelSchedule:
		return locale.N(ctx, "confirm.cancelling.do", m.Count)
	case Reschedule:
		return locale.N(ctx, "confirm.reschedule.do", m.Count)
	case MoveTo:
		return locale.N(ctx, "confirm.move.do", m.Count)
	case Extend:
		return locale.N(ctx, "confirm.extend.do", m.Count)
	case Resubmit:
		return locale.N(ctx, "confirm.resubmit.do", m.Count)
	case SetStatus:
		return locale.T(ctx, m.Status.Stop())
	default:
		return locale.N(ctx, "confirm.delete.do", m.Count)
	}
}

// purged returns the text id of what a purge does to messages in this state.
func purged(s page.State) string {
	switch s {
	case page.StateScheduled:
		return "confirm.purged.scheduled"
	case page.StateDeferred:
		return "confirm.purged.deferred"
	case page.StateDeadLetter, page.StateTransferDeadLetter:
		return "confirm.purged.dead"
	default:
		return "confirm.purged.active"
	}
}

// field returns the input with the given name. `label` and `tip` are text ids; an empty tip means none.
// With `prose` the input is wide.
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

// nameList joins names into a list, which ends with the number of the n messages without a name in
// it, if there are any.
func nameList(ctx context.Context, names []string, n int) string {
	if rest := n - len(names); rest > 0 {
		names = append(slices.Clip(names), locale.N(ctx, "confirm.more", rest))
	}
	return locale.List(ctx, names...)
}
