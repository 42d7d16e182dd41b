package rescue

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/search"
)

const (
	sliceRows   = 256                   // messages of a turn
	leastRows   = 16                    // of a time before the end, of these
	lockedMost  = 10_000                // locked messages that are looked at when everything is
	laterMost   = 1 << 16               // locked messages that are looked at again
	restLeast   = 20 * time.Millisecond // between two looks when nothing waits
	restMost    = 30 * time.Second      // and when nobody calls
	retryLeast  = time.Second
	retryMost   = time.Minute
	tidyEvery   = 10 * time.Second
	tidyChunks  = 16
	needed      = time.Minute // how long a mark outlives the message's time
	foreseeMost = 5000
)

// A group is the rules that look at messages the same time before their end.
type group struct {
	within time.Duration
	rules  []*working
	at     engine.Brink
}

func (g *group) covers(p engine.Path) bool {
	return slices.ContainsFunc(g.rules, func(u *working) bool { return u.covers(p) })
}

// A watcher has the rules of RunningOut look at messages when their moment comes.
type watcher struct {
	r       *Rules
	begun   bool
	version int
	rules   []*working
	groups  []*group
	to      uint64                        // of the slip that was looked at
	said    bool                          // which places are of interest
	later   map[engine.Key]engine.Instant // locked messages, and when to look at them
	again   engine.Instant                // when everything is looked at again after a failure; zero: nothing failed
	tries   int
	tidied  engine.Instant
}

// watch runs until ctx or the broker ends.
func (r *Rules) watch(ctx context.Context) {
	w := watcher{r: r, later: map[engine.Key]engine.Instant{}}
	for ctx.Err() == nil {
		wait, err := w.round(ctx)
		if errors.Is(err, engine.ErrClosed) {
			return
		}
		if err != nil {
			wait = retryLeast
		}
		if wait == 0 {
			continue
		}
		pause(ctx, min(wait, restLeast))
		if wait -= restLeast; wait <= 0 {
			continue
		}
		late := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.edited:
		case <-r.b.Stirred():
		case <-late.C:
		}
		late.Stop()
	}
}

// arrange follows a change of rules.
func (w *watcher) arrange() {
	if w.begun && !w.r.since(w.version) {
		return
	}
	w.begun, w.groups, w.said = true, nil, false
	w.rules, w.version = w.r.actives(RunningOut)
	for _, u := range w.rules {
		i, found := slices.BinarySearchFunc(w.groups, u.Within, func(g *group, d time.Duration) int { return int(min(max(g.within-d, -1), 1)) })
		if !found {
			w.groups = slices.Insert(w.groups, i, &group{within: u.Within})
		}
		w.groups[i].rules = append(w.groups[i].rules, u)
	}
	w.r.mu.Lock()
	maps.DeleteFunc(w.r.ledgers, func(id ID, _ *ledger) bool { return w.r.all[id] == nil })
	w.r.mu.Unlock()
}

// A sight is what a round found.
type sight struct {
	now   engine.Instant
	at    []engine.Brink // of each group
	rows  [][]engine.Row // of each group
	next  engine.Instant // when somebody is to look again; zero: nobody knows of anything
	more  bool           // there is something left to look at now
	slip  engine.Slip
	all   bool
	locks []engine.Key // of locked messages, if everything is looked at
}

// round looks once, and says how long there is nothing to look at.
func (w *watcher) round(ctx context.Context) (wait time.Duration, err error) {
	w.arrange()
	if len(w.groups) == 0 {
		w.later = map[engine.Key]engine.Instant{}
		err := w.r.b.Read(ctx, func(r broker.Reader) error { r.Unattended(); return nil })
		return time.Hour, err //nolint:wrapcheck // it ends the watch, or is tried again
	}
	var s sight
	if err := w.r.b.Read(ctx, func(r broker.Reader) error { s = w.look(r); return nil }); err != nil {
		return 0, err //nolint:wrapcheck // likewise
	}
	w.said = true
	if s.all {
		w.again = 0
	}
	for i, g := range w.groups {
		g.at = s.at[i]
		w.judge(ctx, g.rules, s.rows[i], s.now)
	}
	keys := append(s.slip.Keys, s.locks...)
	for k, at := range w.later {
		if at.Passed(s.now) {
			keys = append(keys, k)
			delete(w.later, k)
		}
	}
	slices.Sort(keys)
	for part := range slices.Chunk(slices.Compact(keys), sliceRows) {
		rows, err := w.rows(ctx, part)
		if err != nil {
			return 0, err
		}
		w.judge(ctx, w.rules, rows, s.now)
	}
	w.to = s.slip.To
	w.tidy(ctx, s.now)
	if s.more {
		return 0, nil
	}
	next := s.next
	for _, at := range w.later {
		next = earlier(next, at)
	}
	next = earlier(next, w.again)
	if next == 0 {
		return restMost, nil
	}
	return min(max(w.r.b.Wait(next), time.Millisecond), restMost), nil
}

