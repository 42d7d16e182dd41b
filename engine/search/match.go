package search

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/value"
)

// A Result says whether a message matches, as far as that can be decided.
type Result uint8

const (
	No       Result = iota
	NeedBody        // the message's body decides: call MatchBody
	Yes
)

// MaxBody is how many bytes of a body are searched. A term finds nothing after them, and a longer
// body does not count as JSON.
const MaxBody = 1 << 20

// Match returns whether a message matches at `now`, as far as its row decides without the body.
func (q *Query) Match(r engine.Row, now engine.Instant) Result {
	return q.Matcher().Match(&r, now)
}

// MatchBody reports whether a message matches at the instant `now`. body is its whole body, or at
// least its first MaxBody bytes; it is not kept.
func (q *Query) MatchBody(r engine.Row, now engine.Instant, body []byte) bool {
	return q.Matcher().MatchBody(&r, now, body)
}

// A Matcher matches one message after another against a Query. It reuses its memory, and may be used
// by only one goroutine at a time.
type Matcher struct {
	q *Query
	p messageState
}

// Matcher returns a new Matcher. The Matcher of a nil Query always returns Yes.
func (q *Query) Matcher() *Matcher { return &Matcher{q: q} }

// Match is Query.Match.
func (j *Matcher) Match(r *engine.Row, now engine.Instant) Result {
	j.p = messageState{row: r, now: now, lower: j.p.lower}
	return j.q.match(&j.p)
}

// MatchBody is Query.MatchBody.
func (j *Matcher) MatchBody(r *engine.Row, now engine.Instant, body []byte) bool {
	j.p = messageState{row: r, now: now, has: true, body: body[:min(len(body), MaxBody)], lower: j.p.lower}
	return j.q.match(&j.p) == Yes
}

func (q *Query) match(p *messageState) Result {
	if q == nil {
		return Yes
	}
	all := Yes
	for i := range q.terms {
		t := &q.terms[i]
		found := t.match(p)
		if t.not {
			found = Yes - found
		}
		if found == No {
			return No
		}
		all = min(all, found)
	}
	return all
}

// A messageState is a message to be matched, with values that were computed for that.
type messageState struct {
	row  *engine.Row
	now  engine.Instant
	has  bool   // body is set
	body []byte // at most MaxBody bytes

	content  engine.Content
	unpacked bool
	lower    []byte // body in lower case, if lowered; else a buffer for it
	lowered  bool
	doc      []byte // body as JSON, if parsed; nil if it is not JSON
	parsed   bool
}

func (p *messageState) fields() *engine.Content {
	if !p.unpacked {
		p.unpacked = true
		if c, err := p.row.Content.Content(); err == nil { // it was decoded before, so it has no error
			p.content = c
		}
	}
	return &p.content
}

func (p *messageState) lowerBody() []byte {
	if !p.lowered {
		p.lower, p.lowered = appendLower(p.lower[:0], p.body), true
	}
	return p.lower
}

// appendLower appends what bytes.ToLower returns for b.
func appendLower(to, b []byte) []byte {
	at := len(to)
	to = append(to, b...)
	for i, c := range to[at:] {
		if c >= utf8.RuneSelf {
			return append(to[:at], bytes.ToLower(b)...)
		}
		if 'A' <= c && c <= 'Z' {
			to[at+i] = c + 'a' - 'A'
		}
	}
	return to
}

// json returns the body as JSONDocument does.
func (p *messageState) json() []byte {
	if !p.parsed {
		p.parsed, p.doc = true, JSONDocument(p.fields().BodyKind, p.body)
	}
	return p.doc
}

// amqpContents returns the text or the bytes of an encoded AMQP value.
func amqpContents(b []byte) []byte {
	if len(b) < 5 {
		return nil
	}
	switch b[0] {
	case 0xa0, 0xa1: // vbin8, str8
		return b[2:min(len(b), 2+int(b[1]))]
	case 0xb0, 0xb1: // vbin32, str32
		n := binary.BigEndian.Uint32(b[1:])
		return b[5:min(uint64(len(b)), 5+uint64(n))]
	default:
		return nil
	}
}

