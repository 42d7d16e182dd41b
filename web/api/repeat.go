package api

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/draft"
	"mayfly/engine/job"
	"mayfly/web/access"
	"mayfly/web/identity"
	"mayfly/web/intake"
)

const (
	mostAtOnce = 1000 // messages that are sent while the client waits; more are a job's
	foreseen   = 3    // messages of a dry run
)

// Draft is a message as somebody writes it down. When it is sent more than once, or
// placeholders is true, its texts are filled in: {{n}}, {{uuid}}, {{now+5m}}, …
type Draft struct {
	MessageID            string          `json:"messageId,omitempty"`            // missing: a random UUID
	SessionID            *string         `json:"sessionId,omitempty"`            // the empty text is an id too
	PartitionKey         string          `json:"partitionKey,omitempty"`         // at most 128 characters; the same as sessionId if both are there
	CorrelationID        string          `json:"correlationId,omitempty"`        // of what it is an answer to
	Subject              string          `json:"subject,omitempty"`              // also called label
	To                   string          `json:"to,omitempty"`                   // for the application; nothing is routed by it
	ReplyTo              string          `json:"replyTo,omitempty"`              // where an answer is wanted
	ReplyToSessionID     string          `json:"replyToSessionId,omitempty"`     // the session of the answer
	ContentType          string          `json:"contentType,omitempty"`          // such as application/json
	TimeToLive           string          `json:"timeToLive,omitempty"`           // a duration, or never
	ScheduledEnqueueTime string          `json:"scheduledEnqueueTime,omitempty"` // RFC 3339
	Delay                string          `json:"delay,omitempty"`                // instead of it: a duration from the sending
	Properties           []DraftProperty `json:"properties,omitempty"`           // application properties, in their order
	Body                 *string         `json:"body,omitempty"`                 // a text, sent as UTF-8
	BodyBase64           *string         `json:"bodyBase64,omitempty"`           // instead of Body; it is not filled in
	Repeat               int64           `json:"repeat,omitempty"`               // how many messages, up to 100,000; missing: one
	Every                string          `json:"every,omitempty"`                // a duration: by how much each becomes available later than the one before
	Placeholders         bool            `json:"placeholders,omitempty"`         // fill in a single message, too
}

// DraftProperty is an application property.
type DraftProperty struct {
	Name  string `json:"name"`            // may be filled in, too
	Type  string `json:"type,omitempty"`  // such as int; missing: string
	Value string `json:"value,omitempty"` // as a text of that type, or one that becomes it when it is filled in
}

// Repeat is what POST /repeat takes.
type Repeat struct {
	Template string `json:"template,omitempty"` // the name of one that is kept
	Message  *Draft `json:"message,omitempty"`  // what it says goes before what the template does
	Seed     string `json:"seed,omitempty"`     // 32 hexadecimal digits, as an answer has them: what is random is the same then
	DryRun   bool   `json:"dryRun,omitempty"`   // only show the first three messages
}

// Repeated is the answer of POST /repeat.
type Repeated struct {
	Count      int64      `json:"count"`                // how many there are to send
	Sent       int64      `json:"sent"`                 // how many of them were sent; none yet by a job
	Duplicates int64      `json:"duplicates,omitempty"` // accepted, and dropped as duplicates of messages sent before
	First      int64      `json:"first,omitempty"`      // the lowest sequence number that was given
	Last       int64      `json:"last,omitempty"`       // the highest
	Job        *Job       `json:"job,omitempty"`        // which sends them, where there are more than 1,000
	Messages   []Outgoing `json:"messages,omitempty"`   // of a dry run: the first three as they would be sent now
	Seed       string     `json:"seed"`
}

// Templates is the answer of GET /templates.
type Templates struct {
	Templates []TemplateEntry `json:"templates"` // by their names
}

// TemplateEntry is a template without what is in it.
type TemplateEntry struct {
	Name    string    `json:"name"`
	Changed time.Time `json:"changed"`
}

// Template is a draft that is kept under a name.
type Template struct {
	TemplateEntry
	Message Draft `json:"message"`
}

