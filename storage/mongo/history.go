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
	"mayfly/engine/codec"
)

// An eventDoc is a document of history. Its _id sorts by instant.
type eventDoc struct {
	ID        string     `bson:"_id"`
	V         int64      `bson:"v"`
	Namespace string     `bson:"ns"`
	At        *time.Time `bson:"at,omitempty"`
	Kind      string     `bson:"kind"`
	Path      string     `bson:"path,omitempty"`
	To        string     `bson:"to,omitempty"`
	Key       string     `bson:"key,omitempty"` // of a message, as the dashboard shows it
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

// maxEventBytes limits an event in a document of history. A deleted topic may have had more
// rules than that: then the event is stored without them.
const maxEventBytes = 8 << 20

// historyGrace is how much longer than the owner a TTL index keeps events. The index must not
// remove them first, because the owner would not notice: historyBytes would be too high, and
// newer events would be removed because of it.
const historyGrace = 24 * time.Hour

func (s *Store) newEventDoc(e engine.HistoryEvent) eventDoc {
	exact := codec.AppendEvent(nil, &e.Event)
	if len(exact) > maxEventBytes {
		e.Rules, e.Subscriptions = nil, nil
		exact = codec.AppendEvent(nil, &e.Event)
	}
	d := eventDoc{
		ID: s.names.event(e.Cursor()), V: 1, Namespace: string(s.names), At: date(e.At), Kind: e.Kind.String(),
		Path: text(string(e.Path)), To: text(string(e.To)), Seq: int64(e.Message.Seq), Actor: text(e.Actor), Reason: text(e.Reason),
		Session: text(e.Session), Count: e.Count, Audit: e.Audit, Exact: exact,
	}
	if e.Message.Key != 0 {
		d.Key = strconv.FormatUint(uint64(e.Message.Key), 10)
	}
	if s.o.HistoryRetention > 0 {
		d.PurgeAt = date(e.At.Add(s.o.HistoryRetention + historyGrace))
	}
	// An estimate: 200 bytes for the fixed-size fields and the names of all fields.
	d.Bytes = int64(len(exact)+len(d.ID)+len(d.Path)+len(d.To)+len(d.Actor)+len(d.Reason)+len(d.Session)) + 200
	return d
}

// AppendEvents stores events of this epoch.
func (s *Store) AppendEvents(ctx context.Context, events []engine.Event) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	defer leave()
	ctx, done := s.withLifetime(ctx)
	defer done()
	recorded := make([]engine.HistoryEvent, len(events))
	for i, e := range events {
		recorded[i] = engine.HistoryEvent{Epoch: s.epoch, Event: e}
	}
	if err := s.appendEvents(ctx, recorded); err != nil {
		return fmt.Errorf("remember: %w", err)
	}
	return nil
}

func (s *Store) appendEvents(ctx context.Context, recorded []engine.HistoryEvent) error {
	docs := make([]change, len(recorded))
	bytes := int64(0)
	for i, e := range recorded {
		d := s.newEventDoc(e)
		docs[i] = s.insertion(d.ID, d)
		bytes += d.Bytes
	}
	if err := s.put(ctx, history, docs); err != nil {
		return err
	}
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	if s.historyBytes >= 0 {
		s.historyBytes += bytes
	}
	return nil
}

// QueryEvents yields the stored events, read a page at a time, and the audit events that are
// committed but not yet applied.
func (s *Store) QueryEvents(ctx context.Context, q engine.HistoryQuery) iter.Seq2[engine.HistoryEvent, error] {
	return func(yield func(engine.HistoryEvent, error) bool) {
		leave, err := s.enter(ctx)
		if err != nil {
			yield(engine.HistoryEvent{}, fmt.Errorf("history: %w", err))
			return
		}
		defer leave()
		ctx, done := s.withLifetime(ctx)
		defer done()
		m := historyMerge{ctx: ctx, unapplied: s.unappliedEvents(q), remaining: q.Limit, yield: yield}
		readHistory(ctx, s.s, s.names, q, m.addStored)
		m.finish()
	}
}

// unappliedEvents returns the events that q selects among those in the windows, newest first.
func (s *Store) unappliedEvents(q engine.HistoryQuery) (out []engine.HistoryEvent) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range []*window{s.applying, s.waiting} {
		if w == nil {
			continue
		}
		for _, e := range w.audit {
			if q.Matches(e) {
				out = append(out, e)
			}
		}
	}
	slices.SortFunc(out, func(a, b engine.HistoryEvent) int {
		switch {
		case a.Cursor().Before(b.Cursor()):
			return 1
		case b.Cursor().Before(a.Cursor()):
			return -1
		default:
			return 0
		}
	})
	return out
}

