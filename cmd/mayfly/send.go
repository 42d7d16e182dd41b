package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"encoding/base64"
	"encoding/json"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/api"
)

func describeSend() description {
	return description{
		name: "send", summary: "Send a message to a queue or topic.", command: &sendCommand{}, ends: clientEnds(),
		detail: "With --repeat, --placeholders or --template, texts are filled in: {{n}} is the number of the message, from 1, {{n+100}} and {{n%10}} are counted from it, {{count}} is how many there are; {{uuid}}, {{now}}, {{now+5m}}, {{unix}}, {{random 1 100}}, {{pick a|b|c}}, {{letters 20}}; \\{{ are the braces themselves.",
		examples: []example{
			{"mayfly send orders hello --create --ttl 1h", "Sends a text, and makes the queue if it is not there."},
			{`mayfly send orders -p price=12.5 -p 'id={"type":"int","value":"7"}' --subject new < order.json`, "Sends a file with two application properties."},
			{"mayfly send orders later --at 5m", "Sends what becomes available in five minutes."},
			{"mayfly send orders '{\"order\":{{n}},\"at\":\"{{now}}\"}' --repeat 500 --every 1s", "Sends 500 messages, each of which becomes available a second after the one before."},
			{"mayfly send orders --template late-orders --subject 'late {{n}}'", "Sends a template that is kept on the server, with another subject."},
			{"mayfly send orders --jsonl < orders.jsonl", "Sends each line, such as {\"body\":\"hello\",\"timeToLive\":\"1h\"}, as a message."},
		},
	}
}

// sendCommand sends a message, or the same one several times.
type sendCommand struct {
	client
	Entity string  `arg:"" help:"Queue or topic."`
	Body   *string `arg:"" optional:"" help:"The message; standard input if absent."`

	TTL           string   `name:"ttl" placeholder:"DURATION" help:"How long it lives, such as 30s or PT1M."`
	At            string   `placeholder:"TIME" help:"When it becomes available: a time such as 2026-07-14T10:00:00Z, or a duration from now."`
	Property      []string `short:"p" sep:"none" placeholder:"NAME=VALUE" help:"An application property; may be repeated. VALUE is text, or JSON: 5, true, {\"type\":\"int\",\"value\":\"5\"}."`
	MessageID     string   `name:"message-id" help:"MessageId."`
	CorrelationID string   `name:"correlation-id" help:"CorrelationId."`
	SessionID     *string  `name:"session-id" help:"SessionId; may be empty."`
	Subject       string   `help:"Subject, also called Label."`
	ContentType   string   `name:"content-type" help:"ContentType."`
	Count         int      `default:"1" help:"How many of it to send."`
	Repeat        *int64   `placeholder:"N" help:"How many to send, each with its placeholders filled in, up to 100000. More than 1000 are sent by a job, whose end is waited for."`
	Every         string   `placeholder:"DURATION" help:"With --repeat: by how much each becomes available later than the one before."`
	Placeholders  bool     `help:"Fill in the placeholders of a single message, too."`
	Template      string   `placeholder:"NAME" help:"A template that is kept on the server; flags and BODY go before what it says."`
	DryRun        bool     `help:"Only print the first three messages as they would be sent, with --repeat, --placeholders or --template."`
	Create        bool     `help:"Create the queue if it does not exist."`
	JSONL         bool     `name:"jsonl" help:"Standard input is messages, a JSON line each, as peek --json prints them; they are sent as they come. With --json there is a line for each that says what became of it."`
}

// maxCount bounds --count: the server takes that many at once.
const maxCount = 5000