// match returns Yes if one of the values matches, and NeedBody if the body decides.
func (t *term) match(p *messageState) Result {
	switch t.key {
	case keyIn:
		return resultOf(t.in(p.row.Path))
	case keyProp:
		return resultOf(t.property(p))
	case keyJSON:
		return t.json(p)
	}
	best := No
	for i := range t.vals {
		best = max(best, t.key.matchValue(&t.vals[i], p))
		if best == Yes {
			break
		}
	}
	return best
}

func resultOf(b bool) Result {
	if b {
		return Yes
	}
	return No
}

// matchValue returns whether one value of a term with key k matches a message. k must not be keyIn,
// keyProp or keyJSON, which term.match handles.
func (k key) matchValue(v *operand, p *messageState) Result {
	m := &p.row.Message
	switch k {
	case keyWord:
		if v.glob.within(bytes.ToLower([]byte(p.row.Content.Subject()))) || v.glob.within(bytes.ToLower([]byte(p.row.Content.MessageID()))) {
			return Yes
		}
		return v.inBody(p)
	case keyBody:
		return v.inBody(p)
	case keyState:
		return resultOf(inState(p.row, v.choice, p.now))
	case keyAge:
		return resultOf(v.op.holds(cmp.Compare(p.now.Sub(m.EnqueuedAt), *v.span)))
	case keyTTL:
		return resultOf(v.timeLeft(p.row.Expires, p.now))
	case keyDue:
		return resultOf(m.State == engine.Scheduled && v.timeLeft(m.ScheduledFor, p.now))
	case keyEnqueued:
		return resultOf(v.op.holds(v.compareTo(m.EnqueuedAt)))
	case keyDelivery:
		return resultOf(v.op.holds(cmp.Compare(int64(m.DeliveryCount), v.integer)))
	case keySeq:
		return resultOf(v.op.holds(cmp.Compare(int64(m.Seq), v.integer)))
	case keySize:
		return resultOf(v.op.holds(cmp.Compare(p.row.Content.Size(), v.integer)))
	case keyError:
		text := k.text(p)
		return resultOf(v.fitsText(text) || v.fitsText(NormalizeError(text)))
	default:
		return resultOf(v.fitsText(k.text(p)))
	}
}

// text returns a text field, or "" if it is not set.
func (k key) text(p *messageState) string {
	c := &p.row.Content
	switch k {
	case keySubject:
		return c.Subject()
	case keyID:
		return c.MessageID()
	case keySession:
		return c.SessionID()
	case keyCorrelation:
		return p.fields().CorrelationID
	case keyTo:
		return p.fields().To
	case keyReplyTo:
		return p.fields().ReplyTo
	case keyType:
		return p.fields().ContentType
	case keyReason, keyError, keySource:
		x := p.row.Message.Extra
		switch {
		case x == nil:
			return ""
		case k == keyReason:
			return x.Reason
		case k == keyError:
			return x.Description
		case x.Source == "" && p.row.Path.IsDeadLetter():
			return string(p.row.Path.Entity())
		default:
			return x.Source
		}
	default:
		panic("no text: " + k.String())
	}
}

// fitsText reports whether s as a whole matches the operand. An unquoted * matches every text but
// the empty one.
func (v *operand) fitsText(s string) bool {
	if !v.quoted && v.glob.anything() {
		return s != ""
	}
	return v.glob.whole(s)
}

// inBody returns whether the operand's text occurs in the message's body, or NeedBody if the body
// has not been read.
func (v *operand) inBody(p *messageState) Result {
	empty := p.row.Content.BodySize() == 0
	switch {
	case !v.quoted && v.glob.anything():
		return resultOf(!empty)
	case v.glob.nothing():
		return resultOf(empty)
	case empty:
		return No
	case !p.has:
		return NeedBody
	default:
		return resultOf(v.glob.within(p.lowerBody()))
	}
}

// timeLeft reports whether the operator holds between the time from `now` to `until` and the
// operand. A zero `until` means never, which only the operand "never" matches.
func (v *operand) timeLeft(until, now engine.Instant) bool {
	if v.never || until == 0 {
		return v.never && until == 0
	}
	return v.op.holds(cmp.Compare(until.Sub(now), *v.span))
}

