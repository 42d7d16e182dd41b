package lab

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/list"
	"mayfly/views/view"
)

// FilterLab is the filter lab: it tries a message on every subscription of a topic without sending
// it, and lists recent messages that no subscription took. The page is live only for that
// list.
type FilterLab struct {
	Shell   layout.Shell
	Topics  []string       // to choose from
	Topic   page.EntityRef // the selected one; an empty Name means none
	Message MessageFields
	From    Sample  // the message that the fields were filled from; an empty Key means none
	Outcome Outcome // zero means that nothing was tried
	Refused component.Notice

	Unmatched      []UnmatchedMessage // unmatched messages, latest first
	UnmatchedCount int                // all unmatched messages, shown or not
	MaxUnmatched   int                // largest number that is kept, for display
}

// The fields of the lab, in addition to those of Send for the message. Its form posts to its
// own address, which returns the page; the address also takes LabTopic and LabFrom, so that it
// can be shared.
const (
	LabTopic = "topic"
	LabFrom  = "from" // key of an unmatched message to start from
	LabKey   = "key"  // repeated: keys of unmatched messages to create a subscription for, by GET, at FilterLab's address and "/new"
)

// Outcome is the result for a message sent to a topic.
type Outcome struct {
	Tried         bool
	Subscriptions []SubscriptionResult // subscriptions that take the message come first
	More          int                  // subscriptions that are not shown
	Matching      int                  // subscriptions that get a copy or a dead letter
	Copies        int                  // copies in all of the matching subscriptions
}

// A SubscriptionResult is the result of one subscription.
type SubscriptionResult struct {
	Name  string
	Href  string
	Rules []RuleResult // in order
	More  int          // rules that are not shown; they do not select the message
	// Copies is how many copies the subscription gets (FILT-5), Dead how many of them as dead
	// letters because a filter or an action failed (FILT-31).
	Copies, Dead int
	NewRule      string // address of the form that adds a rule; empty means none
}

// An UnmatchedMessage is a message that no subscription took.
type UnmatchedMessage struct {
	Key     string
	At      time.Time
	Now     time.Time
	Topic   page.EntityRef
	Subject string
	ID      string
	Pills   []list.Pill // application properties, and system properties other than subject and id
}

// Full returns the whole page.
func (m FilterLab) Full() templ.Component {
	m.Shell.Live.Selectable = true // a half-filled form must not be replaced
	return lab(m)
}

// Watches returns nil, because unmatched messages belong only to their topic, and every topic
// may have some.
func (m FilterLab) Watches() []string { return nil }

// Parts returns the live parts of the page: the list of unmatched messages. The form and the
// result are not live.
func (m FilterLab) Parts() []view.Part {
	return append(m.Shell.Parts(),
		page.Slot("tray-note", unmatchedNote(m)),
		page.List("tray", m.Unmatched, func(s UnmatchedMessage) view.Row {
			return view.Row{Key: s.Key, Content: unmatchedRow(m, s)}
		}),
		page.Slot("tray-empty", unmatchedEmpty(m)),
	)
}

func (m FilterLab) base() string { return m.Shell.Home + "/lab" }

// suggestURL returns the address that creates a subscription for unmatched messages.
func (m FilterLab) suggestURL() string { return m.base() + "/new" }

// suggestFromURL returns the address that creates a subscription for the message that the form was
// filled from. If that message is no longer kept, it is the form of any new subscription.
func (m FilterLab) suggestFromURL() string {
	if m.From.Key != "" && slices.ContainsFunc(m.Unmatched, func(s UnmatchedMessage) bool { return s.Key == m.From.Key }) {
		return m.suggestURL() + "?" + LabKey + "=" + m.From.Key
	}
	return m.Topic.Href + "/new"
}

func (s UnmatchedMessage) what(ctx context.Context) string {
	return Sample{Subject: s.Subject, ID: s.ID}.what(ctx)
}

func (s UnmatchedMessage) small() string { return Sample{Subject: s.Subject, ID: s.ID}.small() }

// truth returns a subscription's result as a single value.
func (t SubscriptionResult) truth() component.Truth {
	switch {
	case t.Dead > 0:
		return component.Failed
	case t.Copies > 0:
		return component.True
	}
	for _, r := range t.Rules {
		if r.result() == component.Failed {
			return component.Failed
		}
	}
	return component.False
}

// says returns the result in a few words.
func (t SubscriptionResult) says(ctx context.Context) string {
	switch {
	case len(t.Rules) == 0:
		return locale.T(ctx, "lab.norules")
	case t.Dead > 0 && t.Dead == t.Copies:
		return locale.N(ctx, "lab.dead", t.Dead)
	case t.Dead > 0:
		return locale.N(ctx, "lab.copies", t.Copies-t.Dead) + ", " + locale.N(ctx, "lab.dead", t.Dead)
	case t.Copies > 0:
		return locale.N(ctx, "lab.copies", t.Copies)
	case t.truth() == component.Failed:
		return locale.T(ctx, "lab.failed")
	default:
		return locale.T(ctx, "lab.none")
	}
}

// summary returns the result of all subscriptions in a sentence or two.
func (m FilterLab) summary(ctx context.Context) []component.Text {
	o := m.Outcome
	switch {
	case len(o.Subscriptions) == 0:
		return []component.Text{{S: locale.T(ctx, "lab.lede.alone"), Strong: true}, {S: " " + locale.T(ctx, "lab.lede.discarded")}}
	case o.Matching == 0:
		return []component.Text{{S: locale.T(ctx, "lab.lede.nobody"), Strong: true}, {S: " " + locale.T(ctx, "lab.lede.discarded")}}
	default:
		return []component.Text{
			{S: locale.N(ctx, "lab.lede.takers", o.Matching, locale.Args{"Of": locale.Number(ctx, len(o.Subscriptions)+o.More)}), Strong: true},
			{S: " " + locale.N(ctx, "lab.lede.copies", o.Copies)},
		}
	}
}

// opens reports whether a subscription's rules are unfolded: if the result is not plainly
// false, or there are only a few subscriptions.
func (o Outcome) opens(t SubscriptionResult) bool {
	return len(o.Subscriptions) <= 6 || t.truth() != component.False
}
