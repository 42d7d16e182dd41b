package alert

import (
	"time"

	"mayfly/engine"
	"mayfly/engine/shorten"
)

const (
	maxItems     = 100 // items of one alert
	maxAlerts    = 100 // alerts kept in memory
	sendInterval = time.Second
)

// An Alert reports all messages or entities for which a rule fired within a second or so.
type Alert struct {
	ID        uint64 // increases, even across restarts of the server
	At        engine.Instant
	Rule      ID
	Name      string // of the rule
	Condition Condition
	Action    Action
	Count     int64 // messages or entities
	Done      int64 // messages that were extended or are dead letters now
	Failed    int64 // messages that could not be changed, or were extended as often as allowed
	Missed    int64 // events that could not be evaluated, see State: the alert may be incomplete
	Test      bool  // sent by Rules.Test
	Items     []Item
}

// An Item is one message or entity of an alert.
type Item struct {
	Path      engine.Path
	Key       engine.Key // zero for an entity
	Seq       engine.Seq
	Subject   string // of the message, shortened
	MessageID string // shortened
	Expires   engine.Instant
	Reason    string // of a dead letter, or why the action was refused
	Count     int64  // dead letters of the entity, for DeadLettersAbove
}

// add adds the contents of a later alert.
func (a *Alert) add(o Alert) {
	a.At, a.Test = o.At, a.Test || o.Test
	a.Count, a.Done, a.Failed, a.Missed = a.Count+o.Count, a.Done+o.Done, a.Failed+o.Failed, a.Missed+o.Missed
	a.Items = append(a.Items, o.Items[:min(len(o.Items), maxItems-len(a.Items))]...)
}

// Merge returns a and a later alert as one.
func (a Alert) Merge(later Alert) Alert {
	n := later.ID
	a.Items = append([]Item(nil), a.Items...)
	a.add(later)
	a.ID = n
	return a
}

const maxLabelBytes = 80 // of a subject, message id or reason in an Item

func itemOf(r engine.Row) Item {
	it := Item{Path: r.Path, Key: r.Message.Key, Seq: r.Message.Seq, Subject: shorten.To(r.Content.Subject(), maxLabelBytes), MessageID: shorten.To(r.Content.MessageID(), maxLabelBytes), Expires: r.Expires}
	if x := r.Message.Extra; x != nil && r.Path.IsDeadLetter() {
		it.Reason = shorten.To(x.Reason, maxLabelBytes)
	}
	return it
}
