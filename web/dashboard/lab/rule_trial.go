package lab

import (
	"slices"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/page/lab"
	"mayfly/web/dashboard/pages"
)

// MessageAsSent returns what filters see of a message that is sent to a topic now.
func MessageAsSent(c engine.Content, topic engine.EntityState, now engine.Instant) filter.Message {
	m := engine.NewFilterMessage(c)
	m.SequenceNumber, m.EnqueuedSequenceNumber, m.EnqueuedTime = int64(topic.NextSeq), int64(topic.NextSeq), int64(now)
	if m.ExpiresAt = int64(engine.Forever); c.TTL != 0 {
		m.ExpiresAt = int64(now.Add(max(c.TTL, 0)))
	}
	return m
}

// TryRule tries a rule on a message and returns the result.
func TryRule(r engine.Rule, m filter.Message, l engine.Limits) lab.RuleResult {
	j := lab.RuleResult{Rule: r.Name, Kind: RuleKind(r.Filter.Kind), Action: r.Action}
	if r.Filter.Kind == engine.SQLFilter {
		j.Text = r.Filter.Text
	}
	t, err := engine.TryRule(r, m, l)
	if err != nil { // a rule with an error selects nothing
		j.Result, j.Error = component.Failed, pages.ToSentence(err.Error())
		return j
	}
	for _, c := range t.Clauses {
		j.Clauses = append(j.Clauses, clause(c))
	}
	switch {
	case t.Err != nil && !t.Selects:
		j.Result = component.Failed
	case t.Selects:
		j.Result = component.True
	case unknown(r, m, l):
		j.Result = component.Unknown
	default:
		j.Result = component.False
	}
	if t.Err != nil {
		j.Error = t.Err.Error()
	}
	if t.After != nil {
		j.Changes = changes(m, *t.After)
	}
	return j
}

// unknown reports whether a filter that does not select a message evaluates to unknown rather than
// to false, in which case its negation does not select the message either (FILT-29).
func unknown(r engine.Rule, m filter.Message, l engine.Limits) bool {
	if r.Filter.Kind != engine.SQLFilter {
		return false
	}
	r.Filter.Text = "NOT (" + r.Filter.Text + ")"
	t, err := engine.TryRule(r, m, l)
	return err == nil && !t.Selects
}

func clause(c filter.Clause) component.Clause {
	out := component.Clause{From: c.From, To: c.To, Text: c.Text, Result: truth(c.Result), Error: c.Error}
	for _, r := range c.Reads {
		of := component.Reading{Missing: true}
		if !r.Missing {
			of = reading(r.Value)
		}
		of.Name = shorten.To(r.Name, 200)
		out.Reads = append(out.Reads, of)
	}
	return out
}

func truth(r filter.Result) component.Truth {
	switch r {
	case filter.True:
		return component.True
	case filter.Unknown:
		return component.Unknown
	case filter.Failed:
		return component.Failed
	default:
		return component.False
	}
}

// MaxReadingBytes is how many bytes of a property's value a trial shows.
const MaxReadingBytes = 300

func reading(v value.Value) component.Reading {
	return component.Reading{Type: v.Kind().String(), Value: shorten.To(v.String(), MaxReadingBytes)}
}

// changes returns the properties that an action changed: system properties first, then
// application properties, new ones last.
func changes(before, after filter.Message) (out []lab.Change) {
	is, becomes := systemTexts(before), systemTexts(after)
	for i := range is {
		if is[i].text != becomes[i].text {
			out = append(out, lab.Change{Name: "sys." + is[i].name, Before: is[i].reading(), After: becomes[i].reading()})
		}
	}
	named := map[string]bool{}
	for _, q := range slices.Concat(before.Properties, after.Properties) {
		if named[q.Name] {
			continue
		}
		named[q.Name] = true
		was, had := before.Properties.Lookup(q.Name)
		now, has := after.Properties.Lookup(q.Name)
		c := lab.Change{Name: shorten.To(q.Name, 200), Before: reading(was), After: reading(now)}
		switch {
		case !had:
			c.Before = component.Reading{Missing: true}
		case !has:
			c.After = component.Reading{Missing: true}
		case was.Equal(now):
			continue
		}
		out = append(out, c)
	}
	return out
}

// A systemText is a system property that actions can set (ACT-5).
type systemText struct {
	name, text string
	empty      bool // an empty text is a value, not a missing property
}

func (s systemText) reading() component.Reading {
	if s.text == "" && !s.empty {
		return component.Reading{Missing: true}
	}
	return reading(value.OfString(s.text))
}

func systemTexts(m filter.Message) []systemText {
	return []systemText{
		{name: "Label", text: m.Label}, {name: "MessageId", text: m.MessageID}, {name: "CorrelationId", text: m.CorrelationID}, {name: "SessionId", text: m.SessionID, empty: m.EmptySessionID},
		{name: "ContentType", text: m.ContentType}, {name: "To", text: m.To}, {name: "ReplyTo", text: m.ReplyTo}, {name: "ReplyToSessionId", text: m.ReplyToSessionID},
		{name: "PartitionKey", text: m.PartitionKey}, {name: "ViaPartitionKey", text: m.ViaPartitionKey}, {name: "TimeToLive", text: ttlText(m)},
	}
}

// ttlText returns a message's own time to live as actions read and write it, or "" if it has
// none.
func ttlText(m filter.Message) string {
	if m.TimeToLive == 0 {
		return ""
	}
	return value.OfTimespan(int64(m.TimeToLive / 100)).Text()
}
