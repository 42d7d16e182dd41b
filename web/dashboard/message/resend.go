package message

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
	"mayfly/views/page/message"
	"mayfly/views/sample"
	"mayfly/web/dashboard/pages"
)

const (
	// maxInlineBody is how many bytes of a body a program contains; a longer body is read from
	// the file that the page offers.
	maxInlineBody = 4 << 10
	// maxCurlBody is the longest body that the shell command sends: the API takes it in base64,
	// in a request of at most 8 MiB.
	maxCurlBody = 5 << 20
)

// resendSamples returns programs that send a message again to its queue or topic, or to the topic
// of its subscription. They leave out properties that settlements and rules have added.
func resendSamples(ctx context.Context, p *pages.Pages, m Snapshot, b message.Body) message.Resend {
	if m.Unpacked.BodyKind != engine.DataBody {
		return message.Resend{UnsupportedBody: true}
	}
	to := m.Path.Entity()
	t := sample.Task{Queue: string(to), Connection: p.WithVisitorHost(ctx, p.Options.Connection)}
	if topic, _, ok := m.Path.Subscription(); ok {
		to, t.Queue, t.Topic = engine.Path(topic), "", topic
	} else if m.Entity.Kind == engine.Topic {
		t.Queue, t.Topic = "", string(to)
	}
	c := m.Unpacked
	s := sample.Message{
		Body: b.Content, ID: c.MessageID, CorrelationID: c.CorrelationID, Subject: c.Subject, ContentType: c.ContentType,
		To: c.To, ReplyTo: c.ReplyTo, ReplyToSession: c.ReplyToSessionID, PartitionKey: c.PartitionKey,
		InSession: c.HasSessionID(), Session: c.SessionID, TTL: max(0, c.TTL),
	}
	if m.Message.State == engine.Scheduled {
		s.Due = m.Message.ScheduledFor.Time()
	}
	if c.BodySize > maxInlineBody {
		s.File = bodyFile(m.Message.Key)
	}
	for _, q := range c.Properties {
		s.Props = append(s.Props, component.Property{Name: q.Name, Value: q.Value.Text(), Type: q.Value.Kind().String()})
	}
	out := message.Resend{File: s.File, Curl: curlCommand(p, to, c.Properties, s, c.BodySize)}
	if p.Options.Connection != "" {
		out.Samples = sample.SendPrograms(t, s)
	}
	return out
}

// bodyFile returns the file name of a downloaded body.
func bodyFile(k engine.Key) string { return "message-" + pages.KeyText(k) + ".bin" }

// curlCommand returns a shell command that sends the message, with typed properties, through the
// JSON API. It is empty if there is no API or the body is too long.
func curlCommand(p *pages.Pages, to engine.Path, props value.Properties, s sample.Message, size int64) string {
	if p.Options.API == "" || size > maxCurlBody {
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
		return "" // a property that has no JSON form
	}
	text := component.EscapeInvisibleJSON(strings.TrimSpace(raw.String()))
	at := pages.QuoteShell(p.Options.API + "/send/" + url.PathEscape(string(to)))
	if s.File == "" {
		return "curl " + at + " \\\n  -d " + pages.QuoteShell(text)
	}
	head := strings.TrimSuffix(text, "}")
	if head != "{" {
		head += ","
	}
	return fmt.Sprintf("{ printf %%s %s; base64 < %s | tr -d '\\n'; printf '\"}'; } |\n  curl %s --data-binary @-", pages.QuoteShell(head+`"bodyBase64":"`), s.File, at)
}
