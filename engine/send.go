package engine

import (
	"fmt"
	"time"
	"unicode/utf8"

	"mayfly/engine/value"
)

// A Submission is a message on its way in: checked and packed outside the
// owner's loop, by Submit.
type Submission struct {
	Key          Key // of its content, and of its body if that was staged
	Content      Packed
	Body         []byte // nil if staged or empty; not changed any more
	Staged       bool   // the body was given to Store.Stage under Key
	BodySize     int64
	Added        int64 // bytes of Content that the sender has not sent: the limits on sizes do not count them
	TTL          time.Duration
	ScheduledFor Instant
	Plan         *Plan  // for a topic; nil: its rules are asked when its turn comes
	Digest       Digest // of its MessageId; zero: it has none, and is never a duplicate

	duplicate bool     // as markDuplicates decided
	kept      *content // by a transaction; nil: Send makes one
}

// Submit checks a message against the limits on its parts and packs it. Give
// the body, or its size if it was staged under key. c.Preview, BodySize and
// Properties are completed here.
func Submit(c Content, body []byte, staged int64, key Key, l Limits) (Submission, error) {
	c.BodySize = max(int64(len(body)), staged)
	c.SetPreview(body)
	if err := checkContent(c, l); err != nil {
		return Submission{}, err
	}
	s := Submission{Key: key, Content: c.Pack(), BodySize: c.BodySize, TTL: c.TTL, ScheduledFor: c.ScheduledFor, Digest: DigestOf(c.MessageID)}
	if s.Staged = staged > 0; !s.Staged && len(body) > 0 {
		s.Body = body
	}
	return s, nil
}

// Size is what the message counts for in quotas (RT-3).
func (s Submission) Size() int64 { return s.Content.Size() }

func checkContent(c Content, l Limits) error {
	if err := checkIDs(c, l); err != nil {
		return err
	}
	if c.HasSessionID() && c.PartitionKey != "" && c.SessionID != c.PartitionKey {
		return refuse(ErrArgument, "The PartitionKey '%s' must equal the SessionId '%s' when both are set.", cut(c.PartitionKey, 128), cut(c.SessionID, 128))
	}
	if err := checkProperties(c.Properties, l); err != nil {
		return err
	}
	if n := c.headerSize(); n > l.HeaderSize {
		return refuse(ErrArgument, "The properties of the message take %d bytes; %d are allowed together.", n, l.HeaderSize)
	}
	return nil
}

// checkIDs refuses identities that are longer than allowed (MSG-5, SES-1).
func checkIDs(c Content, l Limits) error {
	for _, id := range [...]struct{ name, text string }{
		{"MessageId", c.MessageID}, {"SessionId", c.SessionID}, {"PartitionKey", c.PartitionKey},
		{"ViaPartitionKey", c.ViaPartitionKey}, {"ReplyToSessionId", c.ReplyToSessionID},
	} {
		if n := int64(utf8.RuneCountInString(id.text)); n > l.IDLength {
			return refuse(ErrArgument, "The %s has %d characters; %d are allowed.", id.name, n, l.IDLength) // MSG-5
		}
	}
	return nil
}

func checkProperties(props value.Properties, l Limits) error {
	for _, p := range props {
		if int64(len(p.Name)) > l.PropertySize || int64(len(p.Value.Text())) > l.PropertySize {
			return refuse(ErrArgument, "The application property '%s' is longer than the %d bytes allowed for a name or value.", cut(p.Name, 64), l.PropertySize)
		}
	}
	return nil
}

// headerSize is what all properties take together.
func (c Content) headerSize() (n int64) {
	for _, p := range c.Properties {
		n += int64(len(p.Name) + len(p.Value.Text()))
	}
	for _, tag := range textTags() {
		if tag != tagPreview {
			n += int64(len(*c.text(tag)))
		}
	}
	return n
}

// Send stores messages in a queue or gives them to a topic's subscriptions,
// all or none (MSG-6 … MSG-8, FILT-10). It returns the number each got at the
// queue or topic, in order; a scheduled one's is the number to cancel it by. A
// duplicate is accepted and dropped (DUP-2); its number is zero, or one that
// nothing has if it was to be scheduled (SCH-12).
func (ns *Namespace) Send(now Instant, to Path, batch []Submission, actor string) ([]Seq, error) {
	e, err := ns.admitSend(now, to, batch)
	if err != nil {
		ns.Discard(batch)
		return nil, err
	}
	return ns.acceptAll(now, e, batch, actor), nil
}

// SendKeeping is Send, and tells where the messages of a queue are: the zero Row
// stands for a duplicate, and nothing is told of a topic's.
func (ns *Namespace) SendKeeping(now Instant, to Path, batch []Submission, actor string) ([]Seq, []Row, error) {
	seqs, err := ns.Send(now, to, batch, actor)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]Row, len(seqs))
	e, err := ns.entity(to)
	if err != nil || e.Kind == Topic {
		return seqs, rows, nil //nolint:nilerr // it was sent
	}
	for i, n := range seqs {
		if m := e.main.order.at(n); n != 0 && m != nil {
			if rows[i], err = ns.Message(m.Key); err != nil {
				rows[i] = Row{}
			}
		}
	}
	return seqs, rows, nil
}

