package entity

import (
	"cmp"
	"context"
	"slices"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// A group is a panel of the form, named by its id.
type group string

// The groups.
const (
	timeGroup     group = "g-time"
	deliveryGroup group = "g-delivery"
	orderGroup    group = "g-order"
	flowGroup     group = "g-flow"
	sizeGroup     group = "g-size"
	advancedGroup group = "g-advanced"
)

var groups = []group{
	timeGroup, deliveryGroup, orderGroup, flowGroup, sizeGroup, advancedGroup,
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

// note returns the text beside the title, or "" if there is none.
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

// A propertyTexts holds the text ids of a property: its label, its tip, which can use the limits,
// and, for a checkbox, the note below it.
type propertyTexts struct {
	group            group
	label, tip, note string
}

// allPropertyTexts has every property of the semantics' tables, by Service Bus name.
var allPropertyTexts = map[string]propertyTexts{
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

func propertyWording(name string) propertyTexts {
	return cmp.Or(allPropertyTexts[name], propertyTexts{group: advancedGroup})
}

// propertyLabel returns the label of a property, or its name if it has no label.
func propertyLabel(ctx context.Context, name string) string {
	if w := propertyWording(name); w.label != "" {
		return locale.T(ctx, w.label)
	}
	return name
}

// of returns the fields of a group, in the order of the model.
func (m Form) of(g group) []PropertyField {
	return slices.DeleteFunc(slices.Clone(m.Fields), func(s PropertyField) bool { return propertyWording(s.Name).group != g })
}

// field returns the control of a property for a kind of entity.
func (s PropertyField) field(ctx context.Context, kind page.EntityKind) component.Field {
	w := propertyWording(s.Name)
	f := component.Field{
		Name: s.Name, Label: propertyLabel(ctx, s.Name), Value: s.Value, Was: s.Was, Error: s.Error,
		Disabled: s.Fixed, Tip: s.tip(ctx, w),
	}
	switch s.Type {
	case DurationField:
		f.Short, f.Placeholder = true, s.Default
	case NumberField:
		f.Kind, f.Short, f.Placeholder = component.NumberField, true, s.Default
	case SwitchField:
		f.Kind, f.On, f.Value = component.SwitchField, s.Value == "true", "true"
		if w.note != "" && !s.Fixed {
			f.Note = locale.T(ctx, w.note)
		}
	case ChoiceField:
		f.Kind, f.Text = component.SelectField, true
		for _, o := range s.Options {
			f.Options = append(f.Options, component.Option{Value: o, Label: Status(o).label(ctx, kind)})
		}
	case EntityField:
		f.List, f.Placeholder = s.Options, locale.T(ctx, "form.nowhere")
	case TextField:
		f.Kind, f.Rows = component.AreaField, 2
	}
	if s.NoEffect {
		f.Note = locale.T(ctx, "form.forwards")
	}
	if s.Fixed {
		f.Note = locale.T(ctx, "form.fixed")
	}
	return f
}

// tip returns the text beside the control: what the property does within which limits, and its
// Service Bus name.
func (s PropertyField) tip(ctx context.Context, w propertyTexts) []component.Text {
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

// label returns what a status allows for a kind of entity.
func (s Status) label(ctx context.Context, kind page.EntityKind) string {
	switch {
	case s == StatusDisabled:
		return locale.T(ctx, "form.status.disabled")
	case s == StatusSendDisabled && kind == page.Topic:
		return locale.T(ctx, "form.status.topic.send")
	case s == StatusSendDisabled:
		return locale.T(ctx, "form.status.send")
	case s == StatusReceiveDisabled && kind == page.Subscription:
		return locale.T(ctx, "form.status.subscription.receive")
	case s == StatusReceiveDisabled:
		return locale.T(ctx, "form.status.receive")
	case s == StatusActive && kind == page.Topic:
		return locale.T(ctx, "form.status.topic.active")
	case s == StatusActive && kind == page.Subscription:
		return locale.T(ctx, "form.status.subscription.active")
	case s == StatusActive:
		return locale.T(ctx, "form.status.active")
	default:
		return string(s)
	}
}

// name returns the field of the entity's name.
func (m Form) name(ctx context.Context) component.Field {
	label, rule := "form.name", "form.name.tip"
	if m.Kind == page.Subscription {
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

func (m Form) title(ctx context.Context) string {
	switch {
	case !m.New:
		return locale.T(ctx, "form.edit", locale.Args{"Name": m.Name})
	case m.Kind == page.Topic:
		return locale.T(ctx, "form.new.topic")
	case m.Kind == page.Subscription:
		return locale.T(ctx, "form.new.subscription", locale.Args{"Topic": m.Topic})
	case m.Temporary:
		return locale.T(ctx, "temporary.new")
	default:
		return locale.T(ctx, "form.new.queue")
	}
}

func (m Form) submit(ctx context.Context) string {
	switch {
	case m.New:
		return page.CreateLabel(ctx, m.Kind)
	case m.Changes > 0:
		return locale.N(ctx, "form.save", m.Changes)
	default:
		return locale.T(ctx, "form.save.all")
	}
}

func (m Form) crumbs(ctx context.Context) []component.Crumb {
	if m.New {
		crumbs := page.EntityCrumbs(ctx, m.Shell, m.Kind, "", "", m.Topic, m.TopicHref)
		crumbs[len(crumbs)-1] = component.Crumb{Label: locale.T(ctx, "form.crumb.new")}
		return crumbs
	}
	return append(page.EntityCrumbs(ctx, m.Shell, m.Kind, m.Name, m.Href, m.Topic, m.TopicHref), component.Crumb{Label: locale.T(ctx, "entity.tab.settings")})
}
