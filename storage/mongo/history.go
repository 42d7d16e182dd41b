package mongo

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/record"
)

// A pastDoc is a document of history. Its _id sorts by instant.
type pastDoc struct {
	ID        string     `bson:"_id"`
	V         int64      `bson:"v"`
	Namespace string     `bson:"ns"`
	At        *time.Time `bson:"at,omitempty"`
	Kind      string     `bson:"kind"`
	Path      string     `bson:"path,omitempty"`
	To        string     `bson:"to,omitempty"`
	Key       string     `bson:"key,omitempty"` // of a message, as pages write it
	Seq       int64      `bson:"seq,omitempty"`
	Actor     string     `bson:"actor,omitempty"`
	Reason    string     `bson:"reason,omitempty"`
	Session   string     `bson:"session,omitempty"`
	Count     int64      `bson:"count,omitempty"`
	Audit     bool       `bson:"audit"`
	Bytes     int64      `bson:"bytes"`
	Exact     []byte     `bson:"exact"`
	PurgeAt   *time.Time `bson:"purgeAt,omitempty"`
}

// largestEvent is what may be in one document of history. A topic that is deleted
// may have had more rules than that: then it is told without them.
const largestEvent = 8 << 20

// pastGrace is how much longer than an owner the server keeps events. What the
// server removes nobody counts, so it must not come first: the bytes that are
// thought to be there would grow, and what is there be cut for it.
const pastGrace = 24 * time.Hour

func (s *Store) pastDoc(e engine.PastEvent) pastDoc {
	exact := record.AppendEvent(nil, &e.Event)
	if len(exact) > largestEvent {
		e.Rules, e.Subs = nil, nil
		exact = record.AppendEvent(nil, &e.Event)
	}
	d := pastDoc{
		ID: s.names.past(e.Place()), V: 1, Namespace: string(s.names), At: date(e.At), Kind: e.Kind.String(),
		Path: text(string(e.Path)), To: text(string(e.To)), Seq: int64(e.Message.Seq), Actor: text(e.Actor), Reason: text(e.Reason),
		Session: text(e.Session), Count: e.Count, Audit: e.Audit, Exact: exact,
	}
	if e.Message.Key != 0 {
		d.Key = strconv.FormatUint(uint64(e.Message.Key), 10)
	}
	if s.o.HistoryFor > 0 {
		d.PurgeAt = date(e.At.Add(s.o.HistoryFor + pastGrace))
	}
	// What the plain fields and the names of all fields take, about.
	d.Bytes = int64(len(exact)+len(d.ID)+len(d.Path)+len(d.To)+len(d.Actor)+len(d.Reason)+len(d.Session)) + 200
	return d
}

// Remember keeps events of this epoch.
func (s *Store) Remember(ctx context.Context, events []engine.Event) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	defer leave()
	ctx, done := s.tied(ctx)
	defer done()
	past := make([]engine.PastEvent, len(events))
	for i, e := range events {
		past[i] = engine.PastEvent{Epoch: s.epoch, Event: e}
	}
	if err := s.remember(ctx, past); err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	return nil
}

func (s *Store) remember(ctx context.Context, past []engine.PastEvent) error {
	docs := make([]change, len(past))
	bytes := int64(0)
	for i, e := range past {
		d := s.pastDoc(e)
		docs[i] = s.insertion(d.ID, d)
		bytes += d.Bytes
	}
	if err := s.put(ctx, history, docs); err != nil {
		return err
	}
	s.pastMu.Lock()
	defer s.pastMu.Unlock()
	if s.pastBytes >= 0 {
		s.pastBytes += bytes
	}
	return nil
}

// Past yields what is remembered, a page at a time, and what operators did that
// is committed and not applied yet.
func (s *Store) Past(ctx context.Context, q engine.PastQuery) iter.Seq2[engine.PastEvent, error] {
	return func(yield func(engine.PastEvent, error) bool) {
		leave, err := s.enter(ctx)
		if err != nil {
			yield(engine.PastEvent{}, fmt.Errorf("history: %w", err))
			return
		}
		defer leave()
		ctx, done := s.tied(ctx)
		defer done()
		m := merging{ctx: ctx, late: s.unappliedPast(q), left: q.Limit, yield: yield}
		pastOf(ctx, s.s, s.names, q, m.stored)
		m.rest()
	}
}

