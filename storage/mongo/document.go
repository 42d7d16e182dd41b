package mongo

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
	"mayfly/engine/codec"
)

// A header starts every document of a record.
type header struct {
	ID        string  `bson:"_id"`
	V         version `bson:"v"` // of the commit that wrote it
	Namespace string  `bson:"ns"`
}

// A tombstone replaces a dropped document, so that a late write of an earlier version does not
// bring it back.
type tombstone struct {
	Head    header    `bson:",inline"`
	Gone    bool      `bson:"gone"`
	PurgeAt time.Time `bson:"purgeAt"`
}

type entityDoc struct {
	Head         header     `bson:",inline"`
	Path         string     `bson:"path"`
	Kind         string     `bson:"kind"`
	Holder       int64      `bson:"holder"`
	DeadLetters  int64      `bson:"deadLetterHolder,omitempty"`
	Transfers    int64      `bson:"transferDeadLetterHolder,omitempty"`
	Status       string     `bson:"status"`
	CreatedAt    *time.Time `bson:"createdAt,omitempty"`
	UpdatedAt    *time.Time `bson:"updatedAt,omitempty"`
	TTL          float64    `bson:"defaultMessageTimeToLiveSeconds,omitempty"`
	AutoDelete   float64    `bson:"autoDeleteOnIdleSeconds,omitempty"`
	DeadLettered bool       `bson:"deadLetteringOnMessageExpiration"`
	Sessions     bool       `bson:"requiresSession,omitempty"`
	Duplicates   bool       `bson:"requiresDuplicateDetection,omitempty"`
	ForwardTo    string     `bson:"forwardTo,omitempty"`
	ForwardDead  string     `bson:"forwardDeadLetteredMessagesTo,omitempty"`
	Exact        []byte     `bson:"exact"`
}

type ruleDoc struct {
	Head         header `bson:",inline"`
	Subscription int64  `bson:"holder"`
	Path         string `bson:"path,omitempty"`
	Name         string `bson:"name"`
	Filter       string `bson:"filter,omitempty"`
	Action       string `bson:"action,omitempty"`
	Exact        []byte `bson:"exact"`
}

type meterDoc struct {
	Head     header     `bson:",inline"`
	Path     string     `bson:"path,omitempty"`
	NextSeq  int64      `bson:"nextSequenceNumber"`
	LastUsed *time.Time `bson:"lastUsed,omitempty"`
	Dropped  int64      `bson:"duplicates,omitempty"` // messages
	Exact    []byte     `bson:"exact"`
}

// messageDoc shows people the searchable fields of a message; Exact is what the broker reads,
// because BSON cannot represent every property value.
type messageDoc struct {
	Head          header     `bson:",inline"`
	Path          string     `bson:"path"`
	Holder        int64      `bson:"holder"`
	Seq           int64      `bson:"seq"`
	State         string     `bson:"state"`
	MessageID     string     `bson:"messageId,omitempty"`
	Subject       string     `bson:"subject,omitempty"`
	CorrelationID string     `bson:"correlationId,omitempty"`
	SessionID     string     `bson:"sessionId,omitempty"`
	ContentType   string     `bson:"contentType,omitempty"`
	EnqueuedAt    *time.Time `bson:"enqueuedAt,omitempty"`
	ExpiresAt     *time.Time `bson:"expiresAt,omitempty"`
	ScheduledFor  *time.Time `bson:"scheduledFor,omitempty"`
	LockedUntil   *time.Time `bson:"lockedUntil,omitempty"`
	DeliveryCount int64      `bson:"deliveryCount"`
	Hops          int64      `bson:"hops,omitempty"`
	Reason        string     `bson:"deadLetterReason,omitempty"`
	Description   string     `bson:"deadLetterErrorDescription,omitempty"`
	Source        string     `bson:"deadLetterSource,omitempty"`
	TransferTo    string     `bson:"transferTo,omitempty"`
	BodyBytes     int64      `bson:"bodyBytes"`
	Preview       string     `bson:"preview,omitempty"`
	Content       string     `bson:"content"` // _id in contents, and in bodies
	Exact         []byte     `bson:"exact"`
	PurgeAt       *time.Time `bson:"purgeAt,omitempty"`
}

type contentDoc struct {
	ID     string `bson:"_id"`
	Packed []byte `bson:"packed"`
}

type bodyDoc struct {
	ID    string `bson:"_id"`
	Bytes []byte `bson:"bytes"`
}

// changeOf returns the change to a record's document: its new content, or a tombstone.
func (s *Store) changeOf(id string, at version, gone bool, now engine.Instant, doc func() any) change {
	if !gone {
		return change{id: id, version: int64(at), doc: marshal(doc())}
	}
	d := tombstone{Head: header{id, at, string(s.names)}, Gone: true, PurgeAt: min(now, latestDate).Add(tombstoneRetention).Time()}
	return change{id: id, version: int64(at), doc: marshal(d)}
}

// insertion returns the change for a document that never changes.
func (s *Store) insertion(id string, doc any) change {
	return change{id: id, doc: marshal(doc), insert: true}
}

func (s *Store) entityDoc(c entityChange) any {
	e := c.e
	return entityDoc{
		Head: header{s.names.subqueue(e.ID), c.at, string(s.names)},
		Path: text(string(e.Path)), Kind: e.Kind.String(), Holder: int64(e.ID), DeadLetters: int64(e.DeadLetterID),
		Status: e.Config.Status.String(), CreatedAt: date(e.CreatedAt), UpdatedAt: date(e.UpdatedAt),
		TTL: e.Config.DefaultMessageTimeToLive.Seconds(), AutoDelete: e.Config.AutoDeleteOnIdle.Seconds(),
		DeadLettered: e.Config.DeadLetteringOnMessageExpiration, Transfers: int64(e.TransferID),
		Sessions: e.Config.RequiresSession, Duplicates: e.Config.RequiresDuplicateDetection,
		ForwardTo: text(e.Config.ForwardTo), ForwardDead: text(e.Config.ForwardDeadLetteredMessagesTo),
		Exact: codec.Append(nil, e),
	}
}

