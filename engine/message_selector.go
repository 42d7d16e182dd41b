package engine

import (
	"cmp"
	"container/heap"
	"fmt"
	"unicode/utf8"

	"mayfly/engine/filter"
	"mayfly/engine/shorten"
)

// This file implements receivers that select messages of a subqueue (LOCK-16).

// A MessageSelector selects the messages that a receiver gets.
type MessageSelector struct {
	// Text identifies the selector: receivers of one subqueue whose selectors have the same
	// text share one index of its messages.
	Text string

	// Matches reports whether the selector selects a message. The namespace's owner calls
	// it once for each message and once more after each change of the message. It must be
	// quick and depend on nothing but the message.
	Matches func(c *Candidate) bool
}

// A Candidate is a stored message as passed to selectors. It is decoded once for all of
// them. Do not keep it after MessageSelector.Matches returns.
type Candidate struct {
	Message Message
	Content Content
	Decoded any // for the caller's Matches: decoded data shared by all selectors

	view filterView
}

// Filter returns the message as the filters of rules see it (FILT-11, FILT-21). Do not
// change it.
func (c *Candidate) Filter() *filter.Message { return c.view.message() }

// candidate returns m decoded, or nil if its content cannot be decoded.
func candidate(m *message) *Candidate {
	content, err := m.packed().Content()
	if err != nil {
		return nil
	}
	c := &Candidate{Message: m.Message, Content: content}
	c.view = filterView{content: &c.Content, m: m.Message, size: m.size()}
	return c
}

func (s *MessageSelector) selects(c *Candidate) bool { return c != nil && s.Matches(c) }

// A selectorIndex records which of a subqueue's messages a selector selects. A message is
// examined when a receiver has credit and no match is left, so a selector costs one
// evaluation of each waiting message, and one more of each that returns.
//
// INVARIANT: matched has only ready messages that the selector selects, and changed only
// ready ones below next. Each ready message below next that the selector selects is in
// one of them.
type selectorIndex struct {
	*MessageSelector
	links   int       // attached links with this selector
	lines   linkLines // only waitingLinks is used: links that have credit
	next    Seq       // the number from which messages have not been examined
	step    int64     // the subqueue's step when it last examined a message; see catchUpSelectors
	matched order     // selected messages; not counted as memory, because they are delivered at once
	changed order     // messages to examine again, at most maxChanged; not counted as memory
}

// maxChanged is how many changed messages an index tracks one by one. If there are more, it examines
// all messages again, from the first changed one on.
const maxChanged = 256

// updateSelectors removes m, which was added to h or changed, from the indexes and marks it
// to be examined again. It evaluates no selector: an operation on a message must not take
// longer because there are many slow selectors.
func (h *subqueue) updateSelectors(m *message) {
	for _, s := range h.selectors {
		s.remove(m.Seq)
		if m.Seq >= s.next || !m.ready() {
			continue
		}
		s.changed.put(m)
		s.changed.setReady(m.Seq, true)
		if s.changed.len() > maxChanged {
			s.next, s.changed = s.changed.first().Seq, order{}
		}
	}
}

// removeFromSelectors removes m from the indexes, because it is removed from h.
func (h *subqueue) removeFromSelectors(m *message) {
	for _, s := range h.selectors {
		s.remove(m.Seq)
	}
}

func (s *selectorIndex) remove(seq Seq) {
	s.matched.drop(seq)
	s.changed.drop(seq)
}

// joinIndex adds l to the index of its selector, and leaveIndex removes it.
func (l *link) joinIndex() {
	h := l.subqueue
	if l.Selector == nil || l.Mode == PeekOnly {
		return
	}
	s := h.selectors[l.Selector.Text]
	if s == nil {
		s = &selectorIndex{MessageSelector: l.Selector}
		if h.selectors == nil {
			h.selectors = map[string]*selectorIndex{}
		}
		h.selectors[l.Selector.Text] = s
	}
	s.links++
	l.index = s
}

