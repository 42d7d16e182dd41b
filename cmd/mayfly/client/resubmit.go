package client

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeResubmit() cli.Command {
	return cli.Command{
		Name: "resubmit", Summary: "Resubmit dead letters to their entity: all, those that match a query, or one with changes.", Flags: &resubmitCommand{}, ExitCodes: exitCodes(),
		Detail: "Each dead letter is sent as a new message, without its dead-letter properties, and removed from the dead-letter queue. A job does this: see mayfly jobs. With --sequence-number, one dead letter is resubmitted at once, with the changes of --set and -p: either the new message is stored and the dead letter removed, or neither.",
		Examples: []cli.Example{
			{Line: "mayfly resubmit orders", Text: "Resubmit all dead letters of a queue."},
			{Line: "mayfly resubmit prices/Subscriptions/dear --query reason:TTLExpired* --dry-run", Text: "Count the dead letters that expired."},
			{Line: "mayfly resubmit orders --sequence-number 17 --set ttl=1h --set body=@fixed.json -p region=eu", Text: "Resubmit one dead letter with a new time to live, body and property."},
		},
	}
}

// resubmitCommand sends dead letters again.
type resubmitCommand struct {
	client
	jobFlags
	Entity         string   `arg:"" help:"Queue or topic/Subscriptions/name."`
	SequenceNumber int64    `placeholder:"N" help:"Resubmit only the dead letter with this sequence number, at once and without a job."`
	Set            []string `sep:"none" placeholder:"KEY=VALUE" help:"With --sequence-number: change a property; may be repeated. KEY is subject, ttl, at, message-id, correlation-id, session-id, content-type, partition-key, to, reply-to, reply-to-session-id or body; body=@FILE reads the body from a file, body=@- from standard input. An empty VALUE removes the property."`
	Property       []string `short:"p" sep:"none" placeholder:"NAME=VALUE" help:"With --sequence-number: set an application property, as in mayfly send; may be repeated. Others stay."`
	To             string   `placeholder:"PATH" help:"With --sequence-number: send the message to this queue, topic or subscription. Default: the entity it came from."`
	Copy           bool     `help:"With --sequence-number: keep the dead letter."`
}

// Run resubmits dead letters.
func (c *resubmitCommand) Run(ctx context.Context, s cli.Streams) error {
	from := c.Entity
	if !strings.HasSuffix(strings.ToLower(from), strings.ToLower(deadLetterQueue)) {
		from += deadLetterQueue
	}
	switch changed := len(c.Set)+len(c.Property) > 0 || c.To != "" || c.Copy; {
	case c.SequenceNumber < 0:
		return cli.UsageErrorf("--sequence-number must be a positive sequence number, not %d", c.SequenceNumber)
	case c.SequenceNumber > 0 && (c.Query != "" || c.NoWait):
		return cli.UsageErrorf("--sequence-number resubmits one message at once, without --query or --no-wait")
	case c.SequenceNumber > 0:
		return c.resubmitOne(ctx, s, from)
	case changed:
		return cli.UsageErrorf("--set, -p, --to and --copy require --sequence-number N, the sequence number of one message; mayfly peek '%s' lists them. To copy or move many messages unchanged, use mayfly jobs start", from)
	}
	return c.startJob(ctx, s, c.client, api.NewJob{Kind: "resubmit", Paths: []string{from}})
}

