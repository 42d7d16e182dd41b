package show

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/sample"
)

const (
	// againInline is how many bytes of a body stand in a program; a longer one is
	// read from the file that the page gives.
	againInline = 4 << 10
	// curlMost is how long a body a line for the shell sends: the API takes it in
	// base64, in a request of at most 8 MiB.
	curlMost = 5 << 20
)

// again are the programs that would send a message once more, to where it was
// sent: of a subscription's, the topic. What settlements and rules have added is
// not in it.
func (p *Pages) again(ctx context.Context, m messageSight, b page.Body) page.Again {
	if m.content.BodyKind != engine.DataBody {
		return page.Again{Odd: true}
	}
	to := m.Path.Entity()
	t := sample.Task{Queue: string(to), Connection: p.dialled(ctx, p.o.Connection)}
	if topic, _, ok := m.Path.Subscription(); ok {
		to, t.Queue, t.Topic = engine.Path(topic), "", topic
	} else if m.in.Kind == engine.Topic {
		t.Queue, t.Topic = "", string(to)
	}
	c := m.content
	s := sample.Message{
		Body: b.Content, ID: c.MessageID, CorrelationID: c.CorrelationID, Subject: c.Subject, ContentType: c.ContentType,
		To: c.To, ReplyTo: c.ReplyTo, ReplyToSession: c.ReplyToSessionID, PartitionKey: c.PartitionKey,
		InSession: c.HasSessionID(), Session: c.SessionID, TTL: max(0, c.TTL),
	}
	if m.Message.State == engine.Scheduled {
		s.Due = m.Message.ScheduledFor.Time()
	}
	if c.BodySize > againInline {
		s.File = bodyFile(m.Message.Key)
	}
	for _, q := range c.Properties {
		s.Props = append(s.Props, component.Property{Name: q.Name, Value: q.Value.Text(), Type: q.Value.Kind().String()})
	}
	out := page.Again{File: s.File, Curl: p.curl(to, c.Properties, s, c.BodySize)}
	if p.o.Connection != "" {
		out.Samples = sample.Sending(t, s)
	}
	return out
}

// bodyFile is what the browser calls the body of a message that it is given.
func bodyFile(k engine.Key) string { return "message-" + keyText(k) + ".bin" }

// curl is the line for the shell, types of properties and all; empty where there
// is no API for it, or the body is too long.
func (p *Pages) curl(to engine.Path, props value.Properties, s sample.Message, size int64) string {
	if p.o.API == "" || size > curlMost {
		return ""
	}
	m := struct {
		MessageID            string           `json:"messageId,omitempty"`
		SessionID            *string          `json:"sessionId,omitempty"`
		PartitionKey         string           `json:"partitionKey,omitempty"`
		CorrelationID        string           `json:"correlationId,omitempty"`
		Subject              string           `json:"subject,omitempty"`
		To                   string           `json:"to,omitempty"`
		ReplyTo              string           `json:"replyTo,omitempty"`
		ReplyToSessionID     string           `json:"replyToSessionId,omitempty"`
		ContentType          string           `json:"contentType,omitempty"`
		TimeToLive           string           `json:"timeToLive,omitempty"`
		ScheduledEnqueueTime string           `json:"scheduledEnqueueTime,omitempty"`
		Properties           value.Properties `json:"properties,omitempty"`
		Body                 string           `json:"body,omitempty"`
		BodyBase64           string           `json:"bodyBase64,omitempty"`
	}{
		MessageID: s.ID, PartitionKey: s.PartitionKey, CorrelationID: s.CorrelationID, Subject: s.Subject, To: s.To, ReplyTo: s.ReplyTo,
		ReplyToSessionID: s.ReplyToSession, ContentType: s.ContentType, Properties: props,
	}
	if s.InSession {
		m.SessionID = &s.Session
	}
	if s.TTL > 0 {
		m.TimeToLive = engine.FormatDuration(s.TTL)
	}
	if !s.Due.IsZero() {
		m.ScheduledEnqueueTime = s.Due.UTC().Format(time.RFC3339Nano)
	}
	switch {
	case s.File != "":
	case utf8.Valid(s.Body):
		m.Body = string(s.Body)
	default:
		m.BodyBase64 = base64.StdEncoding.EncodeToString(s.Body)
	}
	var raw strings.Builder
	e := json.NewEncoder(&raw)
	e.SetEscapeHTML(false)
	if err := e.Encode(m); err != nil {
		return "" // a property that JSON has no form for
	}
	text := strings.TrimSpace(raw.String())
	at := quoteShell(p.o.API + "/send/" + url.PathEscape(string(to)))
	if s.File == "" {
		return "curl " + at + " \\\n  -d " + quoteShell(text)
	}
	head := strings.TrimSuffix(text, "}")
	if head != "{" {
		head += ","
	}
	return fmt.Sprintf("{ printf %%s %s; base64 < %s | tr -d '\\n'; printf '\"}'; } |\n  curl %s --data-binary @-", quoteShell(head+`"bodyBase64":"`), s.File, at)
}

// quoteShell is a text as one word of a shell.
func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