// acceptAll takes in what admitSend admitted.
func (ns *Namespace) acceptAll(now Instant, e *entity, batch []Submission, actor string) []Seq {
	seqs := make([]Seq, 0, len(batch))
	for _, s := range batch {
		if s.duplicate {
			seqs = append(seqs, ns.acceptDuplicate(now, e, s, actor))
			continue
		}
		ns.remember(now, e, s.Digest)
		seqs = append(seqs, ns.accept(now, e, s, ns.keep(s), actor))
		ns.changes.hard = true
	}
	ns.accessed(now, e, "send", actor)
	return seqs
}

// keep has what the sender wrote go to the store.
func (ns *Namespace) keep(s Submission) *content {
	c := s.content()
	ns.changes.contents = append(ns.changes.contents, c)
	if s.Body != nil {
		ns.changes.bodies[c] = s.Body
	}
	return c
}

// content is s as what its copies will share.
func (s Submission) content() *content {
	if s.kept != nil {
		return s.kept
	}
	return &content{key: s.Key, packed: s.Content, size: s.Size(), hasBody: s.BodySize > 0, staged: s.Staged}
}

// Discard lets the bodies go that were staged for messages now refused.
func (ns *Namespace) Discard(batch []Submission) {
	for _, s := range batch {
		if s.Staged && s.kept == nil {
			ns.changes.discard(&content{key: s.Key, hasBody: true, staged: true})
		}
	}
}

// admitSend decides whether everything may be sent, before anything changes.
func (ns *Namespace) admitSend(now Instant, to Path, batch []Submission) (*entity, error) {
	e, err := ns.sendsTo(to)
	if err == nil {
		err = ns.admitBatch(e, batch)
	}
	if err == nil {
		err = ns.markDuplicates(now, e, batch)
	}
	if err == nil {
		err = ns.full(e, needs(e, batch, now))
	}
	return e, err
}

// sendsTo finds an entity that may be sent to (§1.4).
func (ns *Namespace) sendsTo(to Path) (*entity, error) {
	e, err := ns.entity(to)
	switch {
	case err != nil:
		return nil, err
	case to.IsDeadLetter():
		return nil, refuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a dead-letter queue: '%s'.", to) // DLQ-4
	case e.Kind == Subscription:
		return nil, refuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a subscription; send to its topic '%s'.", e.topic.Path)
	case !e.Config.Status.sends():
		return nil, refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Send operations.", e.Path) // STAT-2
	}
	return e, nil
}

// Sendable tells how many bytes a message to p may have, and is the error of a
// send if nothing may be sent there now (§1.4).
func (ns *Namespace) Sendable(p Path) (most int64, err error) {
	e, err := ns.sendsTo(p)
	if err != nil {
		return 0, err
	}
	return ns.largest(e), nil
}

// largest is how many bytes a message for e may have.
func (ns *Namespace) largest(e *entity) int64 {
	if k := e.Config.MaxMessageSizeInKilobytes; k > 0 {
		return k << 10
	}
	return ns.limits.MessageSize
}

// admitBatch decides whether e takes these messages together, its room apart.
func (ns *Namespace) admitBatch(e *entity, batch []Submission) error {
	if len(batch) == 0 {
		return refuse(ErrArgument, "There is no message in the batch.")
	}
	for _, s := range batch {
		if e.sessionful() && !s.Content.HasSessionID() { // MSG-9
			return refuseCode(ErrNotAllowed, 40301, "%s", NoSessionIDText)
		}
		if s.Staged && !ns.keys.gave(s.Key) { // an open lets go of what was staged before it
			return refuse(ErrBusy, "The store was opened again while the message was on its way; nothing was sent.")
		}
	}
	return ns.admitSizes(e, batch)
}

// admitSizes decides whether the messages are small enough for e.
func (ns *Namespace) admitSizes(e *entity, batch []Submission) error {
	limit := ns.largest(e)
	total := int64(0)
	for i, s := range batch {
		size := s.Size() - s.Added
		if size > limit {
			return refuse(ErrTooLarge, "The message%s has %d bytes; '%s' takes messages of at most %d.", nth(i, len(batch)), size, e.Path, limit)
		}
		total += size
	}
	if most := max(ns.limits.BatchSize, limit); len(batch) > 1 && total > most {
		return refuse(ErrTooLarge, "The batch has %d bytes; at most %d are allowed.", total, most)
	}
	return nil
}