// A historyMerge merges the stored and the unapplied events, newest first. Events that were
// applied meanwhile are in both sequences, and are yielded once.
type historyMerge struct {
	ctx       context.Context //nolint:containedctx // it lives for one call
	unapplied []engine.HistoryEvent
	remaining int // how many more to yield; zero means no limit
	ended     bool
	yield     func(engine.HistoryEvent, error) bool
}

func (m *historyMerge) addStored(e engine.HistoryEvent, err error) bool {
	if err != nil {
		m.ended = true
		if why := context.Cause(m.ctx); why != nil {
			err = fmt.Errorf("history: %w", why)
		}
		return m.yield(e, err)
	}
	for len(m.unapplied) > 0 && e.Cursor().Before(m.unapplied[0].Cursor()) {
		if !m.emit(m.unapplied[0]) {
			return false
		}
		m.unapplied = m.unapplied[1:]
	}
	if len(m.unapplied) > 0 && e.Cursor() == m.unapplied[0].Cursor() {
		m.unapplied = m.unapplied[1:]
	}
	return m.emit(e)
}

func (m *historyMerge) finish() {
	for _, e := range m.unapplied {
		if m.ended || !m.emit(e) {
			return
		}
	}
}

func (m *historyMerge) emit(e engine.HistoryEvent) bool {
	if m.remaining--; !m.yield(e, nil) || m.remaining == 0 {
		m.ended = true
	}
	return !m.ended
}

// historyPage is how many documents are read at once.
const historyPage = 500

func readHistory(ctx context.Context, s server, n docIDs, q engine.HistoryQuery, yield func(engine.HistoryEvent, error) bool) {
	r := n.all()
	r.backwards, r.limit, r.fields = true, historyPage, []string{"exact"}
	if q.From > 0 {
		r.from = n.event(engine.HistoryCursor{At: q.From})
	}
	if q.Until != 0 {
		r.to = n.event(engine.HistoryCursor{At: q.Until})
	}
	if q.Before != (engine.HistoryCursor{}) {
		r.to = min(r.to, n.event(q.Before))
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
				yield(engine.HistoryEvent{}, fmt.Errorf("history: %w", err))
				return
			}
			read++
			r.to = textIn(raw, "_id")
			e, err := parseEventDoc(raw)
			if err != nil {
				yield(e, fmt.Errorf("history: %w", err))
				return
			}
			if !q.Matches(e) {
				continue
			}
			if given++; !yield(e, nil) || given == q.Limit {
				return
			}
		}
		if read < historyPage {
			return
		}
	}
}

func parseEventDoc(raw bson.Raw) (e engine.HistoryEvent, err error) {
	id := textIn(raw, "_id")
	if e.Epoch, err = parseNumber(id, 1); err != nil {
		return e, err
	}
	_, exact, _ := raw.Lookup("exact").BinaryOK()
	if e.Event, err = codec.ParseEvent(exact); err != nil {
		return e, fmt.Errorf("%s: %w", id, err)
	}
	return e, nil
}

// TrimEvents removes the events before the instant `before`, unless it is zero. Then, if `most` is
// not zero, it removes the oldest events other than audit events until no more than `most` bytes
// of history are left.
func (s *Store) TrimEvents(ctx context.Context, before engine.Instant, most int64) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	defer leave()
	ctx, done := s.withLifetime(ctx)
	defer done()
	if err := s.trimEvents(ctx, before, most); err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	return nil
}

func (s *Store) trimEvents(ctx context.Context, before engine.Instant, most int64) error {
	if before > 0 {
		r := s.names.all()
		r.to = s.names.event(engine.HistoryCursor{At: before})
		if err := s.deleteOldest(ctx, r, 0); err != nil {
			return err
		}
	}
	if most == 0 {
		return nil
	}
	if err := s.countHistory(ctx); err != nil {
		return err
	}
	r := s.names.all()
	r.match = bson.D{{Key: "audit", Value: false}}
	return s.deleteOldest(ctx, r, most)
}

// countHistory sets s.historyBytes to the total size of the stored events, unless it is known.
func (s *Store) countHistory(ctx context.Context) error {
	s.historyMu.Lock()
	defer s.historyMu.Unlock()
	if s.historyBytes >= 0 {
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
	s.historyBytes = sum
	return nil
}

// deleteOldest deletes the oldest events of a range until no more than `most` bytes of history
// are left, or the whole range if `most` is zero.
func (s *Store) deleteOldest(ctx context.Context, r idRange, most int64) error {
	r.limit, r.fields = sweptOnce, []string{"bytes"}
	for {
		s.historyMu.Lock()
		over := s.historyBytes - most
		s.historyMu.Unlock()
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
		s.historyMu.Lock()
		if s.historyBytes >= 0 {
			s.historyBytes = max(0, s.historyBytes-bytes)
		}
		s.historyMu.Unlock()
		r.from = ids[len(ids)-1] + "\x00"
		if err := pause(ctx, sweepPause); err != nil {
			return err
		}
	}
}
