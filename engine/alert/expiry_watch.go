package alert

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
	sliceRows       = 256                   // messages read in one turn
	minGroupRows    = 16                    // the least that each group may read in a turn, even beyond sliceRows
	maxLocked       = 10_000                // locked messages read when all messages are examined
	maxLookAgain    = 1 << 16               // locked messages to examine again later
	minPause        = 20 * time.Millisecond // minimum between two runs, unless more messages are due
	maxPause        = 30 * time.Second      // the longest wait without a signal
	minRetry        = time.Second
	maxRetry        = time.Minute
	tidyEvery       = 10 * time.Second
	tidyChunks      = 16
	recordRetention = time.Minute // how long a record is kept after its message has expired
	maxPreviewRows  = 5000
)

// A windowGroup holds the rules with the same Within.
type windowGroup struct {
	within time.Duration
	rules  []*activeRule
	cursor engine.ExpiryCursor
}

func (g *windowGroup) covers(p engine.Path) bool {
	return slices.ContainsFunc(g.rules, func(u *activeRule) bool { return u.covers(p) })
}

// An expiryWatcher applies ExpiringSoon rules to messages that are about to expire.
type expiryWatcher struct {
	r          *Rules
	begun      bool
	version    int
	rules      []*activeRule
	groups     []*windowGroup
	missedSeen uint64                        // MissedExpiries.To of the last run
	registered bool                          // the namespace's expiry watch uses these rules
	later      map[engine.Key]engine.Instant // when to examine locked messages again
	again      engine.Instant                // when to examine all messages again after a failure; zero if there was none
	tries      int
	tidied     engine.Instant
}

// watchExpiry evaluates ExpiringSoon rules until ctx or the broker ends.
func (r *Rules) watchExpiry(ctx context.Context) {
	w := expiryWatcher{r: r, later: map[engine.Key]engine.Instant{}}
	for ctx.Err() == nil {
		wait, err := w.runOnce(ctx)
		if errors.Is(err, engine.ErrClosed) {
			return
		}
		if err != nil {
			wait = minRetry
		}
		if wait == 0 {
			continue
		}
		pause(ctx, min(wait, minPause))
		if wait -= minPause; wait <= 0 {
			continue
		}
		late := time.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-r.rulesChanged:
		case <-r.b.ExpiryChanged():
		case <-late.C:
		}
		late.Stop()
	}
}

// regroup rebuilds the groups if the rules have changed.
func (w *expiryWatcher) regroup() {
	if w.begun && !w.r.changedSince(w.version) {
		return
	}
	w.begun, w.groups, w.registered = true, nil, false
	w.rules, w.version = w.r.activeRules(ExpiringSoon)
	for _, u := range w.rules {
		i, found := slices.BinarySearchFunc(w.groups, u.Within, func(g *windowGroup, d time.Duration) int { return int(min(max(g.within-d, -1), 1)) })
		if !found {
			w.groups = slices.Insert(w.groups, i, &windowGroup{within: u.Within})
		}
		w.groups[i].rules = append(w.groups[i].rules, u)
	}
	w.r.mu.Lock()
	maps.DeleteFunc(w.r.fireRecords, func(id ID, _ *fireRecords) bool { return w.r.all[id] == nil })
	w.r.mu.Unlock()
}

// A lookResult is the result of look.
type lookResult struct {
	now     engine.Instant
	cursors []engine.ExpiryCursor // of each group
	rows    [][]engine.Row        // of each group
	next    engine.Instant        // when look must run again; zero if unknown
	more    bool                  // more messages are due now
	missed  engine.MissedExpiries
	all     bool         // all messages are examined, from the beginning
	locks   []engine.Key // of locked messages, if all is set
}

// runOnce evaluates the rules for the messages that are due, and returns how long to wait before
// the next run: zero if more messages are due.
func (w *expiryWatcher) runOnce(ctx context.Context) (wait time.Duration, err error) {
	w.regroup()
	if len(w.groups) == 0 {
		w.later = map[engine.Key]engine.Instant{}
		err := w.r.b.Read(ctx, func(r broker.Reader) error { r.StopExpiryWatch(); return nil })
		return time.Hour, err
	}
	var s lookResult
	if err := w.r.b.Read(ctx, func(r broker.Reader) error { s = w.look(r); return nil }); err != nil {
		return 0, err
	}
	w.registered = true
	if s.all {
		w.again = 0
	}
	for i, g := range w.groups {
		g.cursor = s.cursors[i]
		w.decide(ctx, g.rules, s.rows[i], s.now)
	}
	keys := append(s.missed.Keys, s.locks...)
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
		w.decide(ctx, w.rules, rows, s.now)
	}
	w.missedSeen = s.missed.To
	w.prune(ctx, s.now)
	if s.more {
		return 0, nil
	}
	next := s.next
	for _, at := range w.later {
		next = earlierOf(next, at)
	}
	next = earlierOf(next, w.again)
	if next == 0 {
		return maxPause, nil
	}
	return min(max(w.r.b.TimeUntil(next), time.Millisecond), maxPause), nil
}