func earlier(a, b engine.Instant) engine.Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// look is in the broker's turn, and may come again.
func (w *watcher) look(r broker.Reader) (s sight) {
	s.now = r.Now
	was := r.Slipped()
	s.all = was.All || !w.said || w.again.Passed(s.now)
	v := engine.Vigil{To: w.to}
	if was.All {
		v.To = was.To
	}
	room, never := sliceRows, false
	for _, g := range w.groups {
		at := g.at
		if s.all {
			at = engine.Brink{}
		}
		until := s.now.Add(g.within)
		rows, to, next := r.Nearing(at, until, max(room, leastRows), g.covers)
		room -= len(rows)
		s.at, s.rows = append(s.at, to), append(s.rows, rows)
		v.Seen, v.Reach = max(v.Seen, until), max(v.Reach, g.within)
		switch {
		case next == 0:
			never = true
		case next <= until:
			s.more = true
			v.Next = max(v.Next, next, to.At+1) // at to.At, there may come others at places before to's
		default:
			s.next = earlier(s.next, next.Add(-g.within))
			v.Next = max(v.Next, next)
		}
	}
	if never {
		v.Next = 0
	}
	if !w.said || was.All {
		v.Covers = covering(w.rules)
	}
	r.Attend(v)
	s.slip = r.Slipped()
	if s.all {
		s.locks = locked(r, w.rules)
	}
	return s
}

// covering is what several rules are about, for whoever asks.
func covering(rules []*working) func(engine.Path) bool {
	return func(p engine.Path) bool {
		return slices.ContainsFunc(rules, func(u *working) bool { return u.covers(p) })
	}
}

func locked(r broker.Reader, rules []*working) (keys []engine.Key) {
	covers := covering(rules)
	for _, room := range r.Rooms(engine.ClassLocked) {
		if !covers(room.Path) {
			continue
		}
		rows, err := r.Browse(engine.Browse{Path: room.Path, Class: engine.ClassLocked, From: 1, Limit: lockedMost - len(keys)})
		if err != nil {
			continue // it cannot have gone within a turn
		}
		for _, row := range rows {
			keys = append(keys, row.Message.Key)
		}
	}
	return keys
}

// rows are messages as they are now; those that have gone are left out.
func (w *watcher) rows(ctx context.Context, keys []engine.Key) (rows []engine.Row, err error) {
	err = w.r.b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		for _, k := range keys {
			if row, err := r.Message(k); err == nil {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err //nolint:wrapcheck // it ends the watch, or is tried again
}

// judge has rules look at some messages, and does what they want.
func (w *watcher) judge(ctx context.Context, rules []*working, rows []engine.Row, now engine.Instant) {
	if len(rows) == 0 {
		return
	}
	for _, u := range rules {
		marks := w.r.ledger(u.ID).marks
		var fire []engine.Row
		for _, row := range rows {
			if !u.covers(row.Path) {
				continue
			}
			switch u.Judge(row, marks[row.Message.Key], now) {
			case Fire, Spent:
				fire = append(fire, row)
			case Later:
				if row.Message.Locked() && len(w.later) < laterMost {
					k := row.Message.Key
					w.later[k] = earlier(w.later[k], max(row.Expires.Add(-u.Within), now+1000))
				}
			case Not, Told:
			}
		}
		fire, err := u.meant(ctx, w.r.b, fire, now)
		if err == nil && len(fire) > 0 {
			err = w.act(ctx, u, fire, now)
		}
		if err == nil {
			if len(fire) > 0 {
				w.r.trouble(u.live, "")
				w.tries = 0
			}
			continue
		}
		if ctx.Err() != nil || errors.Is(err, engine.ErrClosed) {
			return
		}
		w.r.trouble(u.live, err.Error())
		w.again = now.Add(min(retryLeast<<min(w.tries, 10), retryMost))
		w.tries++
	}
}

// meant are the messages that a query wants.
func (a *active) meant(ctx context.Context, b *broker.Broker, rows []engine.Row, now engine.Instant) (out []engine.Row, err error) {
	for _, row := range rows {
		switch a.query.Match(row, now) {
		case search.Yes:
			out = append(out, row)
		case search.NeedBody:
			body, err := bodyOf(ctx, b, row)
			if errors.Is(err, engine.ErrMessageNotFound) {
				continue // it has gone meanwhile
			}
			if err != nil {
				return nil, err
			}
			if a.query.MatchBody(row, now, body) {
				out = append(out, row)
			}
		case search.No:
		}
	}
	return out, nil
}

func bodyOf(ctx context.Context, b *broker.Broker, r engine.Row) ([]byte, error) {
	body, err := b.Body(ctx, r.Message.Content, r.Content.BodySize())
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is about
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, search.MostBody)) //nolint:wrapcheck // likewise
}