// Run sends.
func (c *sendCommand) Run(ctx context.Context, s streams) error {
	if c.Count < 1 || c.Count > maxCount {
		return misused("--count is from 1 to %d, not %d", maxCount, c.Count)
	}
	if c.JSONL {
		return c.sendLines(ctx, s)
	}
	if c.DryRun && !c.drafted() {
		return misused("--dry-run is for --repeat, --placeholders and --template")
	}
	if c.drafted() {
		return c.repeat(ctx, s)
	}
	m, err := c.message(ctx, s.in)
	if err != nil {
		return err
	}
	batch := make([]api.Outgoing, c.Count)
	for i := range batch {
		batch[i] = m
	}
	to := path("send", c.Entity)
	if c.Create {
		to += "?create=queue"
	}
	var sent api.Sent
	raw, err := c.ask(ctx, http.MethodPost, to, batch, &sent, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	_, err = fmt.Fprintln(s.out, c.told(m, sent))
	return err
}

// told says what became of the messages. Duplicates have no numbers (DUP-2).
func (c *sendCommand) told(m api.Outgoing, sent api.Sent) string {
	kept := slices.DeleteFunc(slices.Clone(sent.SequenceNumbers), func(n int64) bool { return n == 0 })
	dropped := len(sent.SequenceNumbers) - len(kept)
	duplicates := "a duplicate"
	if dropped != 1 {
		duplicates = "duplicates"
	}
	if c.MessageID != "" {
		duplicates += " of message id " + printable(c.MessageID, 60)
	}
	if len(kept) == 0 {
		return fmt.Sprintf("Dropped %s as %s.", messages(int64(dropped)), duplicates)
	}
	text := fmt.Sprintf("Sent %s to %s: #%d", messages(int64(len(kept))), c.Entity, kept[0])
	if len(kept) > 1 {
		text += fmt.Sprintf(" to #%d", kept[len(kept)-1])
	}
	if at, err := time.Parse(time.RFC3339Nano, m.ScheduledEnqueueTime); err == nil && at.After(time.Now()) {
		text += ", scheduled for " + at.Local().Format(time.DateTime)
	}
	if dropped > 0 {
		text += fmt.Sprintf(", dropped %d as %s", dropped, duplicates)
	}
	return text + "."
}

func (c *sendCommand) message(ctx context.Context, in io.Reader) (api.Outgoing, error) {
	m := api.Outgoing{
		MessageID: c.MessageID, CorrelationID: c.CorrelationID, SessionID: c.SessionID, Subject: c.Subject,
		ContentType: c.ContentType, TimeToLive: c.TTL, Body: c.Body,
	}
	if c.Body == nil {
		var err error
		if m.Body, m.BodyBase64, err = bodyOf(ctx, in); err != nil {
			return m, err
		}
	}
	if c.At != "" {
		at, err := parseAt(c.At, time.Now())
		if err != nil {
			return m, err
		}
		m.ScheduledEnqueueTime = at.UTC().Format(time.RFC3339Nano)
	}
	for _, p := range c.Property {
		property, err := parseProperty(p)
		if err != nil {
			return m, err
		}
		m.Properties = append(m.Properties, property)
	}
	return m, nil
}

// bodyOf is what standard input has: a text, or what is none in base64.
func bodyOf(ctx context.Context, in io.Reader) (text, encoded *string, err error) {
	raw, err := io.ReadAll(leaving(ctx, in))
	if err != nil {
		return nil, nil, fmt.Errorf("read standard input: %w", err)
	}
	if !utf8.Valid(raw) {
		is := base64.StdEncoding.EncodeToString(raw)
		return nil, &is, nil
	}
	is := string(raw)
	return &is, nil, nil
}

// parseAt reads a time, or a duration from now.
func parseAt(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text)); err == nil {
		return t, nil
	}
	d, never, err := engine.ParseDuration(text)
	if err != nil || never {
		return time.Time{}, misused("--at is a time such as 2026-07-14T10:00:00Z, or a duration such as 5m, not %q", text)
	}
	return now.Add(d), nil
}

// parseProperty reads NAME=VALUE. A value that is no JSON is a text.
func parseProperty(text string) (value.Property, error) {
	name, written, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return value.Property{}, misused("--property is written NAME=VALUE, not %q", text)
	}
	p := value.Property{Name: name, Value: value.OfString(written)}
	if json.Valid([]byte(written)) {
		if err := p.Value.UnmarshalJSON([]byte(written)); err != nil {
			return p, misused("--property %s: %w", name, err)
		}
	}
	return p, nil
}
