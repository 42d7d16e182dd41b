package engine

import (
	"fmt"
	"time"
	"unicode/utf8"

	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// A Submission is a message to be sent: checked and packed by Submit, outside the owner's
// loop.
type Submission struct {
	Key          Key // the key of its content, and of its body if that was staged
	Content      Packed
	Body         []byte // nil if staged or empty; must not be changed any more
	Staged       bool   // the body was given to Store.Stage under Key
	BodySize     int64
	Added        int64 // bytes of Content that the sender did not send: the size limits do not count them
	TTL          time.Duration
	ScheduledFor Instant
	Plan         *Plan  // for a topic; nil to evaluate its rules during the send
	Digest       Digest // the digest of its MessageId; zero if it has none

	duplicate     bool     // set by markDuplicates
	sharedContent *content // the content kept by a transaction; nil if Send makes one
}

// Submit checks a message against the limits on its parts and packs it. Pass the body
// or, if it was staged under key, its size as `staged`. Submit sets BodySize and Preview of c.
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

// Size returns how many bytes the message counts in quotas (RT-3).
func (s Submission) Size() int64 { return s.Content.Size() }

func checkContent(c Content, l Limits) error {
	if err := checkIDs(c, l); err != nil {
		return err
	}
	if c.HasSessionID() && c.PartitionKey != "" && c.SessionID != c.PartitionKey {
		return Refuse(ErrArgument, "The PartitionKey '%s' must equal the SessionId '%s' when both are set.", shorten.To(c.PartitionKey, 128), shorten.To(c.SessionID, 128))
	}
	if err := checkProperties(c.Properties, l); err != nil {
		return err
	}
	if n := c.headerSize(); n > l.HeaderSize {
		return Refuse(ErrArgument, "The properties of the message have %d bytes; the maximum for all of them is %d.", n, l.HeaderSize)
	}
	return nil
}

// checkIDs returns an error for ids that are too long (MSG-5, SES-1).
func checkIDs(c Content, l Limits) error {
	for _, id := range [...]struct{ name, text string }{
		{"MessageId", c.MessageID}, {"SessionId", c.SessionID}, {"PartitionKey", c.PartitionKey},
		{"ViaPartitionKey", c.ViaPartitionKey}, {"ReplyToSessionId", c.ReplyToSessionID},
	} {
		if n := int64(utf8.RuneCountInString(id.text)); n > l.IDLength {
			return Refuse(ErrArgument, "The %s has %d characters; the maximum is %d.", id.name, n, l.IDLength) // MSG-5
		}
	}
	return nil
}

func checkProperties(props value.Properties, l Limits) error {
	for _, p := range props {
		if int64(len(p.Name)) > l.PropertySize || int64(len(p.Value.Text())) > l.PropertySize {
			return Refuse(ErrArgument, "The application property '%s' is longer than the %d bytes allowed for a name or value.", shorten.To(p.Name, 64), l.PropertySize)
		}
	}
	return nil
}

// headerSize returns the size of all properties together.
func (c Content) headerSize() (n int64) {
	for _, p := range c.Properties {
		n += int64(len(p.Name) + len(p.Value.Text()))
	}
	for _, tag := range textTags {
		if tag != tagPreview {
			n += int64(len(*c.text(tag)))
		}
	}
	return n
}

// Send stores messages in a queue or distributes them to a topic's subscriptions, all or none
// (MSG-6 … MSG-8, FILT-10). It returns the number of each at the queue or topic, in order; a
// scheduled message is cancelled by this number. A duplicate is accepted and dropped (DUP-2);
// its number is zero, or an unused one if it was to be scheduled (SCH-12).
func (ns *Namespace) Send(now Instant, to Path, batch []Submission, actor string) ([]Seq, error) {
	e, err := ns.admitSend(now, to, batch)
	if err != nil {
		ns.DiscardStaged(batch)
		return nil, err
	}
	return ns.acceptAll(now, e, batch, actor), nil
}

// SendReturning is Send, and also returns the messages stored in a queue: the Row is zero for a
// duplicate, and for messages sent to a topic.
func (ns *Namespace) SendReturning(now Instant, to Path, batch []Submission, actor string) ([]Seq, []Row, error) {
	seqs, err := ns.Send(now, to, batch, actor)
	if err != nil {
		return nil, nil, err
	}
	rows := make([]Row, len(seqs))
	e, err := ns.entity(to)
	if err != nil || e.Kind == Topic {
		return seqs, rows, nil //nolint:nilerr // the messages were sent
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

// acceptAll stores the messages that admitSend admitted.
func (ns *Namespace) acceptAll(now Instant, e *entity, batch []Submission, actor string) []Seq {
	seqs := make([]Seq, 0, len(batch))
	for _, s := range batch {
		if s.duplicate {
			seqs = append(seqs, ns.acceptDuplicate(now, e, s, actor))
			continue
		}
		ns.rememberID(now, e, s.Digest)
		seqs = append(seqs, ns.accept(now, e, s, ns.addContent(s), actor))
		ns.changes.hard = true
	}
	ns.accessed(now, e, "send", actor)
	return seqs
}

// addContent adds the content and body of s to the next batch.
func (ns *Namespace) addContent(s Submission) *content {
	c := s.content()
	ns.changes.contents = append(ns.changes.contents, c)
	if s.Body != nil {
		ns.changes.bodies[c] = s.Body
	}
	return c
}

// content returns the content that copies of s share.
func (s Submission) content() *content {
	if s.sharedContent != nil {
		return s.sharedContent
	}
	return &content{key: s.Key, packed: s.Content, size: s.Size(), hasBody: s.BodySize > 0, staged: s.Staged}
}

// DiscardStaged drops the bodies that were staged for messages that were rejected.
func (ns *Namespace) DiscardStaged(batch []Submission) {
	for _, s := range batch {
		if s.Staged && s.sharedContent == nil {
			ns.changes.discard(&content{key: s.Key, hasBody: true, staged: true})
		}
	}
}

// admitSend checks whether the whole batch may be sent, before anything changes, and marks the
// duplicates in it.
func (ns *Namespace) admitSend(now Instant, to Path, batch []Submission) (*entity, error) {
	e, err := ns.sendableEntity(to)
	if err == nil {
		err = ns.admitBatch(e, batch)
	}
	if err == nil {
		err = ns.markDuplicates(now, e, batch)
	}
	if err == nil {
		err = ns.admitSpace(e, ns.spaceFor(e, batch, now))
		ns.touchIfFull(now, e, err)
	}
	return e, err
}

// sendableEntity returns an entity that may be sent to (§1.4).
func (ns *Namespace) sendableEntity(to Path) (*entity, error) {
	e, err := ns.entity(to)
	switch {
	case err != nil:
		return nil, err
	case to.IsDeadLetter():
		return nil, RefuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a dead-letter queue: '%s'.", to) // DLQ-4
	case e.Kind == Subscription:
		return nil, RefuseCode(ErrNotAllowed, 40301, "Messages cannot be sent to a subscription; send to its topic '%s'.", e.topic.Path)
	case !e.Config.Status.sends():
		return nil, Refuse(ErrDisabled, "Messaging entity '%s' is currently disabled for Send operations.", e.Path) // STAT-2
	}
	return e, nil
}

// MaxMessageSize returns how many bytes a message to p may have. The error is that of a send, if
// nothing may be sent there now (§1.4).
func (ns *Namespace) MaxMessageSize(p Path) (most int64, err error) {
	e, err := ns.sendableEntity(p)
	if err != nil {
		return 0, err
	}
	return ns.maxMessageSizeOf(e), nil
}

// maxMessageSizeOf returns how many bytes a message for e may have.
func (ns *Namespace) maxMessageSizeOf(e *entity) int64 {
	if k := e.Config.MaxMessageSizeInKilobytes; k > 0 {
		return k << 10
	}
	return ns.limits.MessageSize
}

// admitBatch checks whether e accepts these messages together, apart from room for them.
func (ns *Namespace) admitBatch(e *entity, batch []Submission) error {
	if len(batch) == 0 {
		return Refuse(ErrArgument, "The batch contains no messages.")
	}
	for _, s := range batch {
		if e.requiresSession() && !s.Content.HasSessionID() { // MSG-9
			return RefuseCode(ErrNotAllowed, 40301, "%s", NoSessionIDText)
		}
		if s.Staged && !ns.keys.issued(s.Key) { // opening a store deletes bodies that were staged before
			return Refuse(ErrBusy, "The store was reopened while the message was being sent. Nothing was sent. Retry.")
		}
	}
	return ns.admitSizes(e, batch)
}

// admitSizes checks whether the messages are small enough for e.
func (ns *Namespace) admitSizes(e *entity, batch []Submission) error {
	limit := ns.maxMessageSizeOf(e)
	total := int64(0)
	for i, s := range batch {
		size := s.Size() - s.Added
		if size > limit {
			return Refuse(ErrTooLarge, "The message%s has %d bytes; the maximum of '%s' is %d.", nth(i, len(batch)), size, e.Path, limit)
		}
		total += size
	}
	if most := ns.limits.MaxBatchSize(); len(batch) > 1 && total > most {
		return Refuse(ErrTooLarge, "The batch has %d bytes; the maximum is %d.", total, most)
	}
	return nil
}

// A requiredSpace is the room that messages take, in bytes.
type requiredSpace struct {
	charge int64 // counted against the quota of their entity
	memory int64 // taken from the process's memory
}

// admitSpace returns ErrQuota if e has no room for n, and ErrMemoryFull if the process has none.
func (ns *Namespace) admitSpace(e *entity, n requiredSpace) error {
	if err := ns.checkQuota(e, n.charge); err != nil {
		return err
	}
	return ns.admitMemory(n.memory)
}

// spaceFor returns the space that a batch takes in e. A topic keeps one copy of a scheduled message
// until it is due (SCH-17). The results of rules that read sequence numbers are a guess, because
// numbers are not assigned yet.
func (ns *Namespace) spaceFor(e *entity, batch []Submission, now Instant) (n requiredSpace) {
	for _, s := range batch {
		if s.duplicate {
			continue
		}
		copies := int64(1)
		if e.Kind == Topic {
			copies = e.countCopies(&filterView{packed: s.Content, m: Message{EnqueuedAt: now}}, s.Plan)
		}
		if s.ScheduledFor > now {
			copies = max(1, copies)
		}
		n.add(ns.sizer, s, copies)
	}
	return n
}

// add adds copies of a message, which share its content.
func (n *requiredSpace) add(t sizer, s Submission, copies int64) {
	n.charge += t.chargeOf(s.Content, s.Size(), nil) * copies
	n.memory += (t.message(nil)+messageEntry)*copies + t.content(s.Content)
}

func nth(i, n int) string {
	if n == 1 {
		return ""
	}
	return fmt.Sprintf(" at position %d of the batch", i)
}

// checkQuota returns an error if more bytes, charged as in memory_account.go, would exceed the size
// that e may have (DLQ-11, §1.5).
func (ns *Namespace) checkQuota(e *entity, more int64) error {
	root := e.root()
	most := root.Config.MaxBytes()
	if c := ns.limits.EntitySize; c > 0 {
		most = min(most, c)
	}
	if more <= 0 || root.charged+more <= most {
		return nil
	}
	text := fmt.Sprintf("The maximum entity size has been reached or exceeded for %s: '%s'. Size of entity in bytes:%d, Max entity size in bytes:%d.", root.Kind, root.Path, root.charged, most)
	if root.charged != root.bytes {
		text += fmt.Sprintf(" Its SizeInBytes is %d, but small messages count with the memory they use.", root.bytes)
	}
	return RefuseCode(ErrQuota, 40300, "%s", text)
}

// accept stores one admitted message, or distributes it to a topic's subscriptions, and returns its
// number.
func (ns *Namespace) accept(now Instant, e *entity, s Submission, c *content, actor string) Seq {
	return ns.acceptAs(now, e, s, c, actor, "")
}

// acceptAs is accept with a reason for the event.
func (ns *Namespace) acceptAs(now Instant, e *entity, s Submission, c *content, actor, why string) Seq {
	seq := ns.nextSeq(e.main)
	m := Message{Key: s.Key, Content: s.Key, Subqueue: e.ID, Seq: seq, EnqueuedSeq: seq, EnqueuedAt: now}
	if s.ScheduledFor > now { // SCH-2
		m.State, m.ScheduledFor = Scheduled, s.ScheduledFor
		ns.event(EventScheduled, now, ns.insert(m, c), e.main, actor, why)
		ns.setIdleAlarm(now, e)
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

// ownExpiry returns the ExpiresAt to store for a message with the time to live ttl, bounded by the
// present ceiling (TTL-5, TTL-11, TTL-13): zero if ttl is zero, and the time of enqueueing if it is
// negative.
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

// activate makes a scheduled message available, with a new number and enqueued time (SCH-3,
// SCH-5). Its time to live starts at the scheduled time even if activation is late, so that
// the message does not outlive it (TTL-12). A message at a topic is distributed now (SCH-10).
func (ns *Namespace) activate(now Instant, h *subqueue, m *message) {
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

// CancelScheduled removes scheduled messages by number, all or none (SCH-7, STAT-8).
func (ns *Namespace) CancelScheduled(now Instant, p Path, seqs []Seq, actor string) error {
	h, found, err := ns.scheduledAt(now, p, seqs)
	if err != nil {
		return err
	}
	for _, m := range found {
		if ns.messages[m.Key] == m { // the number may be given twice in one call
			ns.cancelScheduled(now, h, m, actor)
		}
	}
	return nil
}

// scheduledAt returns the scheduled messages with these numbers, and their subqueue. It returns
// ErrMessageNotFound if one of them is not scheduled any more, or is due.
func (ns *Namespace) scheduledAt(now Instant, p Path, seqs []Seq) (*subqueue, []*message, error) {
	h, err := ns.subqueue(p)
	if err != nil {
		return nil, nil, err
	}
	found := make([]*message, 0, len(seqs))
	for _, s := range seqs {
		m := h.order.at(s)
		if m == nil || m.State != Scheduled || Judge(h.terms, m.Message, now) == Activate {
			return nil, nil, notScheduled(h, s)
		}
		found = append(found, m)
	}
	return h, found, nil
}

func notScheduled(h *subqueue, seq Seq) error {
	return Refuse(ErrMessageNotFound, "'%[2]s' has no scheduled message with sequence number %[1]d.", seq, h.path)
}

func (ns *Namespace) cancelScheduled(now Instant, h *subqueue, m *message, actor string) *Event {
	ns.drop(m)
	ns.changes.hard = true
	ns.touch(now, h.entity, "cancel", actor)
	return ns.event(EventCancelled, now, m, h, actor, "")
}

// A SendPreview is the result of sending one message, as PreviewSend predicts it.
type SendPreview struct {
	Err        error // the error that Send would return
	Duplicate  bool  // it would be accepted and dropped (DUP-2)
	Remembered bool  // its id would be remembered, so that the next message with it is a duplicate
	Scheduled  bool  // it would wait for its time (SCH-2)
	Charge     int64 // bytes that would count against the size of the destination; see memory_account.go
}

// PreviewSend returns what Send would do with each message in a call of its own, after the acceptable
// ones before it. `taken` is the sum of the Charges that earlier calls returned. The server's
// memory limit is not checked, because the free memory changes all the time. Nothing changes,
// and bodies may be missing: only their sizes count. The error is Send's, if no message at
// all can be sent there now.
func (ns *Namespace) PreviewSend(now Instant, to Path, all []Submission, taken int64) ([]SendPreview, error) {
	e, err := ns.sendableEntity(to)
	if err != nil {
		return nil, err
	}
	out := make([]SendPreview, len(all))
	seen := map[Digest]bool{}
	for i, s := range all {
		a := &out[i]
		s.Staged, s.duplicate = false, false
		one := []Submission{s}
		if a.Err = ns.admitBatch(e, one); a.Err != nil {
			continue
		}
		if e.seen != nil && s.Digest.isSet() {
			if a.Duplicate = seen[s.Digest] || e.isDuplicate(now, s.Digest); a.Duplicate {
				continue
			}
			if a.Err = ns.admitIDs(now, e, len(seen)+1); a.Err != nil {
				continue
			}
		}
		a.Charge = ns.spaceFor(e, one, now).charge
		if a.Err = ns.checkQuota(e, taken+a.Charge); a.Err != nil {
			continue
		}
		taken += a.Charge
		a.Scheduled = s.ScheduledFor > now
		if e.seen != nil && s.Digest.isSet() {
			a.Remembered, seen[s.Digest] = true, true
		}
	}
	return out, nil
}
