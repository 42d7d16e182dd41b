package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/api"
)

func describeReceive() description {
	return description{
		name: "receive", summary: "Take messages.", command: &receiveCommand{}, ends: clientEnds(exitEmpty),
		examples: []example{
			{"mayfly receive orders --wait 10s", "Waits for a message, prints it and completes it."},
			{"mayfly receive 'orders/$DeadLetterQueue' --max 10 --then release", "Prints ten dead letters and leaves them there."},
			{"mayfly receive chats --next-session --max 100", "Takes what a session has, and gives the session back."},
			{"mayfly receive orders --fail-empty > order.txt", "Ends with 5 if there is no message."},
		},
	}
}

// receiveCommand takes messages, prints them and settles them, in this order:
// one that was not printed is not lost.
type receiveCommand struct {
	client
	Entity string  `arg:"" help:"Queue, topic/Subscriptions/name, or one of them with /$DeadLetterQueue."`
	Max    int     `default:"1" help:"How many to take at most."`
	Wait   string  `default:"0s" placeholder:"DURATION" help:"How long to wait for the first."`
	Number []int64 `placeholder:"N" help:"Sequence number of a deferred message to take instead; may be repeated."`

	Session     *string `placeholder:"ID" xor:"session" help:"Session to take them from, where the entity has sessions; may be empty."`
	NextSession bool    `name:"next-session" xor:"session" help:"Take them from the next session that has messages and is not locked; --wait is for it."`

	Then     string `enum:"complete,abandon,defer,dead-letter,release,nothing" default:"complete" help:"What to do with them once they are printed: complete, abandon, defer, dead-letter, release, or nothing; then they stay locked and their lock tokens are printed."`
	Reason   string `help:"DeadLetterReason, for --then dead-letter."`
	Describe string `help:"DeadLetterErrorDescription, for --then dead-letter."`

	failEmpty
}

// Run takes.
func (c *receiveCommand) Run(ctx context.Context, s streams) error {
	wait, never, err := engine.ParseDuration(c.Wait)
	if err != nil || never {
		return misused("--wait is a duration such as 10s, not %q", c.Wait)
	}
	if c.Then != "dead-letter" && (c.Reason != "" || c.Describe != "") {
		return misused("--reason and --describe are of --then dead-letter, not of --then %s; nothing was received", c.Then)
	}
	if c.Session != nil || c.NextSession {
		return c.receiveSession(ctx, s, wait)
	}
	var got api.Messages
	raw, err := c.ask(ctx, http.MethodPost, path("receive", c.Entity), api.Receive{Max: &c.Max, Wait: c.Wait, SequenceNumbers: c.Number}, &got, wait)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Detail == engine.PlainReceiverText { // SES-13
		return fmt.Errorf("%w Name the session with --session ID, or take --next-session", err)
	}
	if err != nil {
		return err
	}
	return c.deal(ctx, s, raw, got.Messages)
}

// deal prints messages, which came as raw, and then settles them.
func (c *receiveCommand) deal(ctx context.Context, s streams, raw []byte, got []api.Message) (err error) {
	if c.JSON {
		err = s.write(raw)
	} else {
		err = c.print(s, got)
	}
	if len(got) == 0 && err == nil {
		return c.empty(s, c.JSON)
	}
	if err != nil || c.Then == "nothing" {
		return err
	}
	for _, m := range got {
		in := api.Settle{LockToken: m.LockToken, Outcome: c.Then, Reason: c.Reason, Description: c.Describe}
		if _, err := c.ask(ctx, http.MethodPost, "/api/v1/settle", in, nil, 0); err != nil {
			return fmt.Errorf("message #%d was printed, but not settled: %w", m.SequenceNumber, err)
		}
	}
	return nil
}

func (c *receiveCommand) print(s streams, got []api.Message) error {
	for _, m := range got {
		line := []string{fmt.Sprintf("#%d", m.SequenceNumber)}
		if m.SessionID != nil {
			line = append(line, fmt.Sprintf("session %q", printable(*m.SessionID, 60)))
		}
		for _, part := range []struct{ name, text string }{{"id", m.MessageID}, {"subject", m.Subject}} {
			if part.text != "" {
				line = append(line, part.name+" "+printable(part.text, 60))
			}
		}
		line = append(line, "expires in "+until(time.Now(), m.ExpiresAt))
		if c.Then == "nothing" {
			line = append(line, "lock token "+m.LockToken)
		}
		if _, err := fmt.Fprintf(s.out, "%s\n%s%s\n", strings.Join(line, "  "), properties(m.Properties), shown(m, 1<<20)); err != nil {
			return err
		}
	}
	return nil
}

// properties is a line for each.
func properties(all value.Properties) string {
	var lines strings.Builder
	for _, p := range all {
		lines.WriteString("  " + printable(p.Name, 60) + " = " + printable(p.Value.String(), 200) + "\n")
	}
	return lines.String()
}
