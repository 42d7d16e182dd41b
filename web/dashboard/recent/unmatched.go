package recent

import (
	"slices"

	"mayfly/engine"
)

// MaxUnmatched is how many unmatched messages are remembered.
const (
	MaxUnmatched      = 100     // messages that no subscription took
	maxUnmatchedBytes = 2 << 20 // total size of their contents, without bodies
)

// An UnmatchedMessage is a message that no subscription took. It shares no memory with the event it comes
// from.
type UnmatchedMessage struct {
	Key     engine.Key
	At      engine.Instant
	Topic   engine.Path
	Content engine.Packed // without a body; from the history, only what fitted there
}

func unmatchedOf(e engine.Event) UnmatchedMessage {
	return UnmatchedMessage{e.Message.Key, e.At, e.Path, e.Content}
}

// unmatchedList keeps the latest unmatched messages, bounded by number and bytes. It is not safe
// for concurrent use.
type unmatchedList struct {
	messages []UnmatchedMessage // oldest first, without repetition
	bytes    int
	total    int // number of unmatched messages so far, kept or not
}

func (s *unmatchedList) add(one UnmatchedMessage) {
	s.total++
	if one.Content == "" || s.of(one.Key) != nil { // no content was recorded, or the message is repeated
		return
	}
	s.messages, s.bytes = append(s.messages, one), s.bytes+len(one.Content)
	for len(s.messages) > MaxUnmatched || s.bytes > maxUnmatchedBytes {
		s.bytes -= len(s.messages[0].Content)
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

func (s *unmatchedList) of(k engine.Key) *UnmatchedMessage {
	for i := range s.messages {
		if s.messages[i].Key == k {
			return &s.messages[i]
		}
	}
	return nil
}

// ListUnmatched returns the latest messages that no subscription took, latest first, and how many
// there were in all.
func (r *Events) ListUnmatched() (kept []UnmatchedMessage, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kept = slices.Clone(r.unmatchedMessages.messages)
	slices.Reverse(kept)
	return kept, r.unmatchedMessages.total
}

// UnmatchedMessage returns a recent message that no subscription took.
func (r *Events) UnmatchedMessage(k engine.Key) (UnmatchedMessage, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if one := r.unmatchedMessages.of(k); one != nil {
		return *one, true
	}
	return UnmatchedMessage{}, false
}
