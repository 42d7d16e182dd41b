package atom

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// What a description has, in the order of the service: properties of the engine,
// and what is true of the entity now.
var elementsOf = map[engine.EntityKind][]string{
	engine.Queue: {
		"LockDuration", "MaxSizeInMegabytes", "RequiresDuplicateDetection", "RequiresSession", "DefaultMessageTimeToLive", "DeadLetteringOnMessageExpiration",
		"DuplicateDetectionHistoryTimeWindow", "MaxDeliveryCount", "EnableBatchedOperations", "SizeInBytes", "MessageCount", "IsAnonymousAccessible",
		"AuthorizationRules", "Status", "CreatedAt", "UpdatedAt", "AccessedAt", "SupportOrdering", "CountDetails", "AutoDeleteOnIdle", "EnablePartitioning",
		"EntityAvailabilityStatus", "EnableExpress", "ForwardTo", "UserMetadata", "ForwardDeadLetteredMessagesTo", "MaxMessageSizeInKilobytes",
	},
	engine.Topic: {
		"DefaultMessageTimeToLive", "MaxSizeInMegabytes", "RequiresDuplicateDetection", "DuplicateDetectionHistoryTimeWindow", "EnableBatchedOperations", "SizeInBytes",
		"FilteringMessagesBeforePublishing", "IsAnonymousAccessible", "AuthorizationRules", "Status", "CreatedAt", "UpdatedAt", "AccessedAt", "SupportOrdering",
		"CountDetails", "SubscriptionCount", "AutoDeleteOnIdle", "EnablePartitioning", "EntityAvailabilityStatus", "EnableSubscriptionPartitioning", "EnableExpress",
		"UserMetadata", "MaxMessageSizeInKilobytes", "SqlFilterCount", "CorrelationFilterCount",
	},
	engine.Subscription: {
		"LockDuration", "RequiresSession", "DefaultMessageTimeToLive", "DeadLetteringOnMessageExpiration", "DeadLetteringOnFilterEvaluationExceptions", "MessageCount",
		"MaxDeliveryCount", "EnableBatchedOperations", "Status", "ForwardTo", "CreatedAt", "UpdatedAt", "AccessedAt", "CountDetails", "ForwardDeadLetteredMessagesTo",
		"AutoDeleteOnIdle", "EntityAvailabilityStatus", "UserMetadata",
	},
}

// entity is a queue, topic or subscription.
func (a *answer) entity(s engine.EntityState) item {
	d := description(descriptionOf(s.Kind))
	for _, name := range elementsOf[s.Kind] {
		if e := a.told(s, name); e != nil {
			d.with(e)
		}
	}
	return item{address: "/" + string(s.Path), title: s.Path.Name(), published: s.CreatedAt.Time(), updated: s.UpdatedAt.Time(), content: d}
}

// told is one element of a description; nil where there is nothing to say.
func (a *answer) told(s engine.EntityState, name string) *element {
	switch name {
	case sizeElement:
		return plain(name, number(megabytes(s.Config)))
	case "MaxMessageSizeInKilobytes":
		if n := s.Config.MaxMessageSizeInKilobytes; n != 0 {
			return plain(name, number(n))
		}
		return plain(name, number(a.limits.MessageSize>>10))
	case "SizeInBytes":
		return plain(name, number(s.SizeInBytes))
	case "MessageCount":
		return plain(name, number(s.Counts.MessageCount()))
	case "SubscriptionCount":
		return plain(name, number(s.Subscriptions))
	case "SqlFilterCount":
		return plain(name, number(s.Filters.SQL))
	case "CorrelationFilterCount":
		return plain(name, number(s.Filters.Correlation))
	case "IsAnonymousAccessible", "FilteringMessagesBeforePublishing", "EnableSubscriptionPartitioning":
		return plain(name, "false")
	case "EntityAvailabilityStatus":
		return plain(name, "Available")
	case "CreatedAt":
		return plain(name, moment(s.CreatedAt.Time()))
	case "UpdatedAt":
		return plain(name, moment(s.UpdatedAt.Time()))
	case "AccessedAt":
		return plain(name, moment(s.AccessedAt.Time()))
	case "CountDetails":
		return counts(s.Counts)
	case engine.AuthorizationRules:
		return tellAccess(s.Config.AuthorizationRules)
	case "ForwardTo":
		return unlessEmpty(name, s.Config.ForwardToAddress, s.Config.ForwardTo)
	case "ForwardDeadLetteredMessagesTo":
		return unlessEmpty(name, s.Config.ForwardDeadLetteredMessagesToAddress, s.Config.ForwardDeadLetteredMessagesTo)
	case "UserMetadata":
		return unlessEmpty(name, s.Config.UserMetadata)
	}
	p, ok := engine.LookupProperty(s.Kind, name)
	if !ok {
		return nil
	}
	return plain(name, p.Text(s.Config))
}

// unlessEmpty is the first text that is not empty.
func unlessEmpty(name string, texts ...string) *element {
	for _, t := range texts {
		if t != "" {
			return plain(name, t)
		}
	}
	return nil
}

func counts(c engine.Counts) *element {
	const prefix = "d2p1:"
	return (&element{name: "CountDetails", attributes: `xmlns:d2p1="` + countSpace + `"`}).with(
		plain(prefix+"ActiveMessageCount", number(c.ActiveMessageCount())),
		plain(prefix+"DeadLetterMessageCount", number(c.DeadLetter)),
		plain(prefix+"ScheduledMessageCount", number(c.Scheduled)),
		plain(prefix+"TransferMessageCount", number(c.Transfer)),
		plain(prefix+"TransferDeadLetterMessageCount", number(c.TransferDeadLetter)),
	)
}

