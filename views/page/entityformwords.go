package page

import (
	"cmp"
	"context"
	"slices"

	"mayfly/views/component"
	"mayfly/views/locale"
)

// A group is a panel of the form, named by its id.
type group string

// The groups there are.
const (
	timeGroup     group = "g-time"
	deliveryGroup group = "g-delivery"
	orderGroup    group = "g-order"
	flowGroup     group = "g-flow"
	sizeGroup     group = "g-size"
	advancedGroup group = "g-advanced"
)

func groups() []group {
	return []group{timeGroup, deliveryGroup, orderGroup, flowGroup, sizeGroup, advancedGroup}
}

func (g group) title(ctx context.Context) string {
	switch g {
	case timeGroup:
		return locale.T(ctx, "form.time")
	case deliveryGroup:
		return locale.T(ctx, "form.delivery")
	case orderGroup:
		return locale.T(ctx, "form.order")
	case flowGroup:
		return locale.T(ctx, "flow.title")
	case sizeGroup:
		return locale.T(ctx, "form.size")
	default:
		return locale.T(ctx, "form.advanced")
	}
}

// note is said beside the title; empty: nothing.
func (g group) note(ctx context.Context) string {
	switch g {
	case timeGroup:
		return locale.T(ctx, "form.time.note")
	case orderGroup:
		return locale.T(ctx, "form.order.note")
	case flowGroup:
		return locale.T(ctx, "form.flow.note")
	case advancedGroup:
		return locale.T(ctx, "form.advanced.note")
	default:
		return ""
	}
}

// A wording is how a property is asked for: ids of its label and of what is
// said beside it, the latter with the limits as places. Of a switch, note is
// what is said below it, however it stands.
type wording struct {
	group            group
	label, tip, note string
}

// wordings has every property of the semantics' tables, by Service Bus' name.
var wordings = map[string]wording{
	"DefaultMessageTimeToLive":                  {timeGroup, "form.ttl", "form.ttl.tip", ""},
	"DeadLetteringOnMessageExpiration":          {timeGroup, "form.deadletter", "form.deadletter.tip", "form.deadletter.note"},
	"LockDuration":                              {timeGroup, "form.lock", "form.lock.tip", ""},
	"AutoDeleteOnIdle":                          {timeGroup, "form.idle", "form.idle.tip", ""},
	"MaxDeliveryCount":                          {deliveryGroup, "form.tries", "form.tries.tip", ""},
	"Status":                                    {deliveryGroup, "form.status", "form.status.tip", ""},
	"RequiresSession":                           {orderGroup, "form.session", "form.session.tip", "form.fixed.note"},
	"ForwardTo":                                 {flowGroup, "form.forward", "form.forward.tip", ""},
	"ForwardDeadLetteredMessagesTo":             {flowGroup, "form.forward.dead", "form.forward.dead.tip", ""},
	"DeadLetteringOnFilterEvaluationExceptions": {deliveryGroup, "form.filter", "form.filter.tip", "form.filter.note"},
	"RequiresDuplicateDetection":                {orderGroup, "form.duplicates", "form.duplicates.tip", "form.fixed.note"},
	"DuplicateDetectionHistoryTimeWindow":       {orderGroup, "form.window", "form.window.tip", ""},
	"MaxSizeInMegabytes":                        {sizeGroup, "form.megabytes", "form.megabytes.tip", ""},
	"MaxMessageSizeInKilobytes":                 {sizeGroup, "form.kilobytes", "form.kilobytes.tip", ""},
	"EnableBatchedOperations":                   {advancedGroup, "form.batched", "form.kept.tip", ""},
	"EnableExpress":                             {advancedGroup, "form.express", "form.kept.tip", ""},
	"SupportOrdering":                           {advancedGroup, "form.ordering", "form.kept.tip", ""},
	"EnablePartitioning":                        {advancedGroup, "form.partitioning", "form.partitioning.tip", ""},
	"UserMetadata":                              {advancedGroup, "form.metadata", "form.metadata.tip", ""},
}

func setterWording(name string) wording {
	return cmp.Or(wordings[name], wording{group: advancedGroup})
}

// setterLabel is what a property is called; one that has no words keeps its name.
func setterLabel(ctx context.Context, name string) string {
	if w := setterWording(name); w.label != "" {
		return locale.T(ctx, w.label)
	}
	return name
}

// of is the fields of a group, in the order of the model.
func (m EntityForm) of(g group) []Setter {
	return slices.DeleteFunc(slices.Clone(m.Fields), func(s Setter) bool { return setterWording(s.Name).group != g })
}

