package page

import (
	"context"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
)

// An EntityKind is a kind of entity.
type EntityKind string

// The kinds.
const (
	Queue        EntityKind = "queue"
	Topic        EntityKind = "topic"
	Subscription EntityKind = "subscription"
)

// CreateLabel returns the label of the button that creates an entity.
func CreateLabel(ctx context.Context, kind EntityKind) string {
	switch kind {
	case Topic:
		return locale.T(ctx, "entities.create.topic")
	case Subscription:
		return locale.T(ctx, "entities.create.subscription")
	default:
		return locale.T(ctx, "entities.create.queue")
	}
}

// An EntityRef is the entity that a message is in.
type EntityRef struct {
	Kind           EntityKind
	Name           string // as shown: "orders", "prices/eu"
	Href           string
	DeadLetter     bool // in its dead-letter subqueue
	WholeNamespace bool // the whole namespace, whose name is Name
}

// Crumbs returns the breadcrumbs to the entity, all of them links.
func (p EntityRef) Crumbs(ctx context.Context, s layout.Shell) []component.Crumb {
	if p.WholeNamespace {
		return []component.Crumb{{Label: p.Name, Href: s.Home}}
	}
	crumbs := EntityCrumbs(ctx, s, p.Kind, p.Name, p.Href, "", "")
	if p.DeadLetter {
		crumbs = append(crumbs, component.Crumb{Label: locale.T(ctx, "entity.tab.dead"), Href: p.Href + "?tab=" + string(TabDeadLetters)})
	}
	return crumbs
}

// EntityCrumbs returns the breadcrumbs to an entity; href makes its name a link.
func EntityCrumbs(ctx context.Context, s layout.Shell, kind EntityKind, name, href, topic, topicHref string) []component.Crumb {
	if kind == Queue {
		return []component.Crumb{{Label: locale.T(ctx, "entities.queues"), Href: s.Home + "/queues"}, {Label: name, Href: href}}
	}
	crumbs := []component.Crumb{{Label: locale.T(ctx, "entities.topics"), Href: s.Home + "/topics"}}
	if topic != "" {
		crumbs = append(crumbs, component.Crumb{Label: topic, Href: topicHref})
	}
	return append(crumbs, component.Crumb{Label: name, Href: href})
}

// A Tab is a view of an entity, as in its query string: ?tab=dead-letter.
type Tab string

// The tabs. An empty one means TabMessages, or for a topic TabSubscriptions. TabMessages has everything that
// Browse returns, in all states in the order of sequence numbers (PEEK-2); dead letters are
// only in their own tab.
const (
	TabMessages      Tab = "messages"
	TabScheduled     Tab = "scheduled"
	TabDeferred      Tab = "deferred"
	TabLocked        Tab = "locked"
	TabDeadLetters   Tab = "dead-letter"
	TabSessions      Tab = "sessions" // for entities that require sessions
	TabTransfers     Tab = "transfer" // the transfer dead-letter subqueue, while it holds messages
	TabSubscriptions Tab = "subscriptions"
	TabRules         Tab = "rules"
	TabMetrics       Tab = "metrics"
	TabSettings      Tab = "settings"

	// ListSession is not a tab: it stands for the messages of a session, which are shown like those
	// of a tab.
	ListSession Tab = "session"

	// ListSearch is not a tab either: it stands for the results of a search.
	ListSearch Tab = "search"
)
