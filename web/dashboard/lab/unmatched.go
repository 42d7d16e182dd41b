package lab

import (
	"context"
	"errors"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
	"mayfly/views/page/lab"
	listpage "mayfly/views/page/list"
	"mayfly/web/dashboard/list"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// Limits of what a row of unmatched messages shows.
const (
	maxUnmatchedPills = 6
	maxPillValueBytes = 60
)

// unmatchedRow returns a row of the unmatched messages.
func unmatchedRow(p *pages.Pages, s recent.UnmatchedMessage, now engine.Instant) lab.UnmatchedMessage {
	row := lab.UnmatchedMessage{Key: pages.KeyText(s.Key), At: s.At.Time(), Now: now.Time(), Topic: p.EntityRef(engine.Topic, s.Topic)}
	c, err := s.Content.Content()
	if err != nil {
		return row
	}
	row.Subject, row.ID = shorten.To(c.Subject, 200), shorten.To(c.MessageID, 128)
	for _, of := range []struct{ name, text string }{
		{"CorrelationId", c.CorrelationID}, {"SessionId", c.SessionID}, {"To", c.To}, {"ReplyTo", c.ReplyTo}, {"ContentType", c.ContentType},
	} {
		if of.text != "" || of.name == "SessionId" && c.HasSessionID() {
			row.Pills = append(row.Pills, listpage.Pill{Key: "sys." + of.name, Value: shorten.To(of.text, maxPillValueBytes)})
		}
	}
	for _, q := range c.Properties {
		row.Pills = append(row.Pills, listpage.Pill{Key: shorten.To(q.Name, list.MaxPillBytes), Value: shorten.To(q.Value.String(), maxPillValueBytes)})
	}
	if more := len(row.Pills) - maxUnmatchedPills; more > 0 {
		row.Pills = append(row.Pills[:maxUnmatchedPills:maxUnmatchedPills], listpage.Pill{Key: "…"})
	}
	return row
}

// A TrialMessage is a message to try a rule on, as its sender wrote it, without the body.
type TrialMessage struct {
	key     engine.Key
	At      engine.Instant
	topic   engine.Path // the topic that the message was sent to; empty means none
	Content engine.Content
}

// Sample returns s for display.
func (s TrialMessage) Sample(now engine.Instant) lab.Sample {
	return lab.Sample{Key: pages.KeyText(s.key), Subject: shorten.To(s.Content.Subject, 200), ID: shorten.To(s.Content.MessageID, 128), At: s.At.Time(), Now: now.Time()}
}

// UnmatchedTrial returns a message that no subscription took, to try a rule on. It returns false
// if the message's content cannot be decoded.
func UnmatchedTrial(s recent.UnmatchedMessage) (TrialMessage, bool) {
	c, err := s.Content.Content()
	return TrialMessage{s.Key, s.At, s.Topic, c}, err == nil
}

// FindTrialMessage finds a message by its key: among the unmatched messages, the existing ones, or
// those removed recently.
func FindTrialMessage(ctx context.Context, p *pages.Pages, k engine.Key) (s TrialMessage, ok bool, err error) {
	if one, ok := p.Events.UnmatchedMessage(k); ok {
		s, ok = UnmatchedTrial(one)
		return s, ok, nil
	}
	var row engine.Row
	err = p.Broker.Read(ctx, func(r broker.Reader) (err error) {
		row, err = r.Message(k)
		return err
	})
	switch {
	case errors.Is(err, engine.ErrMessageNotFound):
		e, known := p.Events.Removal(k)
		if !known {
			return s, false, nil
		}
		row = engine.Row{Message: e.Message, Content: e.Content, Path: e.Path}
	case err != nil:
		return s, false, err
	}
	s, ok = TrialMessageOf(row)
	return s, ok, nil
}

// TrialMessageOf returns the message of a row, to try a rule on. ok is false if the row has no
// content or it cannot be decoded.
func TrialMessageOf(r engine.Row) (s TrialMessage, ok bool) {
	c, err := r.Content.Content()
	if err != nil || r.Content == "" {
		return s, false
	}
	s = TrialMessage{key: r.Message.Key, At: r.Message.EnqueuedAt, Content: c}
	if topic, _, ok := r.Path.Subscription(); ok {
		s.topic = engine.Path(topic)
	}
	return s, true
}
