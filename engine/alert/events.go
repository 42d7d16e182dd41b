package alert

import (
	"context"
	"errors"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// followEvents passes events to the rules, until ctx or the broker ends.
func (r *Rules) followEvents(ctx context.Context, after uint64) {
	var events []engine.Event
	var rules []*activeRule
	have := -1
	for {
		var lost uint64
		var err error
		if events, lost, err = r.b.Events().Next(ctx, after, events); err != nil {
			return // the broker has ended, or ctx has
		}
		after = events[len(events)-1].N
		if r.changedSince(have) {
			rules, have = r.activeRules(Expired, DeadLettered, Deleted)
		}
		r.evaluateEvents(ctx, rules, events, lost)
	}
}

// evaluateEvents applies rules to events and queues their alerts. lost is how many events the log
// dropped before these.
func (r *Rules) evaluateEvents(ctx context.Context, rules []*activeRule, events []engine.Event, lost uint64) {
	found := make([]Alert, len(rules))
	looked, unread := make([]bool, len(rules)), make([]string, len(rules))
	dead := lost > 0
	for i := range events {
		e := &events[i]
		dead = dead || e.Path.IsDeadLetter() || e.To.IsDeadLetter() || e.Kind == engine.EventReopened
		for j, u := range rules {
			if !u.concerns(e) {
				continue
			}
			a := &found[j]
			switch yes, err := u.matches(ctx, r.b, e); {
			case errors.Is(err, engine.ErrMessageNotFound): // the dead letter is already gone, so its content is unknown
				a.Missed++
			case err != nil:
				a.Missed++
				unread[j] = "The body of a dead letter could not be read, so the rule could not be applied to it."
			case yes:
				looked[j] = true
				a.Count++
				if len(a.Items) < maxItems {
					a.Items = append(a.Items, u.itemOf(e))
				}
			default:
				looked[j] = true
			}
		}
	}
	if ctx.Err() != nil {
		return // reads may have failed because of ctx
	}
	for j, u := range rules {
		if looked[j] || unread[j] != "" {
			r.setTrouble(u.live, unread[j])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for j, u := range rules {
		if found[j].Missed += int64(lost); found[j].Count+found[j].Missed > 0 {
			r.queueAlert(u.live, found[j])
		}
	}
	if dead {
		r.countsChanged = true
		signal(r.alertPending)
	}
}

// concerns reports whether an event is of the kind that a rule waits for, at an entity that the
// rule covers.
func (u *activeRule) concerns(e *engine.Event) bool {
	switch {
	case e.Kind == engine.EventExpired && u.Condition == Expired,
		e.Kind == engine.EventEntityAutoDeleted && u.Condition == Deleted:
		return u.query.Covers(e.Path)
	case e.Kind == engine.EventDeadLettered && u.Condition == DeadLettered:
		x := e.Message.Extra
		return x != nil && u.matchesReason(x.Reason) && u.query.Covers(e.To)
	default:
		return false
	}
}

// matches reports whether the message of an event matches the rule's query, which only DeadLettered
// rules have. It returns an error if the query needs the message's body and that cannot be read.
func (u *activeRule) matches(ctx context.Context, b *broker.Broker, e *engine.Event) (bool, error) {
	if u.Condition != DeadLettered {
		return true, nil
	}
	row := engine.Row{Message: e.Message, Content: e.Content, Path: e.To}
	switch u.query.Match(row, e.At) {
	case search.Yes:
		return true, nil
	case search.NeedBody:
		body, err := readBody(ctx, b, row)
		if err != nil {
			return false, err
		}
		return u.query.MatchBody(row, e.At, body), nil
	default:
		return false, nil
	}
}

func (u *activeRule) itemOf(e *engine.Event) Item {
	if u.Condition == Deleted {
		return Item{Path: e.Path, Count: e.Count}
	}
	path := e.Path
	if u.Condition == DeadLettered {
		path = e.To
	}
	return itemOf(engine.Row{Message: e.Message, Content: e.Content, Path: path})
}

// sendAlerts sends pending alerts, at most once a second, until ctx ends.
func (r *Rules) sendAlerts(ctx context.Context) {
	for ctx.Err() == nil {
		wait := time.Hour
		if !r.evaluateStates(ctx) {
			wait = sendInterval
		}
		if !r.flush(ctx) {
			wait = 5 * sendInterval
		}
		late := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.alertPending:
		case <-late.C:
		}
		late.Stop()
		if r.sentRecently() {
			pause(ctx, sendInterval)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendInterval)
	defer cancel()
	r.flush(last)
}

// sentRecently reports whether the last alert is less than a second old.
func (r *Rules) sentRecently() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.alerts)
	return n > 0 && r.b.ClockTime().Sub(r.alerts[n-1].At) < sendInterval
}

// evaluateStates evaluates the rules about states, DeadLettersAbove and DeletingSoon. It returns
// false if it must run again after sendInterval: if there are DeletingSoon rules, or if the states
// could not be read.
func (r *Rules) evaluateStates(ctx context.Context) (calm bool) {
	r.mu.Lock()
	dirty := r.countsChanged
	r.countsChanged = false
	r.mu.Unlock()
	rules, _ := r.activeRules(DeadLettersAbove, DeletingSoon)
	calm = true
	for _, u := range rules {
		switch {
		case u.Condition == DeletingSoon:
			calm = false
		case !dirty:
			continue
		}
		are, err := u.currentItems(ctx, r.b)
		if err != nil {
			r.mu.Lock()
			r.countsChanged = true
			r.mu.Unlock()
			return false
		}
		r.alertNew(u, are)
	}
	return calm
}

// currentItems returns the items that a rule of DeadLettersAbove or DeletingSoon applies to now.
func (u *activeRule) currentItems(ctx context.Context, b *broker.Broker) (are []Item, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		are = nil
		if u.Condition == DeletingSoon {
			for _, e := range r.IdleEntities(r.Now.Add(u.Within)) {
				if u.query.Covers(e.Path) {
					are = append(are, Item{Path: e.Path, Expires: e.DeletesAt})
				}
			}
			return nil
		}
		for _, subqueue := range r.SubqueuesWith(engine.ClassAll) {
			if subqueue.Path.IsDeadLetter() && !subqueue.Path.IsTransfer() && int64(subqueue.Messages) > u.Threshold && u.query.Covers(subqueue.Path) {
				are = append(are, Item{Path: subqueue.Path, Count: int64(subqueue.Messages)})
			}
		}
		return nil
	})
	return are, err
}

