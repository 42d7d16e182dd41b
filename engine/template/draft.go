package template

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/engine/value"
)

// MaxMessages is how often one draft may be sent.
const MaxMessages = 100_000

// A Draft describes a message. Its texts may have placeholders if Placeholders is set or it is
// sent more than once; else they are literal.
type Draft struct {
	MessageID            string     `json:"messageId,omitempty"`
	SessionID            *string    `json:"sessionId,omitempty"` // the empty text is an id too
	PartitionKey         string     `json:"partitionKey,omitempty"`
	CorrelationID        string     `json:"correlationId,omitempty"`
	Subject              string     `json:"subject,omitempty"`
	To                   string     `json:"to,omitempty"`
	ReplyTo              string     `json:"replyTo,omitempty"`
	ReplyToSessionID     string     `json:"replyToSessionId,omitempty"`
	ContentType          string     `json:"contentType,omitempty"`
	TimeToLive           string     `json:"timeToLive,omitempty"`           // a duration, or never
	ScheduledEnqueueTime string     `json:"scheduledEnqueueTime,omitempty"` // RFC 3339
	Delay                string     `json:"delay,omitempty"`                // a duration from the sending, instead of ScheduledEnqueueTime
	Properties           []Property `json:"properties,omitempty"`
	Body                 string     `json:"body,omitempty"`
	Binary               []byte     `json:"bodyBase64,omitempty"` // instead of Body; has no placeholders

	Repeat       int64         `json:"repeat,omitempty"`       // how many messages; zero means one
	Every        time.Duration `json:"every,omitempty"`        // how much later each becomes available than the one before
	Placeholders bool          `json:"placeholders,omitempty"` // fill in placeholders, in a single message
}

// A Property is an application property: its kind, and its value as text.
type Property struct {
	Name  string `json:"name"`
	Kind  string `json:"type,omitempty"` // a value.Kind as text; empty means string
	Value string `json:"value,omitempty"`
}

// A FieldError says what is wrong with a member of a draft.
type FieldError struct {
	Field string // its JSON name; "properties" with Row
	Row   int    // index of a property
	Text  string // a sentence
}

func (e *FieldError) Error() string {
	if e.Field == FieldProperties {
		return fmt.Sprintf("%s %d: %s", e.Field, e.Row+1, e.Text)
	}
	return fmt.Sprintf("%s: %s", e.Field, e.Text)
}

// Unwrap returns engine.ErrArgument.
func (e *FieldError) Unwrap() error { return engine.ErrArgument }

// These name the members in errors.
const (
	FieldBody       = "body"
	FieldTTL        = "timeToLive"
	FieldSchedule   = "scheduledEnqueueTime"
	FieldDelay      = "delay"
	FieldProperties = "properties"
	FieldRepeat     = "repeat"
	FieldEvery      = "every"
	FieldMessageID  = "messageId"
	FieldSession    = "sessionId"
)

// field is a text of a draft, and its place in the content.
type field struct {
	name string
	from *string
	to   func(*engine.Content) *string
}

// fields returns the texts of a draft that go into a message unchanged.
func (d *Draft) fields() []field {
	return []field{
		{FieldMessageID, &d.MessageID, func(c *engine.Content) *string { return &c.MessageID }},
		{"partitionKey", &d.PartitionKey, func(c *engine.Content) *string { return &c.PartitionKey }},
		{"correlationId", &d.CorrelationID, func(c *engine.Content) *string { return &c.CorrelationID }},
		{"subject", &d.Subject, func(c *engine.Content) *string { return &c.Subject }},
		{"to", &d.To, func(c *engine.Content) *string { return &c.To }},
		{"replyTo", &d.ReplyTo, func(c *engine.Content) *string { return &c.ReplyTo }},
		{"replyToSessionId", &d.ReplyToSessionID, func(c *engine.Content) *string { return &c.ReplyToSessionID }},
		{"contentType", &d.ContentType, func(c *engine.Content) *string { return &c.ContentType }},
	}
}

// Count returns how many messages a draft makes.
func (d Draft) Count() int64 { return max(d.Repeat, 1) }

// A CompiledDraft is a compiled draft. It is safe for concurrent use.
type CompiledDraft struct {
	draft    Draft
	literal  bool
	texts    []Text // of draft.fields
	session  Text
	body     Text
	ttl      Text
	schedule Text
	delay    Text
	names    []Text // of properties
	values   []Text
	kinds    []value.Kind
}

