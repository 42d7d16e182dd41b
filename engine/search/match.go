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

// A Result is what is known of whether a message matches.
type Result uint8

// The results.
const (
	No       Result = iota
	NeedBody        // its body decides: ask MatchBody
	Yes
)

// MostBody is how many bytes of a body are looked at. What a term asks of the
// rest is not found, and a longer body is no JSON.
const MostBody = 1 << 20

// Match is what a row tells at now.
func (q *Query) Match(r engine.Row, now engine.Instant) Result {
	return q.Judge().Match(&r, now)
}

// MatchBody tells whether a message matches at now. body is its whole body, or
// the first MostBody bytes of it at least; it is not kept.
func (q *Query) MatchBody(r engine.Row, now engine.Instant, body []byte) bool {
	return q.Judge().MatchBody(&r, now, body)
}

// A Judge asks a Query of one message after another, and takes next to no memory for
// each. One goroutine at a time uses it.
type Judge struct {
	q *Query
	p probe
}

// Judge is one of its own. A nil Query's says Yes.
func (q *Query) Judge() *Judge { return &Judge{q: q} }

// Match is Query.Match.
func (j *Judge) Match(r *engine.Row, now engine.Instant) Result {
	j.p = probe{row: r, now: now, lower: j.p.lower}
	return j.q.match(&j.p)
}

// MatchBody is Query.MatchBody.
func (j *Judge) MatchBody(r *engine.Row, now engine.Instant, body []byte) bool {
	j.p = probe{row: r, now: now, has: true, body: body[:min(len(body), MostBody)], lower: j.p.lower}
	return j.q.match(&j.p) == Yes
}

func (q *Query) match(p *probe) Result {
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

// A probe is a message while it is judged, and what was found out about it.
type probe struct {
	row  *engine.Row
	now  engine.Instant
	has  bool   // the body is there
	body []byte // as far as it is looked at

	content  engine.Content
	unpacked bool
	lower    []byte // body in lower case, if lowered; else room for it
	lowered  bool
	doc      []byte // body where it is JSON
	parsed   bool
}

func (p *probe) fields() *engine.Content {
	if !p.unpacked {
		p.unpacked = true
		if c, err := p.row.Content.Content(); err == nil { // it was decoded before: there is no error left
			p.content = c
		}
	}
	return &p.content
}

func (p *probe) lowerBody() []byte {
	if !p.lowered {
		p.lower, p.lowered = appendLower(p.lower[:0], p.body), true
	}
	return p.lower
}

// appendLower appends what bytes.ToLower makes of b.
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

// json is the body as Document has it.
func (p *probe) json() []byte {
	if !p.parsed {
		p.parsed, p.doc = true, Document(p.fields().BodyKind, p.body)
	}
	return p.doc
}

// unwrapped is the text or the bytes that an encoded AMQP value is.
func unwrapped(b []byte) []byte {
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

// match tells whether one of the values fits.
func (t *term) match(p *probe) Result {
	switch t.key {
	case keyIn:
		return sure(t.in(p.row.Path))
	case keyProp:
		return sure(t.property(p))
	case keyJSON:
		return t.json(p)
	}
	best := No
	for i := range t.vals {
		best = max(best, t.key.fits(&t.vals[i], p))
		if best == Yes {
			break
		}
	}
	return best
}

func sure(b bool) Result {
	if b {
		return Yes
	}
	return No
}

// fits tells whether one value fits, for keys whose terms are independent values.
func (k key) fits(v *operand, p *probe) Result {
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
		return sure(inState(p.row, v.choice, p.now))
	case keyAge:
		return sure(v.op.holds(cmp.Compare(p.now.Sub(m.EnqueuedAt), *v.span)))
	case keyTTL:
		return sure(v.left(p.row.Expires, p.now))
	case keyDue:
		return sure(m.State == engine.Scheduled && v.left(m.ScheduledFor, p.now))
	case keyEnqueued:
		return sure(v.op.holds(v.compareTo(m.EnqueuedAt)))
	case keyDelivery:
		return sure(v.op.holds(cmp.Compare(int64(m.DeliveryCount), v.integer)))
	case keySeq:
		return sure(v.op.holds(cmp.Compare(int64(m.Seq), v.integer)))
	case keySize:
		return sure(v.op.holds(cmp.Compare(p.row.Content.Size(), v.integer)))
	case keyError:
		text := k.text(p)
		return sure(v.fitsText(text) || v.fitsText(Folded(text)))
	default:
		return sure(v.fitsText(k.text(p)))
	}
}

// text is a field that is a text; empty if it is not set.
func (k key) text(p *probe) string {
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

// fitsText tells whether a whole text fits.
func (v *operand) fitsText(s string) bool {
	if !v.quoted && v.glob.anything() {
		return s != ""
	}
	return v.glob.whole(s)
}

// inBody looks for the text in the body, where there is one.
func (v *operand) inBody(p *probe) Result {
	empty := p.row.Content.BodySize() == 0
	switch {
	case !v.quoted && v.glob.anything():
		return sure(!empty)
	case v.glob.nothing():
		return sure(empty)
	case empty:
		return No
	case !p.has:
		return NeedBody
	default:
		return sure(v.glob.within(p.lowerBody()))
	}
}

// left compares the time that is left until a deadline, zero being never.
func (v *operand) left(until, now engine.Instant) bool {
	if v.never || until == 0 {
		return v.never && until == 0
	}
	return v.op.holds(cmp.Compare(until.Sub(now), *v.span))
}

// inState tells whether a message is in a state as people see it at now: a dead
// letter is dead, and locked or deferred besides.
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

// property tells whether the property that t names fits, or any of them.
func (t *term) property(p *probe) bool {
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

// fitsNothing tells whether t asks for what is not set.
func (t *term) fitsNothing() bool {
	for i := range t.vals {
		if t.vals[i].op == is && t.vals[i].glob.nothing() {
			return true
		}
	}
	return false
}

// fitsValue compares a property with what the operand can be of its type, and
// as text if that is nothing.
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

// compareText compares a text with a moment if the operand is one, and with its
// text if that is all it is.
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

// json tells whether something at the path of t fits.
func (t *term) json(p *probe) Result {
	switch {
	case p.row.Content.BodySize() == 0:
		return sure(t.fitsNothing())
	case !p.has:
		return NeedBody
	}
	doc := p.json()
	if doc == nil {
		return sure(t.fitsNothing())
	}
	there := false
	fits := found(doc, t.path, func(raw []byte) bool {
		there = true
		for i := range t.vals {
			if t.vals[i].fitsJSON(raw) {
				return true
			}
		}
		return false
	})
	return sure(fits || !there && t.fitsNothing())
}

// fitsJSON compares a value of JSON: a number by its digits, a text, true, false
// or null by name. Of an object or a list it is known only that it is there.
func (v *operand) fitsJSON(raw []byte) bool {
	if v.op == is && !v.quoted && v.glob.anything() {
		return true
	}
	switch raw[0] {
	case '{', '[':
		return false
	case '"':
		s := unquoted(raw)
		return v.op == is && v.fitsText(s) || v.compareText(s)
	}
	if n, ok := parseNumber(string(raw)); ok && v.number != nil {
		return v.op.holds(n.compare(*v.number))
	}
	return v.op == is && v.fitsText(string(raw))
}
