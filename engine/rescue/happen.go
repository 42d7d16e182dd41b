package rescue

import (
	"context"
	"errors"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

// follow has the rules look at what happens, until ctx or the broker ends.
func (r *Rules) follow(ctx context.Context, after uint64) {
	var events []engine.Event
	var rules []*working
	have := -1
	for {
		var lost uint64
		var err error
		if events, lost, err = r.b.Events().Next(ctx, after, events); err != nil {
			return // the broker has ended, or is about to
		}
		after = events[len(events)-1].N
		if r.since(have) {
			rules, have = r.actives(Expired, DeadLettered, Deleted)
		}
		r.happened(ctx, rules, events, lost)
	}
}

// happened has rules look at events.
func (r *Rules) happened(ctx context.Context, rules []*working, events []engine.Event, lost uint64) {
	found := make([]Alert, len(rules))
	looked, unread := make([]bool, len(rules)), make([]string, len(rules))
	dead := lost > 0
	for i := range events {
		e := &events[i]
		dead = dead || e.Path.IsDeadLetter() || e.To.IsDeadLetter() || e.Kind == engine.EventReopened
		for j, u := range rules {
			if !u.wants(e) {
				continue
			}
			a := &found[j]
			switch yes, err := u.matches(ctx, r.b, e); {
			case errors.Is(err, engine.ErrMessageNotFound): // it has gone meanwhile, and nobody knows what was in it
				a.Missed++
			case err != nil:
				a.Missed++
				unread[j] = "The body of a dead letter could not be read, so nobody knows whether the rule is about it."
			case yes:
				looked[j] = true
				a.Count++
				if len(a.Items) < itemsMost {
					a.Items = append(a.Items, u.itemOf(e))
				}
			default:
				looked[j] = true
			}
		}
	}
	if ctx.Err() != nil {
		return // what could not be read then says nothing
	}
	for j, u := range rules {
		if looked[j] || unread[j] != "" {
			r.trouble(u.live, unread[j])
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for j, u := range rules {
		if found[j].Missed += int64(lost); found[j].Count+found[j].Missed > 0 { //nolint:gosec // events, not so many
			r.note(u.live, found[j])
		}
	}
	if dead {
		r.dirty = true
		wake(r.nudged)
	}
}

// wants tells whether an event is of the kind that a rule waits for, at a place that
// it is about.
func (u *working) wants(e *engine.Event) bool {
	switch {
	case e.Kind == engine.EventExpired && u.When == Expired,
		e.Kind == engine.EventEntityAutoDeleted && u.When == Deleted:
		return u.query.Covers(e.Path)
	case e.Kind == engine.EventDeadLettered && u.When == DeadLettered:
		x := e.Message.Extra
		return x != nil && u.because(x.Reason) && u.query.Covers(e.To)
	default:
		return false
	}
}

// matches asks the query about a dead letter, as it is there. The error is that its
// body, which the query asks for, cannot be read.
func (u *working) matches(ctx context.Context, b *broker.Broker, e *engine.Event) (bool, error) {
	if u.When != DeadLettered {
		return true, nil
	}
	row := engine.Row{Message: e.Message, Content: e.Content, Path: e.To}
	switch u.query.Match(row, e.At) {
	case search.Yes:
		return true, nil
	case search.NeedBody:
		body, err := bodyOf(ctx, b, row)
		if err != nil {
			return false, err
		}
		return u.query.MatchBody(row, e.At, body), nil
	default:
		return false, nil
	}
}

func (u *working) itemOf(e *engine.Event) Item {
	if u.When == Deleted {
		return Item{Path: e.Path, Count: e.Count}
	}
	path := e.Path
	if u.When == DeadLettered {
		path = e.To
	}
	return itemOf(engine.Row{Message: e.Message, Content: e.Content, Path: path})
}

// tell hands on what there is to tell, once a second at the most, until ctx ends.
func (r *Rules) tell(ctx context.Context) {
	for ctx.Err() == nil {
		wait := time.Hour
		if !r.lookAround(ctx) {
			wait = tellEvery
		}
		if !r.flush(ctx) {
			wait = 5 * tellEvery
		}
		late := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.nudged:
		case <-late.C:
		}
		late.Stop()
		if r.hasty() {
			pause(ctx, tellEvery)
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellEvery)
	defer cancel()
	r.flush(last)
}

// hasty tells whether the last alert is less than a second old.
func (r *Rules) hasty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.alerts)
	return n > 0 && r.b.Clock().Sub(r.alerts[n-1].At) < tellEvery
}

// lookAround looks for what is so rather than happens. It tells whether nobody has to
// look again before something happens.
func (r *Rules) lookAround(ctx context.Context) (calm bool) {
	r.mu.Lock()
	dirty := r.dirty
	r.dirty = false
	r.mu.Unlock()
	rules, _ := r.actives(DeadOver, Deleting)
	calm = true
	for _, u := range rules {
		switch {
		case u.When == Deleting:
			calm = false
		case !dirty:
			continue
		}
		are, err := u.standing(ctx, r.b)
		if err != nil {
			r.mu.Lock()
			r.dirty = true
			r.mu.Unlock()
			return false
		}
		r.compare(u, are)
	}
	return calm
}

// standing is what a rule of DeadOver or Deleting would tell of now.
func (u *working) standing(ctx context.Context, b *broker.Broker) (are []Item, err error) {
	err = b.Read(ctx, func(r broker.Reader) error {
		are = nil
		if u.When == Deleting {
			for _, e := range r.Idlers(r.Now.Add(u.Within)) {
				if u.query.Covers(e.Path) {
					are = append(are, Item{Path: e.Path, Expires: e.DeletesAt})
				}
			}
			return nil
		}
		for _, room := range r.Rooms(engine.ClassAll) {
			if room.Path.IsDeadLetter() && !room.Path.IsTransfer() && int64(room.Messages) > u.Over && u.query.Covers(room.Path) {
				are = append(are, Item{Path: room.Path, Count: int64(room.Messages)})
			}
		}
		return nil
	})
	return are, err //nolint:wrapcheck // it is tried again
}

// Bounds of what a rule remembers of entities: it stands in one setting.
const (
	aboveMost  = 1000
	aboveBytes = 64 << 10 // of paths
)

// roomy tells whether one more can be remembered.
func roomy(above []engine.Path) bool {
	size := 0
	for _, p := range above {
		size += len(p)
	}
	return len(above) < aboveMost && size < aboveBytes
}

// compare has a rule tell of what was not so before.
func (r *Rules) compare(u *working, are []Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if u.live.gone {
		return
	}
	was := make(map[engine.Path]bool, len(u.live.state.Above))
	for _, p := range u.live.state.Above {
		was[p] = true
	}
	var above []engine.Path
	var a Alert
	first, room := roomy(u.live.state.Above), true // where not all are remembered, what is not may have been told of
	for _, it := range are {
		if room = room && roomy(above); room {
			above = append(above, it.Path)
		}
		if !was[it.Path] && (room || first) {
			if a.Count++; len(a.Items) < itemsMost {
				a.Items = append(a.Items, it)
			}
		}
	}
	if !slices.Equal(above, u.live.state.Above) {
		u.live.state.Above = above
		wake(r.nudged)
	}
	if a.Count > 0 {
		r.note(u.live, a)
	}
}

// flush tells what is due, and keeps what rules have done. It is false when that
// could not be kept.
func (r *Rules) flush(ctx context.Context) (kept bool) {
	type told struct {
		rule  Rule
		alert Alert
	}
	var all []told
	var changes []broker.Change
	var states []*live
	r.mu.Lock()
	for _, l := range r.all {
		if a := l.due; a.At != 0 {
			l.due = Alert{}
			a.Rule, a.Name, a.When, a.Then = l.rule.ID, l.rule.Name, l.rule.When, l.rule.Then
			a.N = uint64(r.b.Clock()) //nolint:gosec // milliseconds since 1970
			if n := len(r.alerts); n > 0 {
				a.N = max(a.N, r.alerts[n-1].N+1)
			}
			l.state.Fired, l.state.Done, l.state.Missed = l.state.Fired+a.Count, l.state.Done+a.Done, l.state.Missed+a.Missed
			if a.Count > 0 {
				l.state.Last = a.At
			}
			if a.Count > 0 || a.Test {
				all = append(all, told{l.rule, a})
				r.alerts = append(r.alerts, a)
			}
		}
		if !l.state.equal(l.told) {
			changes = append(changes, broker.Change{Setting: engine.Setting{Key: stateKey(l.rule.ID), Value: l.state.text()}})
			states = append(states, l)
		}
	}
	r.alerts = r.alerts[max(0, len(r.alerts)-alertsMost):]
	if len(changes)+len(all) > 0 {
		r.news()
	}
	now := make([]State, len(states))
	for i, l := range states {
		now[i] = l.state
	}
	r.mu.Unlock()
	for _, t := range all {
		if t.rule.URL != "" && r.o.Offer != nil {
			r.o.Offer(t.rule, t.alert)
		}
	}
	if len(changes) == 0 {
		return true
	}
	if err := r.b.Change(ctx, changes, ""); err != nil {
		return errors.Is(err, engine.ErrClosed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, l := range states {
		l.told = now[i]
	}
	return true
}