// Compile compiles a draft. Its error joins all that it found; FieldErrors returns them.
func (d Draft) Compile() (*CompiledDraft, error) {
	m := &CompiledDraft{draft: d, literal: !d.Placeholders && d.Count() == 1}
	var wrong []error
	parse := func(e FieldError, text string) Text {
		if m.literal {
			return Plain(text)
		}
		t, err := Parse(text)
		if err != nil {
			e.Text = err.Error()
			wrong = append(wrong, &e)
		}
		return t
	}
	letters := 0 // made by {{letters}} in the texts beside the body
	beside := func(e FieldError, text string) Text {
		t := parse(e, text)
		if letters += t.letterCount; letters > maxLetters && letters-t.letterCount <= maxLetters { // reported once
			e.Text = fmt.Sprintf("{{letters}} would make more than %d letters beside the body.", maxLetters)
			wrong = append(wrong, &e)
		}
		return t
	}
	for _, f := range d.fields() {
		m.texts = append(m.texts, beside(FieldError{Field: f.name}, *f.from))
	}
	if d.SessionID != nil {
		m.session = beside(FieldError{Field: FieldSession}, *d.SessionID)
	}
	m.body = parse(FieldError{Field: FieldBody}, d.Body)
	m.ttl, m.schedule, m.delay = beside(FieldError{Field: FieldTTL}, d.TimeToLive), beside(FieldError{Field: FieldSchedule}, d.ScheduledEnqueueTime), beside(FieldError{Field: FieldDelay}, d.Delay)
	for i, p := range d.Properties {
		at := FieldError{Field: FieldProperties, Row: i}
		kind, err := value.ParseKind(cmp.Or(p.Kind, value.String.String()))
		if err != nil {
			at.Text = err.Error()
			wrong = append(wrong, &at)
			continue
		}
		m.names, m.values, m.kinds = append(m.names, beside(at, p.Name)), append(m.values, beside(at, p.Value)), append(m.kinds, kind)
	}
	for _, e := range []struct {
		is   bool
		name string
		text string
	}{
		{d.Repeat < 0 || d.Repeat > MaxMessages, FieldRepeat, fmt.Sprintf("A message must be sent 1 to %d times.", MaxMessages)},
		{d.Every < 0, FieldEvery, "The time between messages cannot be negative."},
		{d.Every > 0 && d.Every > time.Duration(1<<62)/MaxMessages, FieldEvery, "The time between messages is too long."},
		{d.Body != "" && len(d.Binary) > 0, FieldBody, "The body of a message must be either text or bytes, not both."},
		{d.ScheduledEnqueueTime != "" && d.Delay != "", FieldDelay, "A message must have either an enqueue time or a delay, not both."},
	} {
		if e.is {
			wrong = append(wrong, &FieldError{Field: e.name, Text: e.text})
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return m, nil
}

// FieldErrors returns every [FieldError] in err.
func FieldErrors(err error) (all []*FieldError) {
	if e, ok := errors.AsType[*FieldError](err); ok {
		all = []*FieldError{e}
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		all = nil
		for _, err := range joined.Unwrap() {
			all = append(all, FieldErrors(err)...)
		}
	}
	return all
}

// Count returns how many messages there are to make.
func (m *CompiledDraft) Count() int64 { return m.draft.Count() }

// Head returns message n, from 1, without its body. now is when the sending began. Errors are
// FieldErrors, about a text that its member does not accept.
func (m *CompiledDraft) Head(n int64, now engine.Instant, seed Seed) (engine.Content, error) {
	c, _, err := m.makeHead(n, now, seed)
	return c, err
}

// Message is Head with the body.
func (m *CompiledDraft) Message(n int64, now engine.Instant, seed Seed) (engine.Content, []byte, error) {
	c, f, err := m.makeHead(n, now, seed)
	if err != nil {
		return c, nil, err
	}
	if m.draft.Binary != nil {
		return c, slices.Clone(m.draft.Binary), nil
	}
	return c, []byte(m.body.fill(f)), nil
}

// makeHead makes the head: its random values are drawn before those of the body.
func (m *CompiledDraft) makeHead(n int64, now engine.Instant, seed Seed) (c engine.Content, f *generator, err error) {
	f = &generator{n: n, count: m.Count(), now: now, seed: seed}
	for i, to := range m.draft.fields() {
		*to.to(&c) = m.texts[i].fill(f)
	}
	if c.MessageID == "" {
		c.MessageID = f.uuid()
	}
	if m.draft.SessionID != nil {
		c.SessionID = m.session.fill(f)
		c.EmptySessionID = c.SessionID == ""
	}
	if c.TTL, err = parseTimeToLive(m.ttl.fill(f)); err != nil {
		return c, f, err
	}
	if c.ScheduledFor, err = m.enqueueTime(f); err != nil {
		return c, f, err
	}
	for i, kind := range m.kinds {
		name := m.names[i].fill(f)
		v, err := value.Parse(kind, m.values[i].fill(f))
		if name == "" {
			err = errors.New("A property needs a name.") //nolint:revive,staticcheck // a sentence for users
		}
		if err != nil {
			return c, f, &FieldError{Field: FieldProperties, Row: i, Text: err.Error()}
		}
		c.Properties = append(c.Properties, value.Property{Name: name, Value: v})
	}
	return c, f, nil
}

// parseTimeToLive reads a time to live; an empty text and never are zero.
func parseTimeToLive(text string) (time.Duration, error) {
	if text = strings.TrimSpace(text); text == "" {
		return 0, nil
	}
	d, never, err := engine.ParseDuration(text)
	switch {
	case err != nil:
		return 0, &FieldError{Field: FieldTTL, Text: engine.DurationErrorText(FieldTTL, text)}
	case never:
		return 0, nil
	case d <= 0:
		return 0, &FieldError{Field: FieldTTL, Text: "A time to live must be greater than zero."}
	}
	return d, nil
}

// enqueueTime returns when message n becomes available; zero means at once.
func (m *CompiledDraft) enqueueTime(f *generator) (at engine.Instant, err error) {
	if text := strings.TrimSpace(m.schedule.fill(f)); text != "" {
		t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text))
		if err != nil {
			return 0, &FieldError{Field: FieldSchedule, Text: fmt.Sprintf("%q is not a time. Write it as 2026-07-14T10:04:12Z.", shorten.To(text, 40))}
		}
		at = engine.At(t)
	}
	if text := strings.TrimSpace(m.delay.fill(f)); text != "" {
		d, never, err := engine.ParseDuration(text)
		if err != nil || never {
			return 0, &FieldError{Field: FieldDelay, Text: engine.DurationErrorText(FieldDelay, text)}
		}
		if d > 0 {
			at = f.now.Add(d)
		}
	}
	if later := m.draft.Every * time.Duration(f.n-1); later > 0 {
		at = cmp.Or(at, f.now).Add(later)
	}
	return at, nil
}

