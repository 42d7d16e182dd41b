package show

import (
	"context"
	"errors"
	"slices"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/page"
)

const (
	maxUnmatched      = 100     // messages that no subscription took
	maxUnmatchedBytes = 2 << 20 // total size of their contents, without bodies
)

// An unmatchedMessage is a message that no subscription took. It shares no memory with the event it comes
// from.
type unmatchedMessage struct {
	key     engine.Key
	at      engine.Instant
	topic   engine.Path
	content engine.Packed // without a body; from the history, only what fitted there
}

func unmatchedOf(e engine.Event) unmatchedMessage {
	return unmatchedMessage{e.Message.Key, e.At, e.Path, e.Content}
}

// unmatchedList keeps the latest ones, bounded by number and bytes. It is not safe for concurrent
// use.
type unmatchedList struct {
	messages []unmatchedMessage // oldest first, without repetition
	bytes    int
	total    int // how many there were, kept or not
}

func (s *unmatchedList) add(one unmatchedMessage) {
	s.total++
	if one.content == "" || s.of(one.key) != nil { // no content was recorded, or the message is repeated
		return
	}
	s.messages, s.bytes = append(s.messages, one), s.bytes+len(one.content)
	for len(s.messages) > maxUnmatched || s.bytes > maxUnmatchedBytes {
		s.bytes -= len(s.messages[0].content)
		s.messages = slices.Delete(s.messages, 0, 1)
	}
}

// addOlder adds earlier events, oldest first, as far as there is room.
func (s *unmatchedList) addOlder(all []engine.HistoryEvent) {
	later := *s
	*s = unmatchedList{}
	for _, e := range all {
		s.add(unmatchedOf(e.Event))
	}
	for _, one := range later.messages {
		s.add(one)
	}
	s.total += later.total - len(later.messages)
}

func (s *unmatchedList) of(k engine.Key) *unmatchedMessage {
	for i := range s.messages {
		if s.messages[i].key == k {
			return &s.messages[i]
		}
	}
	return nil
}

// listUnmatched returns the latest messages that no subscription took, latest first, and how many
// there were in all.
func (r *RecentEvents) listUnmatched() (kept []unmatchedMessage, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept = slices.Clone(r.unmatchedMessages.messages)
	slices.Reverse(kept)
	return kept, r.unmatchedMessages.total
}

func (r *RecentEvents) unmatchedMessage(k engine.Key) (unmatchedMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.unmatchedMessages.of(k); one != nil {
		return *one, true
	}
	return unmatchedMessage{}, false
}

// Limits of what a row of unmatched messages shows.
const (
	maxUnmatchedPills = 6
	maxPillValueBytes = 60
)

// unmatchedRow returns a row of the unmatched messages.
func (p *Pages) unmatchedRow(s unmatchedMessage, now engine.Instant) page.UnmatchedMessage {
	row := page.UnmatchedMessage{Key: keyText(s.key), At: s.at.Time(), Now: now.Time(), Topic: p.entityRef(engine.Topic, s.topic)}
	c, err := s.content.Content()
	if err != nil {
		return row
	}
	row.Subject, row.ID = shorten.To(c.Subject, 200), shorten.To(c.MessageID, 128)
	for _, of := range []struct{ name, text string }{
		{"CorrelationId", c.CorrelationID}, {"SessionId", c.SessionID}, {"To", c.To}, {"ReplyTo", c.ReplyTo}, {"ContentType", c.ContentType},
	} {
		if of.text != "" || of.name == "SessionId" && c.HasSessionID() {
			row.Pills = append(row.Pills, page.Pill{Key: "sys." + of.name, Value: shorten.To(of.text, maxPillValueBytes)})
		}
	}
	for _, q := range c.Properties {
		row.Pills = append(row.Pills, page.Pill{Key: shorten.To(q.Name, maxPillBytes), Value: shorten.To(q.Value.String(), maxPillValueBytes)})
	}
	if more := len(row.Pills) - maxUnmatchedPills; more > 0 {
		row.Pills = append(row.Pills[:maxUnmatchedPills:maxUnmatchedPills], page.Pill{Key: "…"})
	}
	return row
}

// A trialMessage is a message to try a rule on, as its sender wrote it, without the body.
type trialMessage struct {
	key     engine.Key
	at      engine.Instant
	topic   engine.Path // the topic it was sent to; empty means none
	content engine.Content
}

func (s trialMessage) sample(now engine.Instant) page.Sample {
	return page.Sample{Key: keyText(s.key), Subject: shorten.To(s.content.Subject, 200), ID: shorten.To(s.content.MessageID, 128), At: s.at.Time(), Now: now.Time()}
}

// unmatchedTrial returns a message that no subscription took, to try a rule on.
func unmatchedTrial(s unmatchedMessage) (trialMessage, bool) {
	c, err := s.content.Content()
	return trialMessage{s.key, s.at, s.topic, c}, err == nil
}

// findTrialMessage finds a message by its key: among the unmatched messages, the existing ones, or
// those removed recently.
func (p *Pages) findTrialMessage(ctx context.Context, k engine.Key) (s trialMessage, ok bool, err error) {
	if one, ok := p.events.unmatchedMessage(k); ok {
		s, ok = unmatchedTrial(one)
		return s, ok, nil
	}
	var row engine.Row
	err = p.b.Read(ctx, func(r broker.Reader) (err error) {
		row, err = r.Message(k)
		return err
	})
	switch {
	case errors.Is(err, engine.ErrMessageNotFound):
		e, known := p.events.removal(k)
		if !known {
			return s, false, nil
		}
		row = engine.Row{Message: e.Message, Content: e.Content, Path: e.Path}
	case err != nil:
		return s, false, err
	}
	s, ok = trialMessageOf(row)
	return s, ok, nil
}

func trialMessageOf(r engine.Row) (s trialMessage, ok bool) {
	c, err := r.Content.Content()
	if err != nil || r.Content == "" {
		return s, false
	}
	s = trialMessage{key: r.Message.Key, at: r.Message.EnqueuedAt, content: c}
	if topic, _, ok := r.Path.Subscription(); ok {
		s.topic = engine.Path(topic)
	}
	return s, true
}
