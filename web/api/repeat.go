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
	"mayfly/engine/job"
	"mayfly/engine/shorten"
	"mayfly/engine/template"
	"mayfly/web/auth"
	"mayfly/web/auth/origin"
	"mayfly/web/exchange"
)

const (
	maxDirectSend = 1000 // messages that are sent while the client waits; more are sent by a job
	previewCount  = 3    // messages of a dry run
)

// Draft is a message template. If it is sent more than once, or placeholders is true, its
// texts may contain {{n}}, {{uuid}}, {{now+5m}}, …
type Draft struct {
	MessageID            string          `json:"messageId,omitempty"`            // missing means a random UUID
	SessionID            *string         `json:"sessionId,omitempty"`            // the empty text is a valid id
	PartitionKey         string          `json:"partitionKey,omitempty"`         // at most 128 characters; the same as sessionId if both are given
	CorrelationID        string          `json:"correlationId,omitempty"`        // the id of the message that this one answers
	Subject              string          `json:"subject,omitempty"`              // also called label
	To                   string          `json:"to,omitempty"`                   // for the application; not used for routing
	ReplyTo              string          `json:"replyTo,omitempty"`              // where an answer is to be sent
	ReplyToSessionID     string          `json:"replyToSessionId,omitempty"`     // the session for the answer
	ContentType          string          `json:"contentType,omitempty"`          // such as application/json
	TimeToLive           string          `json:"timeToLive,omitempty"`           // a duration, or never
	ScheduledEnqueueTime string          `json:"scheduledEnqueueTime,omitempty"` // RFC 3339
	Delay                string          `json:"delay,omitempty"`                // instead of scheduledEnqueueTime: a duration from the sending
	Properties           []DraftProperty `json:"properties,omitempty"`           // application properties, in order
	Body                 *string         `json:"body,omitempty"`                 // a text, sent as UTF-8
	BodyBase64           *string         `json:"bodyBase64,omitempty"`           // instead of body; it has no placeholders
	Repeat               int64           `json:"repeat,omitempty"`               // number of messages, up to 100,000; missing means one
	Every                string          `json:"every,omitempty"`                // a duration: how much later each message becomes available than the one before
	Placeholders         bool            `json:"placeholders,omitempty"`         // fill in placeholders in a single message, too
}

// DraftProperty is an application property.
type DraftProperty struct {
	Name  string `json:"name"`            // may contain placeholders
	Type  string `json:"type,omitempty"`  // such as int; missing means string
	Value string `json:"value,omitempty"` // a text of that type, or a text with placeholders that is one once they are filled in
}

// Repeat is the request of POST /repeat.
type Repeat struct {
	Template string `json:"template,omitempty"` // the name of a stored template
	Message  *Draft `json:"message,omitempty"`  // its members take precedence over the template's
	Seed     string `json:"seed,omitempty"`     // 32 hexadecimal digits, from an answer: random values repeat with it
	DryRun   bool   `json:"dryRun,omitempty"`   // only return the first three messages
}

// Repeated is the answer of POST /repeat.
type Repeated struct {
	Count      int64      `json:"count"`                // number of messages to send
	Sent       int64      `json:"sent"`                 // how many were sent; none yet if a job sends them
	Duplicates int64      `json:"duplicates,omitempty"` // accepted, and dropped as duplicates of messages sent before
	First      int64      `json:"first,omitempty"`      // the lowest sequence number
	Last       int64      `json:"last,omitempty"`       // the highest sequence number
	Job        *Job       `json:"job,omitempty"`        // the job that sends them, if there are more than 1,000
	Messages   []Outgoing `json:"messages,omitempty"`   // for a dry run: the first three, as they would be sent now
	Seed       string     `json:"seed"`
}

// Templates is the answer of GET /templates.
type Templates struct {
	Templates []TemplateEntry `json:"templates"` // by name
}

// TemplateEntry is a template without its message.
type TemplateEntry struct {
	Name      string    `json:"name"`
	UpdatedAt time.Time `json:"updatedAt"`
}

// Template is a stored message template.
type Template struct {
	TemplateEntry
	Message Draft `json:"message"`
}