// field is the control for a property of an entity of a kind.
func (s Setter) field(ctx context.Context, kind Kind) component.Field {
	w := setterWording(s.Name)
	f := component.Field{
		Name: s.Name, Label: setterLabel(ctx, s.Name), Value: s.Value, Was: s.Was, Error: s.Error,
		Disabled: s.Fixed, Tip: s.tip(ctx, w),
	}
	switch s.Type {
	case Duration:
		f.Short, f.Placeholder = true, s.Default
	case Number:
		f.Kind, f.Short, f.Placeholder = component.Numeric, true, s.Default
	case OnOff:
		f.Kind, f.On, f.Value = component.Switch, s.Value == "true", "true"
		if w.note != "" && !s.Fixed {
			f.Note = locale.T(ctx, w.note)
		}
	case Choice:
		f.Kind, f.Text = component.Select, true
		for _, o := range s.Options {
			f.Options = append(f.Options, component.Option{Value: o, Label: Status(o).label(ctx, kind)})
		}
	case EntityPath:
		f.List, f.Placeholder = s.Options, locale.T(ctx, "form.nowhere")
	case Prose:
		f.Kind, f.Rows = component.Area, 2
	}
	if s.Fixed {
		f.Note = locale.T(ctx, "form.fixed")
	}
	return f
}

// tip is what stands beside the control: what it does within which limits,
// Service Bus' name, and whether it is acted on.
func (s Setter) tip(ctx context.Context, w wording) []component.Text {
	var tip []component.Text
	if w.tip != "" {
		tip = append(tip, component.Text{S: locale.T(ctx, w.tip, locale.Args{
			"Least": s.Least, "Most": cmp.Or(s.Most, locale.T(ctx, "time.never")), "Default": s.Default,
		}) + " "})
	}
	if w.label != "" {
		tip = append(tip, component.Text{S: "(" + s.Name + ")"})
	}
	return tip
}

// label is what a status lets through at an entity of a kind.
func (s Status) label(ctx context.Context, kind Kind) string {
	switch {
	case s == Disabled:
		return locale.T(ctx, "form.status.disabled")
	case s == SendDisabled && kind == Topic:
		return locale.T(ctx, "form.status.topic.send")
	case s == SendDisabled:
		return locale.T(ctx, "form.status.send")
	case s == ReceiveDisabled && kind == Subscription:
		return locale.T(ctx, "form.status.subscription.receive")
	case s == ReceiveDisabled:
		return locale.T(ctx, "form.status.receive")
	case s == Open && kind == Topic:
		return locale.T(ctx, "form.status.topic.active")
	case s == Open && kind == Subscription:
		return locale.T(ctx, "form.status.subscription.active")
	case s == Open:
		return locale.T(ctx, "form.status.active")
	default:
		return string(s)
	}
}

// name is the field of the entity's name.
func (m EntityForm) name(ctx context.Context) component.Field {
	label, rule := "form.name", "form.name.tip"
	if m.Kind == Subscription {
		label, rule = "form.name.title", "form.name.tip.subscription"
	}
	f := component.Field{
		Name: "name", Label: locale.T(ctx, label), Value: m.Name, Error: m.NameError,
		Required: true, Disabled: !m.New, Focus: m.New,
		Tip: []component.Text{{S: cmp.Or(m.NameRule, locale.T(ctx, rule))}},
	}
	if !m.New {
		f.Note = locale.T(ctx, "form.fixed")
	}
	return f
}

func (m EntityForm) title(ctx context.Context) string {
	switch {
	case !m.New:
		return locale.T(ctx, "form.edit", locale.Args{"Name": m.Name})
	case m.Kind == Topic:
		return locale.T(ctx, "form.new.topic")
	case m.Kind == Subscription:
		return locale.T(ctx, "form.new.subscription", locale.Args{"Topic": m.Topic})
	case m.Temporary:
		return locale.T(ctx, "temporary.new")
	default:
		return locale.T(ctx, "form.new.queue")
	}
}

func (m EntityForm) submit(ctx context.Context) string {
	switch {
	case m.New:
		return create(ctx, m.Kind)
	case m.Changes > 0:
		return locale.N(ctx, "form.save", m.Changes)
	default:
		return locale.T(ctx, "form.save.all")
	}
}

func (m EntityForm) crumbs(ctx context.Context) []component.Crumb {
	if m.New {
		crumbs := placeCrumbs(ctx, m.Shell, m.Kind, "", "", m.Topic, m.TopicHref)
		crumbs[len(crumbs)-1] = component.Crumb{Label: locale.T(ctx, "form.crumb.new")}
		return crumbs
	}
	return append(placeCrumbs(ctx, m.Shell, m.Kind, m.Name, m.Href, m.Topic, m.TopicHref), component.Crumb{Label: locale.T(ctx, "entity.tab.settings")})
}