// unappliedPast is what the windows have that q picks, newest first.
func (s *Store) unappliedPast(q engine.PastQuery) (out []engine.PastEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range []*window{s.applying, s.waiting} {
		if w == nil {
			continue
		}
		for _, e := range w.audit {
			if q.Match(e) {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b engine.PastEvent) int {
		switch {
		case a.Place().Before(b.Place()):
			return 1
		case b.Place().Before(a.Place()):
			return -1
		default:
			return 0
		}
	})
	return out
}

// A merging yields two sequences as one, newest first. What was applied while
// it went on is in both.
type merging struct {
	ctx   context.Context //nolint:containedctx // it lives for one call
	late  []engine.PastEvent
	left  int // how many more; zero at first: no bound
	ended bool
	yield func(engine.PastEvent, error) bool
}

func (m *merging) stored(e engine.PastEvent, err error) bool {
	if err != nil {
		m.ended = true
		if why := context.Cause(m.ctx); why != nil {
			err = fmt.Errorf("history: %w", why)
		}
		return m.yield(e, err)
	}
	for len(m.late) > 0 && e.Place().Before(m.late[0].Place()) {
		if !m.give(m.late[0]) {
			return false
		}
		m.late = m.late[1:]
	}
	if len(m.late) > 0 && e.Place() == m.late[0].Place() {
		m.late = m.late[1:]
	}
	return m.give(e)
}

func (m *merging) rest() {
	for _, e := range m.late {
		if m.ended || !m.give(e) {
			return
		}
	}
}

func (m *merging) give(e engine.PastEvent) bool {
	if m.left--; !m.yield(e, nil) || m.left == 0 {
		m.ended = true
	}
	return !m.ended
}

// pastPage is how many documents are read at once.
const pastPage = 500

func pastOf(ctx context.Context, s server, n names, q engine.PastQuery, yield func(engine.PastEvent, error) bool) {
	r := n.all()
	r.backwards, r.limit, r.fields = true, pastPage, []string{"exact"}
	if q.From > 0 {
		r.from = n.past(engine.PastPlace{At: q.From})
	}
	if q.Until != 0 {
		r.to = n.past(engine.PastPlace{At: q.Until})
	}
	if q.Before != (engine.PastPlace{}) {
		r.to = min(r.to, n.past(q.Before))
	}
	if q.Key != 0 {
		r.match = append(r.match, bson.E{Key: "ns", Value: string(n)}, bson.E{Key: "key", Value: strconv.FormatUint(uint64(q.Key), 10)})
	}
	if q.Audit {
		r.match = append(r.match, bson.E{Key: "audit", Value: true})
	}
	for given := 0; ; {
		read := 0
		for raw, err := range s.Range(ctx, history, r) {
			if err != nil {
				yield(engine.PastEvent{}, fmt.Errorf("history: %w", err))
				return
			}
			read++
			r.to = textIn(raw, "_id")
			e, err := pastEvent(raw)
			if err != nil {
				yield(e, fmt.Errorf("history: %w", err))
				return
			}
			if !q.Match(e) {
				continue
			}
			if given++; !yield(e, nil) || given == q.Limit {
				return
			}
		}
		if read < pastPage {
			return
		}
	}
}

func pastEvent(raw bson.Raw) (e engine.PastEvent, err error) {
	id := textIn(raw, "_id")
	if e.Epoch, err = numberIn(id, 1); err != nil {
		return e, err
	}
	_, exact, _ := raw.Lookup("exact").BinaryOK()
	if e.Event, err = record.ParseEvent(exact); err != nil {
		return e, fmt.Errorf("%s: %w", id, err)
	}
	return e, nil
}

// Forget removes the oldest. What operators did goes by its age alone.
func (s *Store) Forget(ctx context.Context, before engine.Instant, most int64) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	defer leave()
	ctx, done := s.tied(ctx)
	defer done()
	if err := s.forget(ctx, before, most); err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	return nil
}

func (s *Store) forget(ctx context.Context, before engine.Instant, most int64) error {
	if before > 0 {
		r := s.names.all()
		r.to = s.names.past(engine.PastPlace{At: before})
		if err := s.forgetIn(ctx, r, 0); err != nil {
			return err
		}
	}
	if most == 0 {
		return nil
	}
	if err := s.countPast(ctx); err != nil {
		return err
	}
	r := s.names.all()
	r.match = bson.D{{Key: "audit", Value: false}}
	return s.forgetIn(ctx, r, most)
}

// countPast adds up what is there, the first time.
func (s *Store) countPast(ctx context.Context) error {
	s.pastMu.Lock()
	defer s.pastMu.Unlock()
	if s.pastBytes >= 0 {
		return nil
	}
	r := s.names.all()
	r.fields = []string{"bytes"}
	sum := int64(0)
	for raw, err := range s.s.Range(ctx, history, r) {
		if err != nil {
			return err
		}
		n, _ := raw.Lookup("bytes").AsInt64OK()
		sum += n
	}
	s.pastBytes = sum
	return nil
}

// forgetIn deletes the oldest of a span until no more than most bytes are left
// of all, or, if most is zero, all of it.
func (s *Store) forgetIn(ctx context.Context, r span, most int64) error {
	r.limit, r.fields = sweptOnce, []string{"bytes"}
	for {
		s.pastMu.Lock()
		over := s.pastBytes - most
		s.pastMu.Unlock()
		if most > 0 && over <= 0 {
			return nil
		}
		var ids []string
		bytes := int64(0)
		for raw, err := range s.s.Range(ctx, history, r) {
			if err != nil {
				return err
			}
			n, _ := raw.Lookup("bytes").AsInt64OK()
			ids = append(ids, textIn(raw, "_id"))
			if bytes += n; most > 0 && bytes >= over {
				break
			}
		}
		if len(ids) == 0 {
			return nil
		}
		if err := s.delete(ctx, history, ids); err != nil {
			return err
		}
		s.pastMu.Lock()
		if s.pastBytes >= 0 {
			s.pastBytes = max(0, s.pastBytes-bytes)
		}
		s.pastMu.Unlock()
		r.from = ids[len(ids)-1] + "\x00"
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
}