// checkedMessages is how many messages Check makes.
const checkedMessages = 1000

// Check makes the heads of the first messages, and checks them against the limits, so that
// most errors are found before anything is sent. The errors are those of FieldErrors, or
// *engine.Refusal.
func (m *CompiledDraft) Check(now engine.Instant, seed Seed, l engine.Limits) error {
	for n := int64(1); n <= min(m.Count(), checkedMessages); n++ {
		c, err := m.Head(n, now, seed)
		if err != nil {
			return err
		}
		if _, err := engine.Submit(c, nil, 0, 0, l); err != nil {
			return err
		}
		if m.sameForAll() {
			break
		}
	}
	return nil
}

// sameForAll reports whether all heads are equal.
func (m *CompiledDraft) sameForAll() bool {
	varies := func(t Text) bool { return !t.Fixed() }
	return !slices.ContainsFunc(m.texts, varies) && !slices.ContainsFunc(m.names, varies) && !slices.ContainsFunc(m.values, varies) &&
		!varies(m.session) && !varies(m.ttl) && !varies(m.schedule) && !varies(m.delay)
}

// WithDefaults returns d, with base's members where d's are empty; properties are merged by name.
func (d Draft) WithDefaults(base Draft) Draft {
	for i, f := range base.fields() {
		if text := *d.fields()[i].from; text != "" {
			*f.from = text
		}
	}
	if d.SessionID != nil {
		base.SessionID = d.SessionID
	}
	if d.TimeToLive != "" {
		base.TimeToLive = d.TimeToLive
	}
	if d.ScheduledEnqueueTime != "" || d.Delay != "" {
		base.ScheduledEnqueueTime, base.Delay = d.ScheduledEnqueueTime, d.Delay
	}
	if d.Body != "" || d.Binary != nil {
		base.Body, base.Binary = d.Body, d.Binary
	}
	base.Properties = slices.Clone(base.Properties)
	for _, p := range d.Properties {
		if i := slices.IndexFunc(base.Properties, func(q Property) bool { return q.Name == p.Name }); i >= 0 {
			base.Properties[i] = p
		} else {
			base.Properties = append(base.Properties, p)
		}
	}
	base.Repeat, base.Every = cmp.Or(d.Repeat, base.Repeat), cmp.Or(d.Every, base.Every)
	base.Placeholders = d.Placeholders || base.Placeholders
	return base
}