// needs is how many bytes e will hold more; a topic keeps one copy of what is
// scheduled, until its time (SCH-17). What rules say of numbers that are not
// given yet is a guess.
func needs(e *entity, batch []Submission, now Instant) (bytes int64) {
	for _, s := range batch {
		if s.duplicate {
			continue
		}
		copies := int64(1)
		if e.Kind == Topic {
			copies = e.copies(&glance{packed: s.Content, m: Message{EnqueuedAt: now}}, s.Plan)
		}
		if s.ScheduledFor > now {
			copies = max(1, copies)
		}
		bytes += s.Size() * copies
	}
	return bytes
}

func nth(i, n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" at position %d of the batch", i)
}

// full refuses what would make e larger than it may be (DLQ-11, §1.5).
func (ns *Namespace) full(e *entity, more int64) error {
	root := e.root()
	most := root.Config.Capacity()
	if c := ns.limits.EntitySize; c > 0 {
		most = min(most, c)
	}
	if more > 0 && root.bytes+more > most {
		return refuseCode(ErrQuota, 40300, "The maximum entity size has been reached or exceeded for %s: '%s'. Size of entity in bytes:%d, Max entity size in bytes:%d.", root.Kind, root.Path, root.bytes, most)
	}
	return nil
}

// accept takes one admitted message in.
func (ns *Namespace) accept(now Instant, e *entity, s Submission, c *content, actor string) Seq {
	return ns.acceptAs(now, e, s, c, actor, "")
}

// acceptAs is accept of a message that has a reason to be there.
func (ns *Namespace) acceptAs(now Instant, e *entity, s Submission, c *content, actor, why string) Seq {
	seq := ns.nextSeq(e.main)
	m := Message{Key: s.Key, Content: s.Key, Holder: e.ID, Seq: seq, EnqueuedSeq: seq, EnqueuedAt: now}
	if s.ScheduledFor > now { // SCH-2
		m.State, m.ScheduledFor = Scheduled, s.ScheduledFor
		ns.event(EventScheduled, now, ns.insert(m, c), e.main, actor, why)
		ns.reconsider(now, e)
		return seq
	}
	if e.Kind == Topic {
		ns.fanOut(now, e, m, c, actor, s.Plan)
		return seq
	}
	m.ExpiresAt = e.main.terms.ownExpiry(now, s.TTL)
	ns.event(EventSent, now, ns.insert(m, c), e.main, actor, why)
	return seq
}

// ownExpiry is the instant stored for a message with a TTL of its own, under
// the ceiling in force now (TTL-5, TTL-11, TTL-13).
func (t Terms) ownExpiry(enqueued Instant, ttl time.Duration) Instant {
	switch {
	case ttl == 0:
		return 0
	case ttl < 0:
		return enqueued
	default:
		return enqueued.Add(effectiveTTL(ttl, t.TTL))
	}
}

// activate makes a scheduled message available: a new number and a new clock
// (SCH-3, SCH-5). The clock starts at the scheduled time even if that is noticed
// late, so that the message does not outlive its time (TTL-12). At a topic this
// is when it is distributed (SCH-10).
func (ns *Namespace) activate(now Instant, h *holder, m *message) {
	ns.changes.hard = true
	e, ttl := h.entity, m.content.packed.ttl()
	next := m.Message
	next.State, next.ScheduledFor, next.EnqueuedAt = Active, 0, min(now, m.ScheduledFor)
	next.Seq = ns.nextSeq(h)
	next.EnqueuedSeq = next.Seq
	if e.Kind == Topic {
		was := m.Message
		ns.drop(m)
		m.Message = next
		ns.event(EventActivated, now, m, h, "", "")
		m.Message = was
		next.Key = ns.keys.Next()
		ns.fanOut(now, e, next, m.content, "", nil)
	} else {
		next.ExpiresAt = h.terms.ownExpiry(next.EnqueuedAt, ttl)
		ns.put(m, next)
		ns.event(EventActivated, now, m, h, "", "")
	}
	ns.touch(now, e, "activate", "")
}

// Cancel removes scheduled messages by number, all or none (SCH-7, STAT-8).
func (ns *Namespace) Cancel(now Instant, p Path, seqs []Seq, actor string) error {
	h, err := ns.holder(p)
	if err != nil {
		return err
	}
	found := make([]*message, 0, len(seqs))
	for _, s := range seqs {
		m := h.order.at(s)
		if m == nil || m.State != Scheduled || Judge(h.terms, m.Message, now) == Activate {
			return refuse(ErrMessageNotFound, "There is no scheduled message with sequence number %d in '%s'.", s, h.path)
		}
		found = append(found, m)
	}
	for _, m := range found {
		if ns.messages[m.Key] == m { // named twice in one call
			ns.cancel(now, h, m, actor)
		}
	}
	return nil
}

func (ns *Namespace) cancel(now Instant, h *holder, m *message, actor string) *Event {
	ns.drop(m)
	ns.changes.hard = true
	ns.touch(now, h.entity, "cancel", actor)
	return ns.event(EventCancelled, now, m, h, actor, "")
}