func repeatRoutes() []route {
	const part = "The name of a template."
	return []route{
		{
			method: "POST", path: "/repeat/{path}", id: "repeatMessage", keyed: true, role: auth.Operator, group: groupTemplates, summary: "Send a message many times with placeholders, or preview the messages",
			description: "Placeholders: {{n}} is the number of the message, from 1, {{n+100}} and {{n%10}} are computed from it, {{count}} is the number of messages, {{uuid}}, {{now}}, {{now+5m}}, {{unix}}, {{random 1 100}}, {{pick a|b|c}}, {{letters 20}}; \\{{ is a literal {{. " +
				"Up to 1,000 messages are sent within the request, in atomic batches. More are sent by a job, which can be cancelled and undone. The text of a job's message may have at most 64 KiB.",
			exampleParam: "orders", exampleBody: `{"message":{"subject":"order {{n}}","body":"{\"order\":{{n}},\"id\":\"{{uuid}}\"}","timeToLive":"{{random 10 60}}m","repeat":3,"every":"1s"},"dryRun":true}`,
			request: Repeat{}, maxBody: origin.MaxBody, response: Repeated{},
			problems: []string{"MessagingEntityNotFound", "MessagingEntityDisabled", "InvalidOperation", "QuotaExceeded", "NotSupported", "TemplateNotFound"}, handle: (*handler).repeat,
		},
		{
			method: "GET", path: "/templates", id: "listTemplates", group: groupTemplates, summary: "List templates",
			response: Templates{}, handle: (*handler).templates,
		},
		{
			method: "GET", path: "/templates/{name}", id: "getTemplate", group: groupTemplates, summary: "Get a template", exampleParam: "late-orders", nameMeaning: part,
			response: Template{}, problems: []string{"TemplateNotFound"}, handle: (*handler).template,
		},
		{
			method: "PUT", path: "/templates/{name}", id: "setTemplate", role: auth.Operator, group: groupTemplates, summary: "Save a message as a template, or change a template",
			description:  "There are at most 200 templates of at most 128 KiB each. A name may have up to 64 characters and no slash. Templates survive a reset.",
			exampleParam: "late-orders", nameMeaning: part, exampleBody: `{"subject":"order {{n}}","repeat":10}`,
			request: Draft{}, response: Template{}, problems: []string{"QuotaExceeded"}, handle: (*handler).saveTemplate,
		},
		{
			method: "DELETE", path: "/templates/{name}", id: "deleteTemplate", role: auth.Operator, group: groupTemplates, summary: "Delete a template", exampleParam: "late-orders", nameMeaning: part,
			problems: []string{"TemplateNotFound"}, handle: (*handler).deleteTemplate,
		},
	}
}

// parse converts d to the engine's form.
func (d Draft) parse() (out template.Draft, err error) {
	out = template.Draft{
		MessageID: d.MessageID, SessionID: d.SessionID, PartitionKey: d.PartitionKey, CorrelationID: d.CorrelationID, Subject: d.Subject, To: d.To, ReplyTo: d.ReplyTo,
		ReplyToSessionID: d.ReplyToSessionID, ContentType: d.ContentType, TimeToLive: d.TimeToLive, ScheduledEnqueueTime: d.ScheduledEnqueueTime, Delay: d.Delay,
		Repeat: d.Repeat, Placeholders: d.Placeholders,
	}
	for _, p := range d.Properties {
		out.Properties = append(out.Properties, template.Property{Name: p.Name, Kind: p.Type, Value: p.Value})
	}
	if d.Every != "" {
		every, never, err := engine.ParseDuration(d.Every)
		if err != nil || never {
			return out, engine.Refuse(engine.ErrArgument, "%s", engine.DurationErrorText("every", d.Every))
		}
		out.Every = every
	}
	if d.Body != nil {
		out.Body = *d.Body
	}
	if d.BodyBase64 != nil {
		if d.Body != nil {
			return out, engine.Refuse(engine.ErrArgument, "A message has 'body' or 'bodyBase64', not both.")
		}
		if out.Binary, err = base64.StdEncoding.DecodeString(*d.BodyBase64); err != nil {
			return out, engine.Refuse(engine.ErrArgument, "The value for 'bodyBase64' is not base64.")
		}
	}
	return out, nil
}

