package entity

import (
	"context"
	"slices"
	"strconv"

	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

func (m Entity) gone() bool { return !m.Deleted.Deleted.IsZero() }

// tab returns the open tab, or the first one if the kind does not have it.
func (m Entity) tab() page.Tab {
	tabs := m.tabs()
	for _, t := range tabs {
		if t.tab == m.Tab {
			return t.tab
		}
	}
	return tabs[0].tab
}

func (m Entity) at(t page.Tab) string { return m.Href + "?tab=" + string(t) }

// A tabInfo describes a component.Tab, whose texts need the viewer's language.
type tabInfo struct {
	tab  page.Tab
	name string // text id
	n    int    // negative means no count
}

func (t tabInfo) slot() string {
	if t.n < 0 {
		return ""
	}
	return "tab-" + string(t.tab)
}

func (m Entity) tabs() []tabInfo {
	measured, settings := tabInfo{page.TabMetrics, "entity.tab.metrics", -1}, tabInfo{page.TabSettings, "entity.tab.settings", -1}
	transfers := func(tabs []tabInfo) []tabInfo {
		if m.Transfer.Failed > 0 || m.Tab == page.TabTransfers {
			tabs = append(tabs, tabInfo{page.TabTransfers, "entity.tab.transfer", m.Transfer.Failed})
		}
		return tabs
	}
	if m.Kind == page.Topic {
		return append(transfers([]tabInfo{
			{page.TabSubscriptions, "entity.tab.subscriptions", len(m.Subscriptions)},
			{page.TabScheduled, "entity.tab.scheduled", m.Counts.Scheduled},
		}), measured, settings)
	}
	tabs := []tabInfo{{page.TabMessages, "entity.tab.messages", m.Total - m.Counts.Dead}}
	if m.Kind == page.Queue {
		tabs = append(tabs, tabInfo{page.TabScheduled, "entity.tab.scheduled", m.Counts.Scheduled})
	}
	tabs = append(tabs,
		tabInfo{page.TabDeferred, "entity.tab.deferred", m.Counts.Deferred},
		tabInfo{page.TabLocked, "entity.tab.locked", m.Counts.Locked},
		tabInfo{page.TabDeadLetters, "entity.tab.dead", m.Counts.Dead},
	)
	tabs = transfers(tabs)
	if m.RequiresSession {
		tabs = append(tabs, tabInfo{page.TabSessions, "entity.tab.sessions", m.SessionCount})
	}
	if m.Kind == page.Subscription {
		tabs = append(tabs, tabInfo{page.TabRules, "entity.tab.rules", m.ruleCount()})
	}
	return append(tabs, measured, settings)
}

func (m Entity) ruleCount() int { return max(m.RuleCount, len(m.Rules)) }

func (m Entity) componentTabs(ctx context.Context) []component.Tab {
	var out []component.Tab
	for _, t := range m.tabs() {
		out = append(out, component.Tab{
			Label: locale.T(ctx, t.name), Href: m.at(t.tab), Current: t.tab == m.tab(),
			Slot: t.slot(), Count: max(0, t.n),
		})
	}
	return out
}

// A stateInfo describes a component.StateCount of the strip.
type stateInfo struct {
	slot, icon, name string
	n                int
	tone             component.Tone
	href             string
}

// states returns the counts of the strip, each with a link to its tab. A topic's counts of messages
// that its subscriptions hold link to the tab of subscriptions.
func (m Entity) states() []stateInfo {
	at := func(t page.Tab) string {
		if m.Kind == page.Topic && t != page.TabScheduled {
			t = page.TabSubscriptions
		}
		return m.at(t)
	}
	all := []stateInfo{
		{"count-active", "active", "state.active.all", m.Counts.Active, component.Plenty, at(page.TabMessages)},
		{"count-locked", "locked", "state.locked.all", m.Counts.Locked, component.Lock, at(page.TabLocked)},
		{"count-scheduled", "scheduled", "state.scheduled.all", m.Counts.Scheduled, component.Plenty, at(page.TabScheduled)},
		{"count-deferred", "deferred", "state.deferred.all", m.Counts.Deferred, component.Plenty, at(page.TabDeferred)},
		{"count-dead", "dead", "state.dead.all", m.Counts.Dead, component.Dead, at(page.TabDeadLetters)},
		{"count-total", "queues", "state.total", m.Total, component.Lost, ""},
	}
	if m.Kind == page.Subscription { // scheduled messages are held by the topic
		all[2] = stateInfo{"count-rules", "filter", "state.rules", m.ruleCount(), component.Plenty, m.at(page.TabRules)}
	}
	return all
}

func (m Entity) componentStates(ctx context.Context) []component.StateCount {
	var out []component.StateCount
	for _, s := range m.states() {
		out = append(out, component.StateCount{
			Slot: s.slot, Icon: s.icon, Label: locale.T(ctx, s.name), N: s.n, Tone: s.tone, Href: s.href,
		})
	}
	return out
}

// crumbs returns the breadcrumbs to the entity.
func (m Entity) crumbs(ctx context.Context) []component.Crumb {
	return page.EntityCrumbs(ctx, m.Shell, m.Kind, m.Name, "", m.Topic, m.TopicHref)
}

// full returns the entity's full name, with its topic.
func (m Entity) full() string {
	if m.Topic == "" {
		return m.Name
	}
	return m.Topic + "/" + m.Name
}

// sendAt returns the address of the form that sends to the entity, or for a subscription to its
// topic.
func (m Entity) sendAt() string {
	if m.Kind == page.Subscription {
		return m.TopicHref + "/send"
	}
	return m.Href + "/send"
}

// setting returns the address of the edit form, at the field of the named property.
func (m Entity) setting(name string) string { return m.Href + "/edit#f-" + name }

// purge returns the address that purges the messages of the tab.
func (m Entity) purge() string {
	if m.tab() == page.TabDeadLetters {
		return m.Href + "/purge?state=" + string(page.StateDeadLetter)
	}
	return m.Href + "/purge"
}

// Share returns the share of the dead letters with a reason, as a CSS width.
func (m Entity) Share(r page.Reason) string {
	if m.Counts.Dead == 0 {
		return "0%"
	}
	return percent(float64(r.N) / float64(m.Counts.Dead))
}

func percent(share float64) string {
	return strconv.FormatFloat(100*max(0, min(1, share)), 'f', 1, 64) + "%"
}

// forwardTarget returns where the entity's messages are forwarded to, or "" if they are not.
func (m Entity) forwardTarget() string {
	for _, a := range m.Forwarding.Out {
		if !a.Dead {
			return a.Name
		}
	}
	return ""
}

// empty reports whether the open tab has nothing to list.
func (m Entity) empty() bool {
	if m.tab() == page.TabSubscriptions {
		return len(m.Subscriptions) == 0
	}
	return len(m.Rows) == 0
}

// receive returns the button that receives one message, locks it and opens its page. On the
// dead-letter tabs it receives from the tab's subqueue.
func (m Entity) receive(ctx context.Context) component.Action {
	d := component.Action{To: m.Href + "/receive", Icon: "eye", Label: locale.T(ctx, "entity.receive")}
	switch m.tab() {
	case page.TabDeadLetters:
		d.Name, d.Value = "dlq", "1"
	case page.TabTransfers:
		d.Name, d.Value = "dlq", string(page.TabTransfers)
	}
	return d
}

// allows reports whether the entity's status allows an operation. The page offers no
// refused operation (STAT-2, STAT-7).
func (m Entity) allows(d statusOperation) bool { return m.status().disables(m.Kind)&d == 0 }

// canReceive reports whether a single message can be received on the open tab. It cannot if the tab's
// messages are forwarded (FWD-5, DLQ-13), or if the entity requires sessions (SES-13), which does not
// apply to dead letters (DLQ-7).
func (m Entity) canReceive() bool {
	switch {
	case !m.allows(operationReceive):
		return false
	case m.tab() == page.TabTransfers:
		return true
	case m.Kind == page.Topic:
		return false
	case m.tab() == page.TabDeadLetters:
		return !slices.ContainsFunc(m.Forwarding.Out, func(a ForwardingArrow) bool { return a.Dead })
	default:
		return m.forwardTarget() == "" && !m.RequiresSession
	}
}

// canTakeSession reports whether a session can be taken here, with its messages.
func (m Entity) canTakeSession() bool {
	return m.allows(operationReceive) && m.RequiresSession && m.tab() != page.TabDeadLetters && m.tab() != page.TabTransfers
}

// hasCodeSamples reports whether the open tab shows code samples for the entity.
func (m Entity) hasCodeSamples() bool {
	return m.ConnectionInfo.Programs() && (m.tab() == page.TabMessages || m.tab() == page.TabSubscriptions)
}