// These bound the entities that a rule remembers: they are stored in one setting.
const (
	maxAlerted      = 1000
	maxAlertedBytes = 64 << 10 // of paths
)

// hasRoom reports whether one more entity can be remembered.
func hasRoom(above []engine.Path) bool {
	size := 0
	for _, p := range above {
		size += len(p)
	}
	return len(above) < maxAlerted && size < maxAlertedBytes
}

// alertNew queues an alert about the items to which the rule did not apply before.
func (r *Rules) alertNew(u *activeRule, are []Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u.live.removed {
		return
	}
	was := make(map[engine.Path]bool, len(u.live.state.Alerted))
	for _, p := range u.live.state.Alerted {
		was[p] = true
	}
	var above []engine.Path
	var a Alert
	first, room := hasRoom(u.live.state.Alerted), true // if not all are remembered, an item may have been alerted before
	for _, it := range are {
		if room = room && hasRoom(above); room {
			above = append(above, it.Path)
		}
		if !was[it.Path] && (room || first) {
			if a.Count++; len(a.Items) < maxItems {
				a.Items = append(a.Items, it)
			}
		}
	}
	if !slices.Equal(above, u.live.state.Alerted) {
		u.live.state.Alerted = above
		signal(r.alertPending)
	}
	if a.Count > 0 {
		r.queueAlert(u.live, a)
	}
}

// flush sends pending alerts and stores the changed states of rules. It returns false if the
// states could not be stored.
func (r *Rules) flush(ctx context.Context) (kept bool) {
	type ruleAlert struct {
		rule  Rule
		alert Alert
	}
	var all []ruleAlert
	var changes []broker.SettingChange
	var states []*liveRule
	r.mu.Lock()
	for _, l := range r.all {
		if a := l.pending; a.At != 0 {
			l.pending = Alert{}
			a.Rule, a.Name, a.Condition, a.Action = l.rule.ID, l.rule.Name, l.rule.Condition, l.rule.Action
			a.ID = uint64(r.b.ClockTime())
			if n := len(r.alerts); n > 0 {
				a.ID = max(a.ID, r.alerts[n-1].ID+1)
			}
			l.state.Fired, l.state.Done, l.state.Missed = l.state.Fired+a.Count, l.state.Done+a.Done, l.state.Missed+a.Missed
			if a.Count > 0 {
				l.state.Last = a.At
			}
			if a.Count > 0 || a.Test {
				all = append(all, ruleAlert{l.rule, a})
				r.alerts = append(r.alerts, a)
			}
		}
		if !l.state.equal(l.stored) {
			changes = append(changes, broker.SettingChange{Setting: engine.Setting{Key: stateKey(l.rule.ID), Value: l.state.text()}})
			states = append(states, l)
		}
	}
	r.alerts = r.alerts[max(0, len(r.alerts)-maxAlerts):]
	if len(changes)+len(all) > 0 {
		r.notifyChanged()
	}
	now := make([]State, len(states))
	for i, l := range states {
		now[i] = l.state
	}
	r.mu.Unlock()
	for _, t := range all {
		if t.rule.URL != "" && r.o.Send != nil {
			r.o.Send(t.rule, t.alert)
		}
	}
	if len(changes) == 0 {
		return true
	}
	if err := r.b.ApplySettings(ctx, changes, ""); err != nil {
		return errors.Is(err, engine.ErrClosed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, l := range states {
		l.stored = now[i]
	}
	return true
}