func presentDraft(d template.Draft) Draft {
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

func readSeed(text string) (seed template.Seed, err error) {
	if text == "" {
		_, _ = rand.Read(seed[:]) // never fails, by its contract
		return seed, nil
	}
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(seed) {
		return seed, engine.Refuse(engine.ErrArgument, "The value for 'seed' must be %d hexadecimal digits, not '%s'.", 2*len(seed), shorten.Quote(text))
	}
	return template.Seed(raw), nil
}

// repeat sends a draft, starts a job that sends it, or previews its messages.
func (d *handler) repeat(c echo.Context) error {
	r := c.Request()
	ctx := r.Context()
	to, err := d.path(c)
	if err != nil {
		return err
	}
	if err := d.broker.Read(ctx, func(r broker.Reader) error { _, err := r.MaxMessageSize(to); return err }); err != nil {
		return err
	}
	key, digest, err := readKey(r)
	if err != nil {
		return err
	}
	in, err := readJSON[Repeat](r, origin.MaxBody)
	if err != nil {
		return err
	}
	seed, err := readSeed(in.Seed)
	if err != nil {
		return err
	}
	what, err := d.mergeTemplate(c, in)
	if err != nil {
		return err
	}
	m, err := what.Compile()
	if err != nil {
		return err
	}
	now := d.broker.ClockTime()
	if err := m.Check(now, seed, d.broker.Limits()); err != nil {
		return err
	}
	return d.answerOnce(c, key, digest, http.StatusOK, func() (any, error) {
		return d.executeRepeat(c, to, in, what, m, now, seed)
	})
}

// executeRepeat executes the request with a complete draft. With dryRun it returns the first messages.
// Otherwise it sends the messages, or starts a job that sends them if there are more than
// maxDirectSend.
func (d *handler) executeRepeat(c echo.Context, to engine.Path, in Repeat, what template.Draft, m *template.CompiledDraft, now engine.Instant, seed template.Seed) (out Repeated, err error) {
	out = Repeated{Count: m.Count(), Seed: hex.EncodeToString(seed[:])}
	switch {
	case in.DryRun:
		for n := int64(1); n <= min(m.Count(), previewCount); n++ {
			content, body, err := m.Message(n, now, seed)
			if err != nil {
				return out, err
			}
			out.Messages = append(out.Messages, presentOutgoing(content, body))
		}
	case m.Count() > maxDirectSend && d.jobs == nil:
		return out, errNoJobs()
	case m.Count() > maxDirectSend:
		var is job.Job
		if is, err = d.jobs.Send(c.Request().Context(), job.Plan{To: to, SendSpec: &job.SendSpec{Draft: what, Seed: seed}}, client(c.Request())); err != nil {
			return out, err
		}
		sends := presentJob(is)
		out.Job = &sends
	default:
		err = d.sendDraft(c, to, m, now, seed, &out)
	}
	return out, err
}

// mergeTemplate returns the request's message. If the request names a template, members that the
// message leaves out are those of the template.
func (d *handler) mergeTemplate(c echo.Context, in Repeat) (out template.Draft, err error) {
	if in.Template == "" && in.Message == nil {
		return out, engine.Refuse(engine.ErrArgument, `The request has no message; write {"message":{"body":"…"}}, or name a template.`)
	}
	if in.Message != nil {
		if out, err = in.Message.parse(); err != nil {
			return out, err
		}
	}
	if in.Template == "" {
		return out, nil
	}
	t, err := d.findTemplate(c, in.Template)
	return out.WithDefaults(t.Draft), err
}

// sendDraft sends all messages of a draft, in batches.
func (d *handler) sendDraft(c echo.Context, to engine.Path, m *template.CompiledDraft, now engine.Instant, seed template.Seed, out *Repeated) error {
	half := d.broker.Limits().BatchSize / 2 // room for headers and properties
	var batch []broker.Outgoing
	size := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		seqs, err := d.broker.Send(c.Request().Context(), to, batch, client(c.Request()))
		if err != nil && out.Sent+out.Duplicates > 0 {
			p := problem(err)
			return engine.Refuse(err, "%s", p.Detail+" "+afterSending(out.Sent))
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
		if len(batch) == exchange.BatchMessages || size+int64(len(body)) > half {
			if err := flush(); err != nil {
				return err
			}
		}
		batch, size = append(batch, broker.Outgoing{Content: content, Body: body}), size+int64(len(body))+256
	}
	return flush()
}

// afterSending returns a sentence with the number of messages sent before an error.
func afterSending(n int64) string {
	if n == 1 {
		return "1 message was sent before that."
	}
	return fmt.Sprint(n) + " messages were sent before that."
}

// presentOutgoing presents a message as its sender would write it.
func presentOutgoing(c engine.Content, body []byte) Outgoing {
	out := Outgoing{
		MessageID: c.MessageID, PartitionKey: c.PartitionKey, ViaPartitionKey: c.ViaPartitionKey, CorrelationID: c.CorrelationID, Subject: c.Subject, To: c.To, ReplyTo: c.ReplyTo,
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

func (d *handler) templates(c echo.Context) error {
	all, err := d.broker.Settings(c.Request().Context(), template.SettingPrefix)
	if err != nil {
		return err
	}
	out := Templates{Templates: []TemplateEntry{}}
	for _, s := range all {
		out.Templates = append(out.Templates, TemplateEntry{strings.TrimPrefix(s.Key, template.SettingPrefix), s.ChangedAt.Time()})
	}
	return reply(c, http.StatusOK, out)
}

func (d *handler) findTemplate(c echo.Context, name string) (t template.Template, err error) {
	if err := template.CheckName(name); err != nil {
		return t, err
	}
	err = d.broker.Read(c.Request().Context(), func(r broker.Reader) error {
		t, err = template.FindSetting(r.Setting(template.SettingKey(name)))
		return err
	})
	return t, err
}

func (d *handler) template(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	t, err := d.findTemplate(c, name)
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Template{TemplateEntry{t.Name, t.ChangedAt.Time()}, presentDraft(t.Draft)})
}

func (d *handler) saveTemplate(c echo.Context) error {
	ctx := c.Request().Context()
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	var in Draft
	if err := d.read(c, &in); err != nil {
		return err
	}
	what, err := in.parse()
	if err != nil {
		return err
	}
	t, err := template.Save(ctx, d.broker, name, what, client(c.Request()))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Template{TemplateEntry{t.Name, t.ChangedAt.Time()}, presentDraft(t.Draft)})
}

func (d *handler) deleteTemplate(c echo.Context) error {
	name, err := nameParam(c)
	if err != nil {
		return err
	}
	if err := template.Delete(c.Request().Context(), d.broker, name, client(c.Request())); err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}