// rule is a rule of the subscription at p.
func (a *answer) rule(p engine.Path, r engine.Rule) item {
	ofFilter, ofAction := apart(r)
	at := r.CreatedAt.Time()
	d := description("RuleDescription").with(tellFilter(r.Filter, ofFilter), tellAction(r.Action, ofAction), plain("CreatedAt", moment(at)), plain("Name", r.Name))
	return item{address: "/" + string(p) + "/Rules/" + r.Name, title: r.Name, published: at, updated: at, content: d}
}

// apart tells the parameters of a filter from those of an action, which have
// them together: one that only the action names is the action's.
func apart(r engine.Rule) (ofFilter, ofAction value.Properties) {
	for _, p := range r.Filter.Parameters {
		inAction, inFilter := r.Action != "" && mentions(r.Action, p.Name), r.Filter.Kind == engine.SQLFilter && mentions(r.Filter.Text, p.Name)
		if inAction || r.Filter.Kind != engine.SQLFilter {
			ofAction = append(ofAction, p)
		}
		if inFilter || !inAction && r.Filter.Kind == engine.SQLFilter {
			ofFilter = append(ofFilter, p)
		}
	}
	return ofFilter, ofAction
}

// mentions tells whether a SQL text names a parameter.
func mentions(text, name string) bool {
	text, name = strings.ToLower(text), strings.ToLower(name)
	for {
		at := strings.Index(text, name)
		if at < 0 || name == "" {
			return false
		}
		text = text[at+len(name):]
		if next, _ := utf8.DecodeRuneInString(text); next != '_' && !unicode.IsLetter(next) && !unicode.IsDigit(next) {
			return true
		}
	}
}

func typed(name, kind string) *element {
	return &element{name: name, attributes: attribute("i:type", kind)}
}

func tellFilter(f engine.Filter, parameters value.Properties) *element {
	switch f.Kind {
	case engine.CorrelationFilter:
		e := typed("Filter", "CorrelationFilter")
		c, err := filter.ParseCorrelation(f.Text)
		if err != nil { // another version wrote it; it selects nothing
			return e
		}
		for _, t := range []struct{ name, text string }{
			{"CorrelationId", c.CorrelationID}, {"MessageId", c.MessageID}, {"To", c.To}, {"ReplyTo", c.ReplyTo}, {"Label", c.Label},
			{"SessionId", c.SessionID}, {"ReplyToSessionId", c.ReplyToSessionID}, {"ContentType", c.ContentType},
		} {
			if t.text != "" {
				e.with(plain(t.name, t.text))
			}
		}
		return tellProperties(e, "Properties", c.Properties)
	case engine.SQLFilter:
		return tellSQL(typed("Filter", "SqlFilter"), f.Text, parameters)
	case engine.FalseFilter:
		return tellSQL(typed("Filter", "FalseFilter"), "1=0", nil)
	default:
		return tellSQL(typed("Filter", "TrueFilter"), "1=1", nil)
	}
}

func tellAction(action string, parameters value.Properties) *element {
	if action == "" {
		return typed("Action", "EmptyRuleAction")
	}
	return tellSQL(typed("Action", "SqlRuleAction"), action, parameters)
}

func tellSQL(e *element, text string, parameters value.Properties) *element {
	return tellProperties(e.with(plain("SqlExpression", text), plain("CompatibilityLevel", "20")), "Parameters", parameters)
}

// tellProperties appends a list of keys and values to e. The prefix of a type is
// what clients cut off by its length.
func tellProperties(e *element, name string, all value.Properties) *element {
	if len(all) == 0 {
		return e
	}
	list := plain(name, "")
	for _, p := range all {
		kind, text := writeValue(p.Value)
		v := &element{name: "Value", attributes: `xmlns:d6p1="` + schema + `" ` + attribute("i:type", "d6p1:"+kind), text: text}
		list.with(plain("KeyValueOfstringanyType", "").with(plain("Key", p.Name), v))
	}
	return e.with(list)
}

// namespace is what there is to know of the whole of it: it is as old as the first
// rule of access to it, and was changed with the latest.
func (d *Door) namespace(a *answer, rules []engine.AccessRule) item {
	created, modified := d.opened, d.opened
	for i, r := range rules {
		if at := r.CreatedAt.Time(); !at.IsZero() && at.Before(created) {
			created = at
		}
		if at := r.UpdatedAt.Time(); i == 0 || at.After(modified) {
			modified = at
		}
	}
	if modified.Before(created) {
		modified = created
	}
	tier := d.o.Broker.Limits().Tier
	if tier != "Premium" && tier != "Basic" {
		tier = "Standard" // the emulator's too
	}
	n := description("NamespaceInfo").with(plain("CreatedTime", moment(created)), plain("MessagingSKU", tier))
	if tier == "Premium" {
		n.with(plain("MessagingUnits", "1"))
	}
	n.with(plain("ModifiedTime", moment(modified)), plain("Name", a.namespace), plain("NamespaceType", "Messaging"))
	return item{address: "/$namespaceinfo", title: a.namespace, published: created, updated: modified, content: n}
}