func repeatRoutes() []route {
	const part = "The name of a template."
	return []route{
		{
			method: "POST", path: "/repeat/{path}", id: "repeatMessage", keyed: true, needs: identity.Operator, group: groupTemplates, summary: "Send a message many times, with placeholders filled in, or show what would be sent",
			about: "Placeholders: {{n}} is the number of the message, from 1, {{n+100}} and {{n%10}} are counted from it, {{count}} is how many there are, {{uuid}}, {{now}}, {{now+5m}}, {{unix}}, {{random 1 100}}, {{pick a|b|c}}, {{letters 20}}; \\{{ are the braces themselves. " +
				"Up to 1,000 messages are sent at once, in batches of which each is sent or not; more are sent by a job, which can be cancelled and undone. The text of a job's message has at most 64 KiB.",
			at: "orders", sends: `{"message":{"subject":"order {{n}}","body":"{\"order\":{{n}},\"id\":\"{{uuid}}\"}","timeToLive":"{{random 10 60}}m","repeat":3,"every":"1s"},"dryRun":true}`,
			takes: Repeat{}, most: access.LargestBody, gives: Repeated{},
			fails: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded", "NotSupported", "TemplateNotFound"}, serve: (*door).repeat,
		},
		{
			method: "GET", path: "/templates", id: "listTemplates", group: groupTemplates, summary: "The templates that are kept",
			gives: Templates{}, serve: (*door).templates,
		},
		{
			method: "GET", path: "/templates/{name}", id: "getTemplate", group: groupTemplates, summary: "One template", at: "late-orders", part: part,
			gives: Template{}, fails: []string{"TemplateNotFound"}, serve: (*door).template,
		},
		{
			method: "PUT", path: "/templates/{name}", id: "keepTemplate", needs: identity.Operator, group: groupTemplates, summary: "Keep a message as a template, or change one",
			about: "There are at most 200, of at most 128 KiB each. A name has up to 64 characters, and no slash. They stay when messages are reset.",
			at:    "late-orders", part: part, sends: `{"subject":"order {{n}}","repeat":10}`,
			takes: Draft{}, gives: Template{}, fails: []string{"QuotaExceeded"}, serve: (*door).keepTemplate,
		},
		{
			method: "DELETE", path: "/templates/{name}", id: "deleteTemplate", needs: identity.Operator, group: groupTemplates, summary: "Forget a template", at: "late-orders", part: part,
			fails: []string{"TemplateNotFound"}, serve: (*door).deleteTemplate,
		},
	}
}

// draft is d as it is kept and sent.
func (d Draft) draft() (out draft.Draft, err error) {
	out = draft.Draft{
		MessageID: d.MessageID, SessionID: d.SessionID, PartitionKey: d.PartitionKey, CorrelationID: d.CorrelationID, Subject: d.Subject, To: d.To, ReplyTo: d.ReplyTo,
		ReplyToSessionID: d.ReplyToSessionID, ContentType: d.ContentType, TimeToLive: d.TimeToLive, ScheduledEnqueueTime: d.ScheduledEnqueueTime, Delay: d.Delay,
		Repeat: d.Repeat, Placeholders: d.Placeholders,
	}
	for _, p := range d.Properties {
		out.Properties = append(out.Properties, draft.Property{Name: p.Name, Kind: p.Type, Value: p.Value})
	}
	if d.Every != "" {
		every, never, err := engine.ParseDuration(d.Every)
		if err != nil || never {
			return out, argument("%s", engine.WrongDuration("every", d.Every))
		}
		out.Every = every
	}
	if d.Body != nil {
		out.Body = *d.Body
	}
	if d.BodyBase64 != nil {
		if d.Body != nil {
			return out, argument("A message has 'body' or 'bodyBase64', not both.")
		}
		if out.Binary, err = base64.StdEncoding.DecodeString(*d.BodyBase64); err != nil {
			return out, argument("The value for 'bodyBase64' is not base64.")
		}
	}
	return out, nil
}