// resubmitOne resubmits one dead letter, changed by the flags.
func (c *resubmitCommand) resubmitOne(ctx context.Context, s cli.Streams, from string) error {
	dead, err := c.findDeadLetter(ctx, from)
	if err != nil {
		return err
	}
	in := api.Resubmit{Key: dead.Key, Message: unchangedMessage(dead), To: c.To, Copy: c.Copy, DropDuplicate: c.DropDuplicates, KeepProperties: true}
	for _, text := range c.Set {
		if err := setMessageProperty(ctx, &in.Message, text, s.In); err != nil {
			return err
		}
	}
	for _, text := range c.Property {
		p, err := parseProperty(text)
		if err != nil {
			return err
		}
		in.Message.Properties = append(in.Message.Properties, p)
	}
	if c.DryRun {
		return c.printRequest(s, in)
	}
	var is api.ResubmitResult
	raw, err := c.request(ctx, http.MethodPost, "/api/v1/resubmit", in, &is, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	went := "resubmitted"
	if c.Copy {
		went = "resubmitted as a copy"
	}
	text := fmt.Sprintf("Message #%d was %s to %s: #%d.", c.SequenceNumber, went, cmp.Or(c.To, dead.TransferTo, from[:len(from)-len(deadLetterQueue)]), is.SequenceNumber)
	if is.Duplicate {
		text = fmt.Sprintf("Message #%d was dropped as a duplicate of message id %s.", c.SequenceNumber, cli.Printable(in.Message.MessageID, 60))
	}
	_, err = fmt.Fprintln(s.Out, text)
	return err
}

// findDeadLetter returns the dead letter with the sequence number of --sequence-number.
func (c *resubmitCommand) findDeadLetter(ctx context.Context, from string) (m api.Message, err error) {
	var got struct{ Messages []api.Message }
	if _, err := c.request(ctx, http.MethodGet, fmt.Sprintf("%s?from=%d&limit=1", APIPath("peek", from), c.SequenceNumber), nil, &got, 0); err != nil {
		return m, err
	}
	if len(got.Messages) == 0 || got.Messages[0].SequenceNumber != c.SequenceNumber {
		return m, &api.Problem{Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Code: "MessageNotFound", Detail: fmt.Sprintf("'%[2]s' has no dead letter with the sequence number %[1]d.", c.SequenceNumber, from)}
	}
	return got.Messages[0], nil
}

// unchangedMessage returns the message to send if nothing is changed. The server keeps its body and
// properties; it is not scheduled again.
func unchangedMessage(dead api.Message) api.Outgoing {
	m := dead.Outgoing
	m.Body, m.BodyBase64, m.Properties, m.ScheduledEnqueueTime = nil, nil, nil, ""
	return m
}

// printRequest prints what would be sent.
func (c *resubmitCommand) printRequest(s cli.Streams, in api.Resubmit) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("encode the message: %w", err)
	}
	if !c.JSON {
		if _, err := fmt.Fprintln(s.Err, "Nothing was done. This would be sent to /api/v1/resubmit:"); err != nil {
			return err
		}
	}
	return s.WriteRaw(append(raw, '\n'))
}

// settableProperties returns the keys of --set except session-id, at and body.
func settableProperties(m *api.Outgoing) map[string]*string {
	return map[string]*string{
		"subject": &m.Subject, "ttl": &m.TimeToLive, "message-id": &m.MessageID, "correlation-id": &m.CorrelationID, "content-type": &m.ContentType,
		"partition-key": &m.PartitionKey, "to": &m.To, "reply-to": &m.ReplyTo, "reply-to-session-id": &m.ReplyToSessionID,
	}
}

// setMessageProperty applies one KEY=VALUE of --set.
func setMessageProperty(ctx context.Context, m *api.Outgoing, text string, in io.Reader) error {
	key, value, ok := strings.Cut(text, "=")
	plain := settableProperties(m)
	switch to := plain[key]; {
	case !ok:
		return cli.UsageErrorf("--set must be KEY=VALUE, not %q", text)
	case to != nil:
		*to = value
	case key == "session-id":
		if m.SessionID = &value; value == "" {
			m.SessionID = nil
		}
	case key == "at":
		if m.ScheduledEnqueueTime = ""; value == "" {
			return nil
		}
		at, err := parseAt(value, time.Now())
		if err != nil {
			return err
		}
		m.ScheduledEnqueueTime = at.UTC().Format(time.RFC3339Nano)
	case key == "body":
		return setMessageBody(ctx, m, value, in)
	default:
		keys := append(slices.Collect(maps.Keys(plain)), "session-id", "at", "body")
		slices.Sort(keys)
		return cli.UsageErrorf("the keys of --set are %s, not %q; -p sets an application property", strings.Join(keys, ", "), key)
	}
	return nil
}

// setMessageBody sets a message's body from value: @- means the content of in, @FILE that of a
// file, and anything else is the body itself.
func setMessageBody(ctx context.Context, m *api.Outgoing, value string, in io.Reader) error {
	raw := []byte(value)
	if name, ok := strings.CutPrefix(value, "@"); ok {
		var err error
		if name == "-" {
			raw, err = io.ReadAll(cli.CancellableReader(ctx, in))
		} else {
			raw, err = os.ReadFile(name)
		}
		if err != nil {
			return fmt.Errorf("read the body: %w", err)
		}
	}
	m.Body, m.BodyBase64 = nil, nil
	if text := string(raw); utf8.ValidString(text) {
		m.Body = &text
		return nil
	}
	text := base64.StdEncoding.EncodeToString(raw)
	m.BodyBase64 = &text
	return nil
}
