package page

import (
	"cmp"
	"context"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
)

func (m Entity) gone() bool { return !m.Gone.Died.IsZero() }

// tab is the open tab; what the kind does not have is its first one.
func (m Entity) tab() Tab {
	tabs := m.tabs()
	for _, t := range tabs {
		if t.tab == m.Tab {
			return t.tab
		}
	}
	return tabs[0].tab
}

func (m Entity) at(t Tab) string { return m.Href + "?tab=" + string(t) }

// A tabInfo is a tab on its way to a component.Tab, whose words need the
// reader's language.
type tabInfo struct {
	tab  Tab
	name string // id of its name
	n    int    // negative: it has no count
}

func (t tabInfo) slot() string {
	if t.n < 0 {
		return ""
	}
	return "tab-" + string(t.tab)
}

func (m Entity) tabs() []tabInfo {
	measured, settings := tabInfo{Measured, "entity.tab.metrics", -1}, tabInfo{Settled, "entity.tab.settings", -1}
	transfers := func(tabs []tabInfo) []tabInfo {
		if m.Transfer.Failed > 0 || m.Tab == Transfers {
			tabs = append(tabs, tabInfo{Transfers, "entity.tab.transfer", m.Transfer.Failed})
		}
		return tabs
	}
	if m.Kind == Topic {
		return append(transfers([]tabInfo{
			{Subscribers, "entity.tab.subscriptions", len(m.Subscriptions)},
			{Waiting, "entity.tab.scheduled", m.Counts.Scheduled},
		}), measured, settings)
	}
	tabs := []tabInfo{{Messages, "entity.tab.messages", m.Total - m.Counts.Dead}}
	if m.Kind == Queue {
		tabs = append(tabs, tabInfo{Waiting, "entity.tab.scheduled", m.Counts.Scheduled})
	}
	tabs = append(tabs,
		tabInfo{Parked, "entity.tab.deferred", m.Counts.Deferred},
		tabInfo{Held, "entity.tab.locked", m.Counts.Locked},
		tabInfo{DeadLetters, "entity.tab.dead", m.Counts.Dead},
	)
	tabs = transfers(tabs)
	if m.RequiresSession {
		tabs = append(tabs, tabInfo{Sessions, "entity.tab.sessions", m.SessionCount})
	}
	if m.Kind == Subscription {
		tabs = append(tabs, tabInfo{Ruling, "entity.tab.rules", m.ruleCount()})
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

// A stateInfo is a cell of the strip on its way to a component.StateCount.
type stateInfo struct {
	slot, icon, name string
	n                int
	tone             component.Tone
	href             string
}

// states is the strip. What a topic's subscriptions hold leads to them.
func (m Entity) states() []stateInfo {
	at := func(t Tab) string {
		if m.Kind == Topic && t != Waiting {
			t = Subscribers
		}
		return m.at(t)
	}
	all := []stateInfo{
		{"count-active", "active", "state.active.all", m.Counts.Active, component.Plenty, at(Messages)},
		{"count-locked", "locked", "state.locked.all", m.Counts.Locked, component.Lock, at(Held)},
		{"count-scheduled", "scheduled", "state.scheduled.all", m.Counts.Scheduled, component.Plenty, at(Waiting)},
		{"count-deferred", "deferred", "state.deferred.all", m.Counts.Deferred, component.Plenty, at(Parked)},
		{"count-dead", "dead", "state.dead.all", m.Counts.Dead, component.Dead, at(DeadLetters)},
		{"count-total", "queues", "state.total", m.Total, component.Lost, ""},
	}
	if m.Kind == Subscription { // what is scheduled waits at the topic
		all[2] = stateInfo{"count-rules", "filter", "state.rules", m.ruleCount(), component.Plenty, m.at(Ruling)}
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

// crumbs is the way to the entity.
func (m Entity) crumbs(ctx context.Context) []component.Crumb {
	return placeCrumbs(ctx, m.Shell, m.Kind, m.Name, "", m.Topic, m.TopicHref)
}

// placeCrumbs is the way to an entity; href makes its name a link.
func placeCrumbs(ctx context.Context, s layout.Shell, kind Kind, name, href, topic, topicHref string) []component.Crumb {
	if kind == Queue {
		return []component.Crumb{{Label: locale.T(ctx, "entities.queues"), Href: s.Home + "/queues"}, {Label: name, Href: href}}
	}
	crumbs := []component.Crumb{{Label: locale.T(ctx, "entities.topics"), Href: s.Home + "/topics"}}
	if topic != "" {
		crumbs = append(crumbs, component.Crumb{Label: topic, Href: topicHref})
	}
	return append(crumbs, component.Crumb{Label: name, Href: href})
}

// full is the entity's name where it stands alone: with its topic.
func (m Entity) full() string {
	if m.Topic == "" {
		return m.Name
	}
	return m.Topic + "/" + m.Name
}

// sendAt is where a message is sent that is to arrive here.
func (m Entity) sendAt() string {
	if m.Kind == Subscription {
		return m.TopicHref + "/send"
	}
	return m.Href + "/send"
}

// setting is the form at one of its fields.
func (m Entity) setting(name string) string { return m.Href + "/edit#f-" + name }

// what is what a message is called: its subject, or its id, or neither.
func (r *MessageRow) what(ctx context.Context) string {
	return cmp.Or(r.Subject, r.ID, locale.T(ctx, "message.unnamed"))
}

// purge is where the messages of the tab are purged.
func (m Entity) purge() string {
	if m.tab() == DeadLetters {
		return m.Href + "/purge?state=" + string(DeadLetter)
	}
	return m.Href + "/purge"
}

// moment is what the last column of a tab says: when it was stored, or set aside
// where the tab is of what was.
func (r *MessageRow) moment(t Tab) time.Time {
	switch t {
	case DeadLetters, Transfers, Parked:
		return r.Aside
	default:
		return r.At
	}
}

// small is the id beside a subject.
func (r *MessageRow) small() string {
	if r.Subject == "" {
		return ""
	}
	return r.ID
}

// brief is the beginning of a body, in a line.
func (r *MessageRow) brief() string {
	var pills []string
	for _, p := range r.Pills {
		pills = append(pills, p.Key+": "+p.Value)
	}
	return cmp.Or(strings.Join(pills, ", "), r.First)
}

// A look is how a state looks, and what one message in it is called, and several.
type look struct {
	icon, name, all string
	tone            component.Tone
}

func (s State) look() look {
	switch s {
	case Locked:
		return look{"locked", "state.locked", "state.locked.all", component.Lock}
	case Scheduled:
		return look{"scheduled", "state.scheduled", "state.scheduled.all", component.Plenty}
	case Parking:
		return look{"deferred", "state.deferred", "state.deferred.all", component.Low}
	case DeadLetter:
		return look{"dead", "state.dead", "state.dead.all", component.Dead}
	case TransferDead:
		return look{"dead", "entity.tab.transfer", "entity.tab.transfer", component.Dead}
	default:
		return look{"active", "state.active", "state.active.all", component.Plenty}
	}
}

// share is the part of the dead letters with a reason, as a width.
func (m Entity) share(r Reason) string {
	if m.Counts.Dead == 0 {
		return "0%"
	}
	return percent(float64(r.N) / float64(m.Counts.Dead))
}

func percent(share float64) string {
	return strconv.FormatFloat(100*max(0, min(1, share)), 'f', 1, 64) + "%"
}

// forwards is where the entity's messages go on to; empty: they stay.
func (m Entity) forwards() string {
	for _, a := range m.Flow.Out {
		if !a.Dead {
			return a.Name
		}
	}
	return ""
}

// empty says whether the open tab has nothing to list.
func (m Entity) empty() bool {
	if m.tab() == Subscribers {
		return len(m.Subscriptions) == 0
	}
	return len(m.Rows) == 0
}

// receive locks one message and opens it; on the tabs of dead letters one of
// those.
func (m Entity) receive(ctx context.Context) component.Deed {
	d := component.Deed{To: m.Href + "/receive", Icon: "eye", Label: locale.T(ctx, "entity.receive")}
	switch m.tab() {
	case DeadLetters:
		d.Name, d.Value = "dlq", "1"
	case Transfers:
		d.Name, d.Value = "dlq", string(Transfers)
	}
	return d
}

// open says whether its status lets something through: what it stops is refused
// and therefore not offered (STAT-2, STAT-7).
func (m Entity) open(d door) bool { return m.status().shuts(m.Kind)&d == 0 }

// receives says whether one message can be received here by itself: not from
// where everything is forwarded (FWD-5, DLQ-13), nor but by session where those
// are required (SES-13), which dead letters do not ask for (DLQ-7).
func (m Entity) receives() bool {
	switch {
	case !m.open(receiving):
		return false
	case m.tab() == Transfers:
		return true
	case m.Kind == Topic:
		return false
	case m.tab() == DeadLetters:
		return !slices.ContainsFunc(m.Flow.Out, func(a Arrow) bool { return a.Dead })
	default:
		return m.forwards() == "" && !m.RequiresSession
	}
}

// accepts says whether a session can be taken here, and a message of it.
func (m Entity) accepts() bool {
	return m.open(receiving) && m.RequiresSession && m.tab() != DeadLetters && m.tab() != Transfers
}

// place stands in a text for a number that only the browser knows.
const place = "\uFFFC"

// counted is the text with the given id; where it has its number, the
// stylesheet puts how many rows are chosen, so that no script is needed.
func counted(id string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		text := templ.EscapeString(locale.T(ctx, id, locale.Args{"N": place}))
		_, err := io.WriteString(w, strings.ReplaceAll(text, place, `<span class="picked" data-all="`+templ.EscapeString(locale.T(ctx, "bulk.all"))+`"></span>`))
		return err
	})
}

// args name the dead letters of a reason in a sentence.
func (r Reason) args(ctx context.Context) locale.Args {
	return locale.Args{"Reason": cmp.Or(component.Visible(r.Reason), locale.T(ctx, "reason.none")), "Count": locale.Number(ctx, r.N)}
}

// named tells whether an address that asks for a reason means r.
func (r Reason) named(asked string) bool {
	return asked != "" && strings.EqualFold(cmp.Or(r.Reason, "-"), asked)
}