func (l *link) leaveIndex() {
	s := l.index
	if s == nil {
		return
	}
	l.index = nil
	if s.links--; s.links == 0 {
		delete(l.subqueue.selectors, s.Text)
	}
	if len(l.subqueue.selectors) == 0 {
		l.subqueue.selectors = nil
	}
}

// mayMatch reports whether h may have a message for the selector's receivers.
func (s *selectorIndex) mayMatch(h *subqueue) bool {
	return s.matched.ready() > 0 || s.unexamined(h) != nil
}

// unexamined returns the oldest ready message that is to be examined, or nil if there is none.
func (s *selectorIndex) unexamined(h *subqueue) *message {
	if m := s.changed.first(); m != nil {
		return m
	}
	return h.firstReadyFrom(s.next)
}

// nextMatch returns the oldest message that the selector selects, or nil if there is none or *looks,
// the number of evaluations left for this step, is used up. On the way it applies the verdicts of
// Judge, for example on expired messages.
func (ns *Namespace) nextMatch(now Instant, h *subqueue, s *selectorIndex, looks *int) *message {
	for {
		m := s.matched.first()
		switch {
		case m == nil:
			if *looks <= 0 || !h.examine(s, looks) {
				return nil
			}
		case ns.applyVerdict(now, h, m):
			return m
		default:
			if *looks--; *looks <= 0 {
				return nil
			}
		}
	}
}

// examine evaluates s for its next unexamined message, and with it all other selectors that have
// waiting receivers, no match, and the same next message, so that the message is decoded once. It
// subtracts one from *looks for each evaluation; the result may be negative, by as many as a subqueue
// may have selectors. It returns false if s has examined all messages.
func (h *subqueue) examine(s *selectorIndex, looks *int) bool {
	m := s.unexamined(h)
	if m == nil {
		return false
	}
	from := m.Seq
	if s.changed.len() == 0 {
		from = s.next
	}
	c := candidate(m)
	for _, other := range h.selectors {
		if other != s && (other.lines[waitingLinks].n == 0 || other.matched.len() > 0) {
			continue
		}
		switch {
		case other.changed.at(m.Seq) != nil:
			other.changed.drop(m.Seq)
		case other.next >= from && other.next <= m.Seq:
			other.next = m.Seq + 1
		default:
			continue
		}
		*looks--
		other.step = h.step
		if other.selects(c) {
			other.matched.put(m)
			other.matched.setReady(m.Seq, true)
		}
	}
	return true
}

// catchUpSelectors examines messages for the selector that has not done so for the longest
// time, if the last step at h had too few evaluations for all selectors. Otherwise the selectors of
// the receivers that wait longest would use up all evaluations, and the others would starve while
// messages keep arriving.
func (h *subqueue) catchUpSelectors(looks *int) {
	if !h.selectorsBehind {
		return
	}
	h.selectorsBehind = false
	h.step++
	var s *selectorIndex
	for _, x := range h.selectors {
		if x.lines[waitingLinks].n > 0 && x.matched.len() == 0 && x.unexamined(h) != nil &&
			(s == nil || cmp.Or(cmp.Compare(x.step, s.step), cmp.Compare(x.next, s.next), cmp.Compare(x.Text, s.Text)) < 0) {
			s = x
		}
	}
	if s == nil {
		return
	}
	for *looks > 0 && s.matched.len() == 0 && h.examine(s, looks) {
	}
}

// A waitingLine is the waiting links of one selector, or those without a selector.
type waitingLine struct {
	lines *linkLines
	index *selectorIndex // nil for links without a selector
}

func (f waitingLine) first() *link { return f.lines[waitingLinks].first }

// waitingLines are the waiting lines of a subqueue as a heap, with the line of the link that has
// waited longest first. The cost of a delivery does not grow with the number of links.
type waitingLines []waitingLine