func (s *Store) ruleDoc(id engine.RuleID, c ruleChange) any {
	return ruleDoc{
		Head: header{s.names.rule(id), c.at, string(s.names)}, Subscription: int64(id.Subscription),
		Path: s.pathOf(id.Subscription), Name: text(c.r.Name), Filter: text(c.r.Filter.Text), Action: text(c.r.Action),
		Exact: codec.Append(nil, c.r),
	}
}

func (s *Store) meterDoc(c meterChange) any {
	return meterDoc{
		Head: header{s.names.subqueue(c.m.Subqueue), c.at, string(s.names)}, Path: s.pathOf(c.m.Subqueue),
		NextSeq: int64(c.m.NextSeq), LastUsed: date(c.m.LastUsed), Dropped: int64(c.m.Duplicates),
		Exact: codec.Append(nil, c.m),
	}
}

func (s *Store) messageDoc(c messageChange) any {
	m := c.m
	in := s.subqueueOf(m.Subqueue)
	if x := m.Extra; x != nil && x.Rewritten != "" { // the content as rewritten by a rule's action
		c.content = x.Rewritten
	}
	d := messageDoc{
		Head: header{s.names.key(m.Key), c.version, string(s.names)},
		Path: text(string(in.path)), Holder: int64(m.Subqueue), Seq: int64(m.Seq), State: stateOf(m),
		EnqueuedAt: date(m.EnqueuedAt), ExpiresAt: date(m.ExpiresAt), ScheduledFor: date(m.ScheduledFor), LockedUntil: date(m.LockedUntil),
		DeliveryCount: int64(m.DeliveryCount), Hops: int64(m.Hops), BodyBytes: c.content.BodySize(), Content: s.names.key(m.Content),
		Exact: codec.Append(nil, m), PurgeAt: purgeAt(m, in),
	}
	if w, err := c.content.Content(); err == nil { // an invalid content has no fields to show
		d.MessageID, d.Subject, d.CorrelationID = text(w.MessageID), text(w.Subject), text(w.CorrelationID)
		d.SessionID, d.ContentType, d.Preview = text(w.SessionID), text(w.ContentType), text(w.Preview)
	}
	if x := m.Extra; x != nil && x.DeadLettered {
		d.Reason, d.Description, d.Source, d.TransferTo = text(x.Reason), text(x.Description), text(x.Source), text(x.To)
	}
	return d
}

func stateOf(m engine.Message) string {
	switch {
	case m.Locked():
		return "Locked"
	case m.State <= engine.Scheduled:
		return m.State.String()
	default:
		return "Unknown"
	}
}

// purgeAfter is how long after a message's expiry a TTL index may remove its document.
const purgeAfter = 7 * 24 * time.Hour

// purgeAt returns when a TTL index may remove an expired message that the broker, for whatever
// reason, has not removed. It returns nil if the broker would not simply remove the message when
// it expires: if the message is locked, deferred, scheduled or was delivered before, or if its
// entity dead-letters expired messages.
func purgeAt(m engine.Message, in subqueue) *time.Time {
	if m.State != engine.Active || m.Locked() || m.DeliveryCount != 0 || m.Extra != nil || m.ExpiresAt == 0 || in.path == "" || in.deadLettersExpired {
		return nil
	}
	return date(m.ExpiresAt.Add(purgeAfter))
}

// latestDate is the last instant that every tool can show: the end of the year 9999.
const latestDate engine.Instant = 253402300799999

// date converts an instant to a BSON date for people. It returns nil if the instant is not
// positive or is after latestDate.
func date(i engine.Instant) *time.Time {
	if i <= 0 || i > latestDate {
		return nil
	}
	t := i.Time()
	return &t
}

// text returns s with U+FFFD in place of invalid UTF-8.
func text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// marshal encodes one of the documents above, which cannot fail.
func marshal(doc any) bson.Raw {
	raw, err := bson.Marshal(doc)
	if err != nil {
		panic(err) // a struct above has a field that BSON cannot encode
	}
	return raw
}

func (s *Store) subqueueOf(h engine.SubqueueID) subqueue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subqueues[h]
}

func (s *Store) pathOf(h engine.SubqueueID) string { return text(string(s.subqueueOf(h).path)) }

// updateSubqueues records which subqueues b creates and drops. It is called with mu held.
func (s *Store) updateSubqueues(b *engine.Batch) {
	for _, e := range b.Entities {
		s.addSubqueues(e)
	}
	for _, id := range b.DropSubqueues {
		if p, ok := s.subqueues[id]; ok {
			s.waiting.droppedSubqueues = append(s.waiting.droppedSubqueues, p)
		}
		delete(s.subqueues, id)
	}
}

func (s *Store) addSubqueues(e engine.Entity) {
	s.subqueues[e.ID] = subqueue{id: e.ID, path: e.Path, deadLettersExpired: e.Config.DeadLetteringOnMessageExpiration}
	if e.DeadLetterID != 0 {
		s.subqueues[e.DeadLetterID] = subqueue{id: e.DeadLetterID, path: e.Path.DeadLetter(), deadLettersExpired: true}
	}
	if e.TransferID != 0 {
		s.subqueues[e.TransferID] = subqueue{id: e.TransferID, path: e.Path.Transfer(), deadLettersExpired: true}
	}
}
