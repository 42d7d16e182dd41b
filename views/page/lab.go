package page

import (
	"context"
	"slices"
	"time"

	"github.com/a-h/templ"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/view"
)

// Lab is the filter lab: a message against every subscription of a topic, and
// the messages lately that no subscription took. What is tried is never sent.
// The page is live for the sake of those.
type Lab struct {
	Shell   layout.Shell
	Topics  []string // there are, to choose from
	Topic   Place    // the chosen one; an empty Name: none yet
	Message MessageFields
	From    Sample  // what the fields were filled from; an empty Key: nothing
	Outcome Outcome // zero: nothing was tried
	Refused component.Notice

	Stray     []Stray // messages that nothing took, latest first
	StrayAll  int     // that were counted, shown or not
	StrayKept int     // that are kept at most, to be told
}

// The names of the fields of the lab, beside those of Send for the message.
// Its form goes to its own address by POST and is answered with the page; the
// address takes LabTopic and LabFrom too, so that it can be passed on.
const (
	LabTopic = "topic"
	LabFrom  = "from" // the key of a stray message to start from
	LabKey   = "key"  // repeated: the keys of stray messages to make a subscription for, by GET, to Lab's address and "/new"
)

// Outcome is what becomes of a message sent to a topic.
type Outcome struct {
	Tried         bool
	Subscriptions []Taking // those that take it first
	More          int      // that are not shown
	Takers        int      // subscriptions that get a copy, or a dead letter
	Copies        int      // in all of them
}

// A Taking is what one subscription makes of a message.
type Taking struct {
	Name  string
	Href  string
	Rules []Judgement // in order
	More  int         // rules that are not shown; they do not select the message
	// Copies are how many the subscription gets (FILT-5), Dead how many of them
	// as dead letters because a filter or an action failed (FILT-31).
	Copies, Dead int
	NewRule      string // the form that adds a rule; empty: none is offered
}

// A Stray is a message that matched no subscription.
type Stray struct {
	Key     string
	At      time.Time
	Now     time.Time
	Topic   Place
	Subject string
	ID      string
	Pills   []Pill // its application properties, and system ones beside subject and id
}

// Full is the page.
func (m Lab) Full() templ.Component {
	m.Shell.Live.Picking = true // a message may be half described
	return lab(m)
}

// Watches is nil: what nothing took belongs to no entity but its topic, and
// every topic may have such.
func (m Lab) Watches() []string { return nil }

// Parts is what is live in the page: the tray. The form and what was tried
// stay as they are.
func (m Lab) Parts() []view.Part {
	return append(m.Shell.Parts(),
		slot("tray-note", trayNote(m)),
		list("tray", m.Stray, func(s Stray) view.Row {
			return view.Row{Key: s.Key, Content: strayRow(m, s)}
		}),
		slot("tray-empty", trayEmpty(m)),
	)
}

func (m Lab) base() string { return m.Shell.Home + "/lab" }

// catches is where a subscription is made for messages that nobody took.
func (m Lab) catches() string { return m.base() + "/new" }

// catch is where a subscription is made: one for the message that was started
// from, while it is kept.
func (m Lab) catch() string {
	if m.From.Key != "" && slices.ContainsFunc(m.Stray, func(s Stray) bool { return s.Key == m.From.Key }) {
		return m.catches() + "?" + LabKey + "=" + m.From.Key
	}
	return m.Topic.Href + "/new"
}

func (s Stray) what(ctx context.Context) string {
	return Sample{Subject: s.Subject, ID: s.ID}.what(ctx)
}

func (s Stray) small() string { return Sample{Subject: s.Subject, ID: s.ID}.small() }

// truth is a subscription's outcome in one sign.
func (t Taking) truth() component.Truth {
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

// says is the outcome in a few words.
func (t Taking) says(ctx context.Context) string {
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

// lede is the outcome of all of them in a sentence or two.
func (m Lab) lede(ctx context.Context) []component.Text {
	o := m.Outcome
	switch {
	case len(o.Subscriptions) == 0:
		return []component.Text{{S: locale.T(ctx, "lab.lede.alone"), Strong: true}, {S: " " + locale.T(ctx, "lab.lede.discarded")}}
	case o.Takers == 0:
		return []component.Text{{S: locale.T(ctx, "lab.lede.nobody"), Strong: true}, {S: " " + locale.T(ctx, "lab.lede.discarded")}}
	default:
		return []component.Text{
			{S: locale.N(ctx, "lab.lede.takers", o.Takers, locale.Args{"Of": locale.Number(ctx, len(o.Subscriptions)+o.More)}), Strong: true},
			{S: " " + locale.N(ctx, "lab.lede.copies", o.Copies)},
		}
	}
}

// opens says whether a subscription's rules are unfolded: those that tell most,
// and all if they are few.
func (o Outcome) opens(t Taking) bool {
	return len(o.Subscriptions) <= 6 || t.truth() != component.False
}