func presentDraft(d draft.Draft) Draft {
	out := Draft{
		MessageID: d.MessageID, SessionID: d.SessionID, PartitionKey: d.PartitionKey, CorrelationID: d.CorrelationID, Subject: d.Subject, To: d.To, ReplyTo: d.ReplyTo,
		ReplyToSessionID: d.ReplyToSessionID, ContentType: d.ContentType, TimeToLive: d.TimeToLive, ScheduledEnqueueTime: d.ScheduledEnqueueTime, Delay: d.Delay,
		Repeat: d.Repeat, Placeholders: d.Placeholders,
	}
	for _, p := range d.Properties {
		out.Properties = append(out.Properties, DraftProperty{p.Name, p.Kind, p.Value})
	}
	if d.Every != 0 {
		out.Every = engine.FormatDuration(d.Every)
	}
	if d.Binary != nil {
		text := base64.StdEncoding.EncodeToString(d.Binary)
		out.BodyBase64 = &text
	} else if d.Body != "" {
		out.Body = &d.Body
	}
	return out
}

func readSeed(text string) (seed draft.Seed, err error) {
	if text == "" {
		_, _ = rand.Read(seed[:]) // never fails, by its contract
		return seed, nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(seed) {
		return seed, argument("The value for 'seed' is %d hexadecimal digits, not '%s'.", 2*len(seed), cut(text))
	}
	return draft.Seed(raw), nil
}

// repeat sends a draft, has a job send it, or shows what would be sent.
func (d *door) repeat(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	to, err := d.path(c)
	if err != nil {
		return err
	}
	if err := d.broker.Read(ctx, func(r broker.Reader) error { _, err := r.Sendable(to); return err }); err != nil {
		return err
	}
	leave, err := d.room.Take(ctx, r.ContentLength, access.LargestBody)
	if err != nil {
		return err
	}
	defer leave()
	key, digest, err := keyed(r)
	if err != nil {
		return err
	}
	in, err := given[Repeat](r, access.LargestBody)
	if err != nil {
		return err
	}
	seed, err := readSeed(in.Seed)
	if err != nil {
		return err
	}
	what, err := d.drafted(c, in)
	if err != nil {
		return err
	}
	m, err := what.Compile()
	if err != nil {
		return err
	}
	now := d.broker.Clock()
	if err := m.Check(now, seed, d.broker.Limits()); err != nil {
		return err
	}
	return d.once(c, key, digest, http.StatusOK, func() (any, error) {
		return d.repeated(c, to, in, what, m, now, seed)
	})
}

// repeated does what is asked of a draft.
func (d *door) repeated(c echo.Context, to engine.Path, in Repeat, what draft.Draft, m *draft.Mould, now engine.Instant, seed draft.Seed) (out Repeated, err error) {
	out = Repeated{Count: m.Count(), Seed: hex.EncodeToString(seed[:])}
	switch {
	case in.DryRun:
		for n := int64(1); n <= min(m.Count(), foreseen); n++ {
			content, body, err := m.Message(n, now, seed)
			if err != nil {
				return out, err
			}
			out.Messages = append(out.Messages, presentOutgoing(content, body))
		}
	case m.Count() > mostAtOnce && d.jobs == nil:
		return out, noJobs()
	case m.Count() > mostAtOnce:
		var is job.Job
		if is, err = d.jobs.Send(c.Request().Context(), job.Plan{To: to, Sends: &job.Sends{Draft: what, Seed: seed}}, client(c.Request())); err != nil {
			return out, err
		}
		sends := presentJob(is)
		out.Job = &sends
	default:
		err = d.sendMould(c, to, m, now, seed, &out)
	}
	return out, err
}

// drafted is the message of a request, over that of the template it names.
func (d *door) drafted(c echo.Context, in Repeat) (out draft.Draft, err error) {
	if in.Template == "" && in.Message == nil {
		return out, argument(`There is no message; write {"message":{"body":"…"}}, or name a template.`)
	}
	if in.Message != nil {
		if out, err = in.Message.draft(); err != nil {
			return out, err
		}
	}
	if in.Template == "" {
		return out, nil
	}
	t, err := d.findTemplate(c, in.Template)
	return out.Over(t.Draft), err
}

// sendMould sends all messages of a draft, in batches.
func (d *door) sendMould(c echo.Context, to engine.Path, m *draft.Mould, now engine.Instant, seed draft.Seed, out *Repeated) error {
	half := d.broker.Limits().BatchSize / 2 // room for what else counts
	var batch []broker.Outgoing
	size := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		seqs, err := d.broker.Send(c.Request().Context(), to, batch, client(c.Request()))
		if err != nil && out.Sent+out.Duplicates > 0 {
			p := problem(err)
			return &engine.Refusal{Kind: err, Text: p.Detail + " " + wereSent(out.Sent)}
		}
		if err != nil {
			return err
		}
		for _, n := range seqs {
			if n == 0 { // DUP-2
				out.Duplicates++
				continue
			}
			if out.Sent++; out.First == 0 {
				out.First = int64(n)
			}
			out.Last = max(out.Last, int64(n))
		}
		batch, size = nil, 0
		return nil
	}
	for n := int64(1); n <= m.Count(); n++ {
		content, body, err := m.Message(n, now, seed)
		if err != nil {
			return err
		}
		if len(batch) == intake.AtOnce || size+int64(len(body)) > half {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, broker.Outgoing{Content: content, Body: body}), size+int64(len(body))+256
	}
	return flush()
}

