package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/api"
)

func describeReceive() cli.Command {
	return cli.Command{
		Name: "receive", Summary: "Receive messages.", Flags: &receiveCommand{}, ExitCodes: exitCodes(cli.ExitEmpty),
		Examples: []cli.Example{
			{Line: "mayfly receive orders --wait 10s", Text: "Wait up to ten seconds for a message, print it and complete it."},
			{Line: "mayfly receive 'orders/$DeadLetterQueue' --limit 10 --then release", Text: "Print up to ten dead letters and leave them in the queue."},
			{Line: "mayfly receive chats --next-session --limit 100", Text: "Receive up to 100 messages of the next session, then release the session."},
			{Line: "mayfly receive orders --fail-empty > order.txt", Text: "Write a message to a file, or exit with 5 if there is none."},
		},
	}
}

// receiveCommand receives messages, prints them and then settles them. A message that could
// not be printed is not settled, so it is not lost.
type receiveCommand struct {
	client
	Entity         string  `arg:"" help:"Queue, topic/Subscriptions/name, or one of them with /$DeadLetterQueue."`
	Limit          int     `default:"1" help:"Maximum number of messages to receive."`
	Wait           string  `default:"0s" placeholder:"DURATION" help:"Wait this long for the first message."`
	SequenceNumber []int64 `placeholder:"N" help:"Sequence number of a deferred message to receive instead; may be repeated."`

	Session     *string `placeholder:"ID" xor:"session" help:"Session to receive from; may be empty."`
	NextSession bool    `name:"next-session" xor:"session" help:"Receive from the next unlocked session that has messages. --wait applies to the session."`

	Then        string `enum:"complete,abandon,defer,dead-letter,release,nothing" default:"complete" help:"How to settle the messages after printing them: complete, abandon, defer, dead-letter, release, or nothing. With nothing they stay locked, and their lock tokens are printed."`
	Reason      string `help:"DeadLetterReason, for --then dead-letter."`
	Description string `help:"DeadLetterErrorDescription, for --then dead-letter."`

	failEmptyFlag
}

// Run receives messages.
func (c *receiveCommand) Run(ctx context.Context, s cli.Streams) error {
	wait, never, err := engine.ParseDuration(c.Wait)
	if err != nil || never {
		return cli.UsageErrorf("--wait must be a duration such as 10s, not %q", c.Wait)
	}
	if c.Then != "dead-letter" && (c.Reason != "" || c.Description != "") {
		return cli.UsageErrorf("--reason and --description require --then dead-letter, not --then %s; nothing was received", c.Then)
	}
	if c.Session != nil || c.NextSession {
		return c.receiveSession(ctx, s, wait)
	}
	var got api.Messages
	raw, err := c.request(ctx, http.MethodPost, APIPath("receive", c.Entity), api.Receive{Limit: &c.Limit, Wait: c.Wait, SequenceNumbers: c.SequenceNumber}, &got, wait)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Detail == engine.PlainReceiverText { // SES-13
		return fmt.Errorf("%w Name the session with --session ID, or use --next-session", err)
	}
	if err != nil {
		return err
	}
	return c.printAndSettle(ctx, s, raw, got.Messages)
}

// printAndSettle prints messages, whose JSON is raw, and then settles them.
func (c *receiveCommand) printAndSettle(ctx context.Context, s cli.Streams, raw []byte, got []api.Message) (err error) {
	if c.JSON {
		err = s.WriteRaw(raw)
	} else {
		err = c.printMessages(s, got)
	}
	if len(got) == 0 && err == nil {
		return c.reportEmpty(s, c.JSON)
	}
	if err != nil || c.Then == "nothing" {
		return err
	}
	for _, m := range got {
		in := api.Settle{LockToken: m.LockToken, Outcome: c.Then, Reason: c.Reason, Description: c.Description}
		if _, err := c.request(ctx, http.MethodPost, "/api/v1/settle", in, nil, 0); err != nil {
			return fmt.Errorf("message #%d was printed, but not settled: %w", m.SequenceNumber, err)
		}
	}
	return nil
}

func (c *receiveCommand) printMessages(s cli.Streams, got []api.Message) error {
	for _, m := range got {
		line := []string{fmt.Sprintf("#%d", m.SequenceNumber)}
		if m.SessionID != nil {
			line = append(line, fmt.Sprintf("session %q", cli.Printable(*m.SessionID, 60)))
		}
		for _, part := range []struct{ name, text string }{{"id", m.MessageID}, {"subject", m.Subject}} {
			if part.text != "" {
				line = append(line, part.name+" "+cli.Printable(part.text, 60))
			}
		}
		line = append(line, "expires in "+timeUntil(time.Now(), m.ExpiresAt))
		if c.Then == "nothing" {
			line = append(line, "lock token "+m.LockToken)
		}
		if _, err := fmt.Fprintf(s.Out, "%s\n%s%s\n", strings.Join(line, "  "), formatProperties(m.Properties), bodyText(m, 1<<20)); err != nil {
			return err
		}
	}
	return nil
}

// formatProperties returns a line for each property.
func formatProperties(all value.Properties) string {
	var lines strings.Builder
	for _, p := range all {
		lines.WriteString("  " + cli.Printable(p.Name, 60) + " = " + cli.Printable(p.Value.String(), 200) + "\n")
	}
	return lines.String()
}