func earlierOf(a, b engine.Instant) engine.Instant {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// look reads about sliceRows of the messages that expire soon enough for a rule, and moves the
// namespace's expiry watch behind them. It runs in the broker's turn, possibly more than once.
func (w *expiryWatcher) look(r broker.Reader) (s lookResult) {
	s.now = r.Now
	was := r.MissedExpiries()
	s.all = was.Overflow || !w.registered || w.again.Passed(s.now)
	v := engine.ExpiryWatch{MissedTo: w.missedSeen}
	if was.Overflow {
		v.MissedTo = was.To
	}
	room, never := sliceRows, false
	for _, g := range w.groups {
		at := g.cursor
		if s.all {
			at = engine.ExpiryCursor{}
		}
		until := s.now.Add(g.within)
		rows, to, next := r.ExpiringFrom(at, until, max(room, minGroupRows), g.covers)
		room -= len(rows)
		s.cursors, s.rows = append(s.cursors, to), append(s.rows, rows)
		v.Seen, v.Reach = max(v.Seen, until), max(v.Reach, g.within)
		switch {
		case next == 0:
			never = true
		case next <= until:
			s.more = true
			v.Next = max(v.Next, next, to.At+1) // at to.At, messages may still be added in subqueues before to's
		default:
			s.next = earlierOf(s.next, next.Add(-g.within))
			v.Next = max(v.Next, next)
		}
	}
	if never {
		v.Next = 0
	}
	if !w.registered || was.Overflow {
		v.Covers = anyCovers(w.rules)
	}
	r.WatchExpiry(v)
	s.missed = r.MissedExpiries()
	if s.all {
		s.locks = lockedKeys(r, w.rules)
	}
	return s
}

// anyCovers reports whether any of several rules covers a path.
func anyCovers(rules []*activeRule) func(engine.Path) bool {
	return func(p engine.Path) bool {
		return slices.ContainsFunc(rules, func(u *activeRule) bool { return u.covers(p) })
	}
}

func lockedKeys(r broker.Reader, rules []*activeRule) (keys []engine.Key) {
	covers := anyCovers(rules)
	for _, subqueue := range r.SubqueuesWith(engine.ClassLocked) {
		if !covers(subqueue.Path) {
			continue
		}
		rows, err := r.Browse(engine.Browse{Path: subqueue.Path, Class: engine.ClassLocked, From: 1, Limit: maxLocked - len(keys)})
		if err != nil {
			continue // cannot happen: within a turn, no subqueue disappears
		}
		for _, row := range rows {
			keys = append(keys, row.Message.Key)
		}
	}
	return keys
}

// rows returns the present rows of messages, without those that no longer exist.
func (w *expiryWatcher) rows(ctx context.Context, keys []engine.Key) (rows []engine.Row, err error) {
	err = w.r.b.Read(ctx, func(r broker.Reader) error {
		rows = nil
		for _, k := range keys {
			if row, err := r.Message(k); err == nil {
				rows = append(rows, row)
			}
		}
		return nil
	})
	return rows, err
}

// decide evaluates rules for some messages and runs their actions. It sets w.later for locked
// messages to examine again, and w.again after a failure.
func (w *expiryWatcher) decide(ctx context.Context, rules []*activeRule, rows []engine.Row, now engine.Instant) {
	if len(rows) == 0 {
		return
	}
	for _, u := range rules {
		marks := w.r.recordsOf(u.ID).marks
		var fire []engine.Row
		for _, row := range rows {
			if !u.covers(row.Path) {
				continue
			}
			switch u.Decide(row, marks[row.Message.Key], now) {
			case Fire, LimitReached:
				fire = append(fire, row)
			case TooEarly:
				if row.Message.Locked() && len(w.later) < maxLookAgain {
					k := row.Message.Key
					w.later[k] = earlierOf(w.later[k], max(row.Expires.Add(-u.Within), now+1000))
				}
			case NotApplicable, AlreadyFired:
			}
		}
		fire, err := u.matchRows(ctx, w.r.b, fire, now)
		if err == nil && len(fire) > 0 {
			err = w.runAction(ctx, u, fire, now)
		}
		if err == nil {
			if len(fire) > 0 {
				w.r.setTrouble(u.live, "")
				w.tries = 0
			}
			continue
		}
		if ctx.Err() != nil || errors.Is(err, engine.ErrClosed) {
			return
		}
		w.r.setTrouble(u.live, err.Error())
		w.again = now.Add(min(minRetry<<min(w.tries, 10), maxRetry))
		w.tries++
	}
}

// matchRows returns the messages that match a rule's query.
func (a *compiledRule) matchRows(ctx context.Context, b *broker.Broker, rows []engine.Row, now engine.Instant) (out []engine.Row, err error) {
	for _, row := range rows {
		switch a.query.Match(row, now) {
		case search.Yes:
			out = append(out, row)
		case search.NeedBody:
			body, err := readBody(ctx, b, row)
			if errors.Is(err, engine.ErrMessageNotFound) {
				continue // the message no longer exists
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

func readBody(ctx context.Context, b *broker.Broker, r engine.Row) ([]byte, error) {
	body, err := b.Body(ctx, r.Message.Content, r.Content.BodySize())
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(io.LimitReader(body, search.MaxBody))
}