func (h *subqueue) waitingLines() *waitingLines {
	var q waitingLines
	if h.links[waitingLinks].n > 0 {
		q = append(q, waitingLine{lines: &h.links})
	}
	for _, s := range h.selectors {
		if s.lines[waitingLinks].n > 0 {
			q = append(q, waitingLine{&s.lines, s})
		}
	}
	heap.Init(&q)
	return &q
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q *waitingLines) Len() int { return len(*q) }
func (q *waitingLines) Less(i, j int) bool {
	return (*q)[i].first().waitTurn < (*q)[j].first().waitTurn
}
func (q *waitingLines) Swap(i, j int) { (*q)[i], (*q)[j] = (*q)[j], (*q)[i] }
func (q *waitingLines) Push(x any)    { *q = append(*q, x.(waitingLine)) } //nolint:forcetypeassert // nothing else is pushed
func (q *waitingLines) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = (*q)[:last]
	return x
}

// firstServed moves the first line, whose first link got a message, to its new position.
func (q *waitingLines) firstServed() {
	if (*q)[0].first() == nil {
		q.removeFirst()
	} else {
		heap.Fix(q, 0)
	}
}

// removeFirst removes the first line.
func (q *waitingLines) removeFirst() {
	last := len(*q) - 1
	q.Swap(0, last)
	*q = (*q)[:last]
	if last > 0 {
		heap.Fix(q, 0)
	}
}

// admitSelector checks whether a receiver may have a selector. Sessions keep their messages
// in order and for one receiver: a receiver that skips messages would withhold them from all
// others.
func (ns *Namespace) admitSelector(h *subqueue, l Link) error {
	switch {
	case l.Selector == nil || l.Mode == PeekOnly:
		return nil
	case h.sessions != nil:
		return Refuse(ErrNotImplemented, "A receiver of '%s' cannot use a selector, because its messages have sessions.", h.path)
	case h.selectors[l.Selector.Text] == nil && int64(len(h.selectors)) >= ns.limits.Selectors:
		return Refuse(ErrQuota, "The receivers of '%s' already use %d different selectors, the maximum. Use a topic with rules instead.", h.path, len(h.selectors))
	}
	return nil
}

// A MessageFilter selects stored messages by a SQL filter, as a rule selects sent ones: by their
// system and application properties, including the reason of a dead letter (FILT-11, TTL-27),
// in three-valued logic (FILT-29). There are no parameters. A nil MessageFilter selects every
// message. It is safe for concurrent use.
type MessageFilter struct {
	text string
	sql  *filter.SQL
}

// ParseMessageFilter parses a filter, which may be as long as one of a rule. Its errors are
// *MessageFilterError.
func ParseMessageFilter(text string, l Limits) (*MessageFilter, error) {
	if n := int64(utf8.RuneCountInString(text)); n > l.FilterLength {
		return nil, &MessageFilterError{fmt.Errorf("it has %d characters; the maximum is %d", n, l.FilterLength)}
	}
	sql, err := filter.ParseSQL(text, nil)
	if err != nil {
		return nil, &MessageFilterError{err}
	}
	return &MessageFilter{text, sql}, nil
}

// matches reports whether the filter is true for m; unknown counts as false. Its errors are
// *filter.Error.
func (s *MessageFilter) matches(m *message) (bool, error) {
	if s == nil {
		return true, nil
	}
	g := filterView{packed: m.packed(), m: m.Message}
	return s.sql.Matches(g.message())
}

// maxSummary is the maximum number of bytes of a filter that an event contains.
const maxSummary = 200

// summary returns the filter's text for an event, shortened, or "" if s is nil.
func (s *MessageFilter) summary() string {
	if s == nil {
		return ""
	}
	return shorten.To(s.text, maxSummary)
}

// A MessageFilterError is the reason why a text is not a valid filter. It unwraps to ErrArgument,
// and to the *filter.SyntaxError with the position if there is one (FILT-28).
type MessageFilterError struct{ Err error }

func (e *MessageFilterError) Error() string { return fmt.Sprintf("The filter is not valid: %v", e.Err) }

// Unwrap supports errors.Is and errors.As.
func (e *MessageFilterError) Unwrap() []error {
	return []error{Refuse(ErrArgument, "%s", e.Error()), e.Err}
}
