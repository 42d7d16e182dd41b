package show

import (
	"context"
	"errors"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/page"
)

const (
	straysMost  = 100     // messages that no subscription took
	straysBytes = 2 << 20 // of what their senders wrote, bodies aside
)

// A stray is a message that no subscription took. It shares no memory with the
// event that told of it.
type stray struct {
	key     engine.Key
	at      engine.Instant
	topic   engine.Path
	content engine.Packed // without a body; of a message that the history told of, what fitted there
}

func strayOf(e engine.Event) stray {
	return stray{e.Message.Key, e.At, e.Path, e.Content}
}

// strays keeps the latest ones, bounded by number and bytes. Not safe for
// concurrent use.
type strays struct {
	kept  []stray // oldest first; each message once
	bytes int
	all   int // that there were, kept or not
}

func (s *strays) add(one stray) {
	s.all++
	if one.content == "" || s.of(one.key) != nil { // nothing of it was remembered, or it is told twice
		return
	}
	s.kept, s.bytes = append(s.kept, one), s.bytes+len(one.content)
	for len(s.kept) > straysMost || s.bytes > straysBytes {
		s.bytes -= len(s.kept[0].content)
		s.kept = slices.Delete(s.kept, 0, 1)
	}
}

// older puts what happened before the others, oldest first, as far as there is
// room.
func (s *strays) older(all []engine.PastEvent) {
	later := *s
	*s = strays{}
	for _, e := range all {
		s.add(strayOf(e.Event))
	}
	for _, one := range later.kept {
		s.add(one)
	}
	s.all += later.all - len(later.kept)
}

func (s *strays) of(k engine.Key) *stray {
	for i := range s.kept {
		if s.kept[i].key == k {
			return &s.kept[i]
		}
	}
	return nil
}

// unmatched are the messages that no subscription took lately, latest first,
// and how many there were, kept or not.
func (r *Recent) unmatched() (kept []stray, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept = slices.Clone(r.strays.kept)
	slices.Reverse(kept)
	return kept, r.strays.all
}

func (r *Recent) stray(k engine.Key) (stray, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.strays.of(k); one != nil {
		return *one, true
	}
	return stray{}, false
}

// What a message of the tray shows beside its name.
const (
	mostStrayPills   = 6
	longestPillValue = 60
)

// strayRow is a message of the tray.
func (p *Pages) strayRow(s stray, now engine.Instant) page.Stray {
	row := page.Stray{Key: keyText(s.key), At: s.at.Time(), Now: now.Time(), Topic: p.placeOf(engine.Topic, s.topic)}
	c, err := s.content.Content()
	if err != nil {
		return row
	}
	row.Subject, row.ID = cut(c.Subject, 200), cut(c.MessageID, 128)
	for _, of := range []struct{ name, text string }{
		{"CorrelationId", c.CorrelationID}, {"SessionId", c.SessionID}, {"To", c.To}, {"ReplyTo", c.ReplyTo}, {"ContentType", c.ContentType},
	} {
		if of.text != "" || of.name == "SessionId" && c.HasSessionID() {
			row.Pills = append(row.Pills, page.Pill{Key: "sys." + of.name, Value: cut(of.text, longestPillValue)})
		}
	}
	for _, q := range c.Properties {
		row.Pills = append(row.Pills, page.Pill{Key: cut(q.Name, longestPill), Value: cut(q.Value.String(), longestPillValue)})
	}
	if more := len(row.Pills) - mostStrayPills; more > 0 {
		row.Pills = append(row.Pills[:mostStrayPills:mostStrayPills], page.Pill{Key: "…"})
	}
	return row
}

// A specimen is a message that something can be tried on: as its sender wrote
// it, without the body.
type specimen struct {
	key     engine.Key
	at      engine.Instant
	topic   engine.Path // that it was sent to; empty: none
	content engine.Content
}

func (s specimen) sample(now engine.Instant) page.Sample {
	return page.Sample{Key: keyText(s.key), Subject: cut(s.content.Subject, 200), ID: cut(s.content.MessageID, 128), At: s.at.Time(), Now: now.Time()}
}

func (s stray) specimen() (specimen, bool) {
	c, err := s.content.Content()
	return specimen{s.key, s.at, s.topic, c}, err == nil
}

// specimen finds a message by its key: in the tray, among those that are there,
// or among those that went lately.
func (p *Pages) specimen(ctx context.Context, k engine.Key) (s specimen, ok bool, err error) {
	if one, ok := p.recent.stray(k); ok {
		s, ok = one.specimen()
		return s, ok, nil
	}
	var row engine.Row
	err = p.b.Read(ctx, func(r broker.Reader) (err error) {
		row, err = r.Message(k)
		return err //nolint:wrapcheck // the caller asked for just this
	})
	switch {
	case errors.Is(err, engine.ErrMessageNotFound):
		e, known := p.recent.departure(k)
		if !known {
			return s, false, nil
		}
		row = engine.Row{Message: e.Message, Content: e.Content, Path: e.Path}
	case err != nil:
		return s, false, err //nolint:wrapcheck // the caller asked for just this
	}
	s, ok = specimenOf(row)
	return s, ok, nil
}

func specimenOf(r engine.Row) (s specimen, ok bool) {
	c, err := r.Content.Content()
	if err != nil || r.Content == "" {
		return s, false
	}
	s = specimen{key: r.Message.Key, at: r.Message.EnqueuedAt, content: c}
	if topic, _, ok := r.Path.Subscription(); ok {
		s.topic = engine.Path(topic)
	}
	return s, true
}