// wereSent says how many were sent before an error.
func wereSent(n int64) string {
	if n == 1 {
		return "1 message was sent before that."
	}
	return fmt.Sprint(n) + " messages were sent before that."
}

// presentOutgoing is a message as its sender would write it.
func presentOutgoing(c engine.Content, body []byte) Outgoing {
	out := Outgoing{
		MessageID: c.MessageID, PartitionKey: c.PartitionKey, CorrelationID: c.CorrelationID, Subject: c.Subject, To: c.To, ReplyTo: c.ReplyTo,
		ReplyToSessionID: c.ReplyToSessionID, ContentType: c.ContentType, Properties: c.Properties,
	}
	if c.HasSessionID() {
		out.SessionID = &c.SessionID
	}
	if c.TTL > 0 {
		out.TimeToLive = engine.FormatDuration(c.TTL)
	}
	if c.ScheduledFor != 0 {
		out.ScheduledEnqueueTime = c.ScheduledFor.Time().Format(time.RFC3339Nano)
	}
	text := string(body)
	if utf8.ValidString(text) {
		out.Body = &text
		return out
	}
	text = base64.StdEncoding.EncodeToString(body)
	out.BodyBase64 = &text
	return out
}

func (d *door) templates(c echo.Context) error {
	all, err := d.broker.Settings(c.Request().Context(), draft.Prefix)
	if err != nil {
		return err
	}
	out := Templates{Templates: []TemplateEntry{}}
	for _, s := range all {
		out.Templates = append(out.Templates, TemplateEntry{strings.TrimPrefix(s.Key, draft.Prefix), s.ChangedAt.Time()})
	}
	return reply(c, http.StatusOK, out)
}

func (d *door) findTemplate(c echo.Context, name string) (t draft.Template, err error) {
	if err := draft.CheckName(name); err != nil {
		return t, err
	}
	err = d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		t, err = draft.Find(r.Setting(draft.Key(name)))
		return err
	})
	return t, err
}

func (d *door) template(c echo.Context) error {
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	t, err := d.findTemplate(c, name)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Template{TemplateEntry{t.Name, t.ChangedAt.Time()}, presentDraft(t.Draft)})
}

func (d *door) keepTemplate(c echo.Context) error {
	ctx := c.Request().Context()
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	var in Draft
	if err := d.read(c, &in); err != nil {
		return err
	}
	what, err := in.draft()
	if err != nil {
		return err
	}
	t, err := draft.Save(ctx, d.broker, name, what, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Template{TemplateEntry{t.Name, t.ChangedAt.Time()}, presentDraft(t.Draft)})
}

func (d *door) deleteTemplate(c echo.Context) error {
	name, err := nameIn(c)
	if err != nil {
		return err
	}
	if err := draft.Drop(c.Request().Context(), d.broker, name, client(c.Request())); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
