package rescue

import (
	"time"

	"mayfly/engine"
)

const (
	itemsMost  = 100 // of an alert
	alertsMost = 100 // that are remembered
	tellEvery  = time.Second
)

// An Alert is what a rule has to tell: all for which it fired within a second or so.
type Alert struct {
	N      uint64 // ascends, also from one run of the server to the next
	At     engine.Instant
	Rule   ID
	Name   string // of the rule
	When   When
	Then   Then
	Count  int64 // messages or entities
	Done   int64 // messages that were extended or are dead letters now
	Failed int64 // messages that this was refused for, or that it was done to as often as may be
	Missed int64 // events that could not be looked at, see State: there may be more
	Test   bool  // somebody wanted to see whether it arrives
	Items  []Item
}

// An Item is one message or entity of an alert.
type Item struct {
	Path      engine.Path
	Key       engine.Key // zero for an entity
	Seq       engine.Seq
	Subject   string // of the message, cut; else its id
	MessageID string // cut
	Expires   engine.Instant
	Reason    string // of a dead letter; or why it was refused
	Count     int64  // dead letters there, of DeadOver
}

// add has an alert tell of more.
func (a *Alert) add(o Alert) {
	a.At, a.Test = o.At, a.Test || o.Test
	a.Count, a.Done, a.Failed, a.Missed = a.Count+o.Count, a.Done+o.Done, a.Failed+o.Failed, a.Missed+o.Missed
	a.Items = append(a.Items, o.Items[:min(len(o.Items), itemsMost-len(a.Items))]...)
}

// Merge is a and what came after it, as one.
func (a Alert) Merge(later Alert) Alert {
	n := later.N
	a.Items = append([]Item(nil), a.Items...)
	a.add(later)
	a.N = n
	return a
}

const calledMost = 80 // bytes

func cut(s string) string {
	if len(s) <= calledMost {
		return s
	}
	for i := calledMost; ; i-- {
		if s[i]&0xc0 != 0x80 {
			return s[:i] + "…"
		}
	}
}

func itemOf(r engine.Row) Item {
	it := Item{Path: r.Path, Key: r.Message.Key, Seq: r.Message.Seq, Subject: cut(r.Content.Subject()), MessageID: cut(r.Content.MessageID()), Expires: r.Expires}
	if x := r.Message.Extra; x != nil && r.Path.IsDeadLetter() {
		it.Reason = cut(x.Reason)
	}
	return it
}
