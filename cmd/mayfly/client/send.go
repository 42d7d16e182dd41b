package client

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/api"
)

func describeSend() cli.Command {
	return cli.Command{
		Name: "send", Summary: "Send a message to a queue or topic.", Flags: &sendCommand{}, ExitCodes: exitCodes(),
		Detail: "With --repeat, --placeholders or --template, placeholders in texts are filled in: {{n}} is the number of the message, starting at 1; {{n+100}} and {{n%10}} are computed from it; {{count}} is the number of messages. Others are {{uuid}}, {{now}}, {{now+5m}}, {{unix}}, {{random 1 100}}, {{pick a|b|c}}, {{letters 20}}; \\{{ is a literal {{.",
		Examples: []cli.Example{
			{Line: "mayfly send orders hello --create --ttl 1h", Text: "Send a text, and create the queue if it does not exist."},
			{Line: `mayfly send orders -p price=12.5 -p 'id={"type":"int","value":"7"}' --subject new < order.json`, Text: "Send a file with two application properties."},
			{Line: "mayfly send orders later --at 5m", Text: "Send a message that becomes active in five minutes."},
			{Line: "mayfly send orders '{\"order\":{{n}},\"at\":\"{{now}}\"}' --repeat 500 --every 1s", Text: "Send 500 messages, scheduled one second apart."},
			{Line: "mayfly send orders --template late-orders --subject 'late {{n}}'", Text: "Send a message from a template on the server, with another subject."},
			{Line: "mayfly send orders --jsonl < orders.jsonl", Text: "Send each line, such as {\"body\":\"hello\",\"timeToLive\":\"1h\"}, as a message."},
		},
	}
}

// sendCommand sends a message, or several copies of it.
type sendCommand struct {
	client
	Entity string  `arg:"" help:"Queue or topic."`
	Body   *string `arg:"" optional:"" help:"Body of the message. Default: standard input."`

	TTL           string   `name:"ttl" placeholder:"DURATION" help:"Time to live, such as 30s or PT1M."`
	At            string   `placeholder:"TIME" help:"Enqueue time: a time such as 2026-07-14T10:00:00Z, or a duration from now."`
	Property      []string `short:"p" sep:"none" placeholder:"NAME=VALUE" help:"Application property; may be repeated. VALUE is text, or JSON: 5, true, {\"type\":\"int\",\"value\":\"5\"}."`
	MessageID     string   `name:"message-id" help:"MessageId."`
	CorrelationID string   `name:"correlation-id" help:"CorrelationId."`
	SessionID     *string  `name:"session-id" help:"SessionId; may be empty."`
	Subject       string   `help:"Subject, also called Label."`
	ContentType   string   `name:"content-type" help:"ContentType."`
	Count         int      `default:"1" help:"Number of copies to send."`
	Repeat        *int64   `placeholder:"N" help:"Number of messages to send, each with its placeholders filled in, up to 100000. More than 1000 are sent by a job; the command waits for it."`
	Every         string   `placeholder:"DURATION" help:"With --repeat: delay between the enqueue times of consecutive messages."`
	Placeholders  bool     `help:"Fill in the placeholders of a single message too."`
	Template      string   `placeholder:"NAME" help:"Template on the server. Flags and BODY override it."`
	DryRun        bool     `help:"With --repeat, --placeholders or --template: print the first three messages, and send nothing."`
	Create        bool     `help:"Create the queue if it does not exist."`
	JSONL         bool     `name:"jsonl" help:"Read messages from standard input, one JSON line each, as peek --json prints them. With --json, print the result of each."`
}

// maxSendCount is the limit of --count: the server accepts as many per request.
const maxSendCount = 5000

// Run sends the message.
func (c *sendCommand) Run(ctx context.Context, s cli.Streams) error {
	if c.Count < 1 || c.Count > maxSendCount {
		return cli.UsageErrorf("--count must be from 1 to %d, not %d", maxSendCount, c.Count)
	}
	if c.JSONL {
		return c.sendLines(ctx, s)
	}
	if c.DryRun && !c.usesPlaceholders() {
		return cli.UsageErrorf("--dry-run requires --repeat, --placeholders or --template")
	}
	if c.usesPlaceholders() {
		return c.sendRepeated(ctx, s)
	}
	m, err := c.messageFromFlags(ctx, s.In)
	if err != nil {
		return err
	}
	batch := make([]api.Outgoing, c.Count)
	for i := range batch {
		batch[i] = m
	}
	to := APIPath("send", c.Entity)
	if c.Create {
		to += "?create=queue"
	}
	var sent api.Sent
	raw, err := c.request(ctx, http.MethodPost, to, batch, &sent, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	_, err = fmt.Fprintln(s.Out, c.describeResult(m, sent))
	return err
}

// describeResult describes the result of sending. Duplicates have no sequence numbers (DUP-2).
func (c *sendCommand) describeResult(m api.Outgoing, sent api.Sent) string {
	kept := slices.DeleteFunc(slices.Clone(sent.SequenceNumbers), func(n int64) bool { return n == 0 })
	dropped := len(sent.SequenceNumbers) - len(kept)
	duplicates := "a duplicate"
	if dropped != 1 {
		duplicates = "duplicates"
	}
	if c.MessageID != "" {
		duplicates += " of message id " + cli.Printable(c.MessageID, 60)
	}
	if len(kept) == 0 {
		return fmt.Sprintf("Dropped %s as %s.", cli.MessageCount(int64(dropped)), duplicates)
	}
	text := fmt.Sprintf("Sent %s to %s: #%d", cli.MessageCount(int64(len(kept))), c.Entity, kept[0])
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

func (c *sendCommand) messageFromFlags(ctx context.Context, in io.Reader) (api.Outgoing, error) {
	m := api.Outgoing{
		MessageID: c.MessageID, CorrelationID: c.CorrelationID, SessionID: c.SessionID, Subject: c.Subject,
		ContentType: c.ContentType, TimeToLive: c.TTL, Body: c.Body,
	}
	if c.Body == nil {
		var err error
		if m.Body, m.BodyBase64, err = readBody(ctx, in); err != nil {
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

// readBody reads a body from in: as text or, if it is not UTF-8, as base64.
func readBody(ctx context.Context, in io.Reader) (text, encoded *string, err error) {
	raw, err := io.ReadAll(cli.CancellableReader(ctx, in))
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

// parseAt parses a time, or a duration from now.
func parseAt(text string, now time.Time) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(text)); err == nil {
		return t, nil
	}
	d, never, err := engine.ParseDuration(text)
	if err != nil || never {
		return time.Time{}, cli.UsageErrorf("--at must be a time such as 2026-07-14T10:00:00Z or a duration such as 5m, not %q", text)
	}
	return now.Add(d), nil
}

// parseProperty parses NAME=VALUE. A value that is not JSON is a string.
func parseProperty(text string) (value.Property, error) {
	name, written, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return value.Property{}, cli.UsageErrorf("--property must be NAME=VALUE, not %q", text)
	}
	p := value.Property{Name: name, Value: value.OfString(written)}
	if json.Valid([]byte(written)) {
		if err := p.Value.UnmarshalJSON([]byte(written)); err != nil {
			return p, cli.UsageErrorf("--property %s: %w", name, err)
		}
	}
	return p, nil
}