// inState reports whether a message is in a state, such as stateLocked, at the instant `now`, as
// users see it. A dead letter is in stateDead, and may also be locked or deferred.
func inState(r *engine.Row, state int, now engine.Instant) bool {
	m := &r.Message
	dead, locked := r.Path.IsDeadLetter(), m.Locked() && !m.LockedUntil.Passed(now)
	switch state {
	case stateDead:
		return dead
	case stateLocked:
		return locked
	case stateDeferred:
		return m.State == engine.Deferred
	case stateScheduled:
		return m.State == engine.Scheduled
	default:
		return m.State == engine.Active && !dead && !locked
	}
}

// property reports whether the property that t names matches, or any property if t.any is set.
func (t *term) property(p *messageState) bool {
	props := p.row.Message.Properties(*p.fields())
	if t.any {
		for i := range props {
			if t.fitsValue(props[i].Value) {
				return true
			}
		}
		return false
	}
	v, ok := props.LookupFold(t.name)
	return t.fitsValue(v) && ok || !ok && t.fitsNothing()
}

func (t *term) fitsValue(have value.Value) bool {
	for i := range t.vals {
		if t.vals[i].fitsValue(have) {
			return true
		}
	}
	return false
}

// fitsNothing reports whether t matches an absent value.
func (t *term) fitsNothing() bool {
	for i := range t.vals {
		if t.vals[i].op == is && t.vals[i].glob.nothing() {
			return true
		}
	}
	return false
}

// fitsValue compares a property with the operand: as a number, moment or duration if both are one,
// else as text.
func (v *operand) fitsValue(have value.Value) bool {
	if v.op == is && !v.quoted && v.glob.anything() {
		return true
	}
	if n, ok := numberOf(have); ok && v.number != nil {
		return v.op.holds(n.compare(*v.number))
	}
	if at, ok := have.Time(); ok && v.from != 0 {
		return v.op.holds(v.compareTo(engine.At(at)))
	}
	if ticks, ok := have.Ticks(); ok && have.Kind() == value.Timespan && v.span != nil {
		return v.op.holds(cmp.Compare(ticks, int64(*v.span/100)))
	}
	if v.op == is && (v.fitsText(have.Text()) || have.Kind() == value.Null && v.glob.whole("null")) {
		return true
	}
	s, ok := have.Str()
	return ok && v.compareText(s)
}

// compareText reports whether the operator holds between s and the operand: as times if the operand
// is a time, as texts (ignoring case) if it is neither a time, a number nor a duration. It returns
// false for numbers and durations, and for texts with the operator `is`, for which fitsText is
// used.
func (v *operand) compareText(s string) bool {
	switch {
	case v.from != 0:
		at, err := time.Parse(time.RFC3339Nano, s)
		return err == nil && v.op.holds(v.compareTo(engine.At(at)))
	case v.op == is, v.number != nil, v.span != nil:
		return false
	default:
		return v.op.holds(strings.Compare(strings.ToLower(s), strings.ToLower(v.text)))
	}
}

// json reports whether a value at the path of t matches.
func (t *term) json(p *messageState) Result {
	switch {
	case p.row.Content.BodySize() == 0:
		return resultOf(t.fitsNothing())
	case !p.has:
		return NeedBody
	}
	doc := p.json()
	if doc == nil {
		return resultOf(t.fitsNothing())
	}
	there := false
	fits := anyValue(doc, t.path, func(raw []byte) bool {
		there = true
		for i := range t.vals {
			if t.vals[i].fitsJSON(raw) {
				return true
			}
		}
		return false
	})
	return resultOf(fits || !there && t.fitsNothing())
}

// fitsJSON compares a JSON value with the operand: numbers by value, strings as text, and true,
// false and null as words. An object or a list only matches *.
func (v *operand) fitsJSON(raw []byte) bool {
	if v.op == is && !v.quoted && v.glob.anything() {
		return true
	}
	switch raw[0] {
	case '{', '[':
		return false
	case '"':
		s := jsonString(raw)
		return v.op == is && v.fitsText(s) || v.compareText(s)
	}
	if n, ok := parseNumber(string(raw)); ok && v.number != nil {
		return v.op.holds(n.compare(*v.number))
	}
	return v.op == is && v.fitsText(string(raw))
}
