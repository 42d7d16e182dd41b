package atom

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/value"
)

// elementsOf are the elements of a description in the service's order: properties of the
// engine and current state.
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

// entity returns the entry of a queue, topic or subscription.
func (a *answer) entity(s engine.EntityState) item {
	d := description(descriptionOf(s.Kind))
	for _, name := range elementsOf[s.Kind] {
		if e := a.encodeElement(s, name); e != nil {
			d.append(e)
		}
	}
	return item{address: "/" + string(s.Path), title: s.Path.Name(), published: s.CreatedAt.Time(), updated: s.UpdatedAt.Time(), content: d}
}

// encodeElement returns one element of a description, or nil to omit it.
func (a *answer) encodeElement(s engine.EntityState, name string) *element {
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
		return encodeAccess(s.Config.AuthorizationRules)
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

// unlessEmpty returns an element with the first text that is not empty, or nil if all texts are
// empty.
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
	return (&element{name: "CountDetails", attributes: `xmlns:d2p1="` + countsNamespace + `"`}).append(
		plain(prefix+"ActiveMessageCount", number(c.ActiveMessageCount())),
		plain(prefix+"DeadLetterMessageCount", number(c.DeadLetter)),
		plain(prefix+"ScheduledMessageCount", number(c.Scheduled)),
		plain(prefix+"TransferMessageCount", number(c.Transfer)),
		plain(prefix+"TransferDeadLetterMessageCount", number(c.TransferDeadLetter)),
	)
}

// rule returns the entry of a rule of the subscription at p.
func (a *answer) rule(p engine.Path, r engine.Rule) item {
	ofFilter, ofAction := splitParameters(r)
	at := r.CreatedAt.Time()
	d := description("RuleDescription").append(a.types.filter(r.Filter, ofFilter), a.types.action(r.Action, ofAction), plain("CreatedAt", moment(at)), plain("Name", r.Name))
	return item{address: "/" + string(p) + "/Rules/" + r.Name, title: r.Name, published: at, updated: at, content: d}
}

// splitParameters splits the parameters of a rule into those of its filter and those of its action.
// A parameter that both use is in both. One that neither uses belongs to a SQL filter, or else to
// the action.
func splitParameters(r engine.Rule) (ofFilter, ofAction value.Properties) {
	for _, p := range r.Filter.Parameters {
		inAction, inFilter := r.Action != "" && mentionsParameter(r.Action, p.Name), r.Filter.Kind == engine.SQLFilter && mentionsParameter(r.Filter.Text, p.Name)
		if inAction || r.Filter.Kind != engine.SQLFilter {
			ofAction = append(ofAction, p)
		}
		if inFilter || !inAction && r.Filter.Kind == engine.SQLFilter {
			ofFilter = append(ofFilter, p)
		}
	}
	return ofFilter, ofAction
}

// mentionsParameter reports whether a SQL text contains the name of a parameter.
func mentionsParameter(text, name string) bool {
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

func (d dialect) filter(f engine.Filter, parameters value.Properties) *element {
	switch f.Kind {
	case engine.CorrelationFilter:
		e := typed("Filter", "CorrelationFilter")
		c, err := filter.ParseCorrelation(f.Text)
		if err != nil { // written by another version; it selects no message
			return e
		}
		for _, t := range []struct{ name, text string }{
			{"CorrelationId", c.CorrelationID}, {"MessageId", c.MessageID}, {"To", c.To}, {"ReplyTo", c.ReplyTo}, {"Label", c.Label},
			{"SessionId", c.SessionID}, {"ReplyToSessionId", c.ReplyToSessionID}, {"ContentType", c.ContentType},
		} {
			if t.text != "" {
				e.append(plain(t.name, t.text))
			}
		}
		return d.properties(e, "Properties", c.Properties)
	case engine.SQLFilter:
		return d.sql(typed("Filter", "SqlFilter"), f.Text, parameters)
	case engine.FalseFilter:
		return d.sql(typed("Filter", "FalseFilter"), "1=0", nil)
	default:
		return d.sql(typed("Filter", "TrueFilter"), "1=1", nil)
	}
}

func (d dialect) action(action string, parameters value.Properties) *element {
	if action == "" {
		return typed("Action", "EmptyRuleAction")
	}
	return d.sql(typed("Action", "SqlRuleAction"), action, parameters)
}

func (d dialect) sql(e *element, text string, parameters value.Properties) *element {
	return d.properties(e.append(plain("SqlExpression", text), plain("CompatibilityLevel", "20")), "Parameters", parameters)
}

// properties appends a list of keys and values to e. The prefix of their types always has the same
// length, because clients cut it off by length.
func (d dialect) properties(e *element, name string, all value.Properties) *element {
	if len(all) == 0 {
		return e
	}
	list := plain(name, "")
	for _, p := range all {
		as, text := d.write(p.Value)
		v := &element{name: "Value", attributes: `xmlns:d6p1="` + as.namespace + `" ` + attribute("i:type", "d6p1:"+as.name), text: text}
		if as.name == offsetType { // in UTC
			v.text = ""
			v.append(plain("d6p1:"+dateTimePart, text), plain("d6p1:"+minutesPart, "0"))
		}
		list.append(plain("KeyValueOfstringanyType", "").append(plain("Key", p.Name), v))
	}
	return e.append(list)
}

// namespace returns the entry of the namespace. Its creation time is that of its oldest access
// rule, and its modification time is that of the last change to a rule.
func (d *Handler) namespace(a *answer, rules []engine.AccessRule) item {
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
		tier = "Standard" // as in the emulator
	}
	n := description("NamespaceInfo").append(plain("CreatedTime", moment(created)), plain("MessagingSKU", tier))
	if tier == "Premium" {
		n.append(plain("MessagingUnits", "1"))
	}
	n.append(plain("ModifiedTime", moment(modified)), plain("Name", a.namespace), plain("NamespaceType", "Messaging"))
	return item{address: "/$namespaceinfo", title: a.namespace, published: created, updated: modified, content: n}
}
