package client

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describePeek() cli.Command {
	return cli.Command{
		Name: "peek", Summary: "Peek at messages without locking them.", Flags: &peekCommand{}, ExitCodes: exitCodes(cli.ExitEmpty),
		Examples: []cli.Example{
			{Line: "mayfly peek orders --limit 50", Text: "List up to 50 messages, oldest first."},
			{Line: "mayfly peek 'prices/Subscriptions/dear/$DeadLetterQueue' --from 120", Text: "List dead letters, starting at sequence number 120."},
			{Line: "mayfly peek orders --json | jq -r .body", Text: "Print the body of each message."},
			{Line: "mayfly peek orders --state locked", Text: "Show who holds each locked message, and for how long."},
			{Line: "mayfly peek orders --follow", Text: "List messages, then print new ones as they arrive."},
		},
	}
}

// peekCommand lists messages without locking them.
type peekCommand struct {
	client
	failEmptyFlag
	Entity string `arg:"" help:"Queue, topic/Subscriptions/name, or one of them with /$DeadLetterQueue."`
	From   int64  `default:"1" help:"Sequence number to begin with."`
	Limit  int    `default:"20" help:"Maximum number of messages to list."`
	State  string `enum:"all,active,locked,deferred,scheduled" default:"all" help:"State of the messages: all, active, locked, deferred or scheduled. locked also shows the holder, the start of the lock and its renewals."`
	Follow bool   `short:"f" help:"List all messages and then new ones, until interrupted."`
}

const (
	followPollInterval = 500 * time.Millisecond // between polls
	followBatch        = 100                    // messages per poll
)

// Run lists messages.
func (c *peekCommand) Run(ctx context.Context, s cli.Streams) error {
	if c.Follow {
		return c.follow(ctx, s)
	}
	got, err := c.fetchMessages(ctx, c.From, c.Limit)
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return c.reportEmpty(s, c.JSON)
	}
	if err := c.printMessages(s, got, true); err != nil {
		return err
	}
	return c.printMoreHint(ctx, s, got)
}

// A peekedMessage is a message and its JSON as the server sent it.
type peekedMessage struct {
	api.Message
	raw json.RawMessage
}

func (c *peekCommand) fetchMessages(ctx context.Context, from int64, count int) ([]peekedMessage, error) {
	var answer struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if _, err := c.request(ctx, http.MethodGet, c.requestPath(from, count), nil, &answer, 0); err != nil {
		return nil, err
	}
	got := make([]peekedMessage, len(answer.Messages))
	for i, raw := range answer.Messages {
		if got[i].raw = raw; json.Unmarshal(raw, &got[i].Message) != nil {
			return nil, fmt.Errorf("the server returned a message that cannot be parsed: %s", cli.Printable(string(raw), 200))
		}
	}
	return got, nil
}

func (c *peekCommand) requestPath(from int64, count int) string {
	at := fmt.Sprintf("%s?from=%d&limit=%d", APIPath("peek", c.Entity), from, count)
	if c.State != "all" {
		at += "&state=" + c.State
	}
	return at
}

// follow lists messages until ctx ends. Dead letters keep their old sequence numbers (DLQ-8),
// so new ones do not come last.
func (c *peekCommand) follow(ctx context.Context, s cli.Streams) error {
	if strings.HasSuffix(strings.ToLower(c.Entity), strings.ToLower(deadLetterQueue)) {
		return cli.UsageErrorf("--follow cannot follow dead letters, because they keep their old sequence numbers; use mayfly watch")
	}
	if c.State != "all" {
		return cli.UsageErrorf("--follow cannot be combined with --state, because it lists messages in the order in which they are sent")
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for from, heading := c.From, true; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pause.C:
		}
		got, err := c.fetchMessages(ctx, from, followBatch)
		if err != nil {
			return err
		}
		wait := followPollInterval
		if len(got) > 0 {
			if err := c.printMessages(s, got, heading); err != nil {
				return err
			}
			from, heading, wait = got[len(got)-1].SequenceNumber+1, false, 0
		}
		pause.Reset(wait)
	}
}

// printMoreHint prints how to continue if fewer messages were listed than requested although there
// are more, because a server limits the number per request.
func (c *peekCommand) printMoreHint(ctx context.Context, s cli.Streams, got []peekedMessage) error {
	if len(got) >= c.Limit {
		return nil
	}
	more, err := c.fetchMessages(ctx, got[len(got)-1].SequenceNumber+1, 1)
	if err != nil || len(more) == 0 {
		return err
	}
	_, err = fmt.Fprintf(s.Err, "%d shown; continue with --from %d\n", len(got), more[0].SequenceNumber)
	return err
}

func (c *peekCommand) printMessages(s cli.Streams, got []peekedMessage, heading bool) error {
	if c.JSON {
		for _, m := range got {
			if err := s.WriteLines([]json.RawMessage{m.raw}); err != nil {
				return err
			}
		}
		return nil
	}
	if c.State == "locked" {
		return printLocks(s, got, heading)
	}
	now := time.Now()
	t := tabwriter.NewWriter(s.Out, peekColumnWidth, 0, 2, ' ', 0)
	if heading {
		fmt.Fprintln(t, "NUMBER\tSTATE\tENQUEUED\tEXPIRES IN\tBYTES\tBODY") //nolint:errcheck // Flush returns the error
	}
	for _, m := range got {
		state := m.State
		if m.LockedUntil != nil {
			state += ", locked"
		}
		fmt.Fprintf(t, "#%d\t%s\t%s\t%s\t%d\t%s\n", m.SequenceNumber, state, //nolint:errcheck // Flush returns the error
			m.EnqueuedTime.Local().Format(time.DateTime), describeExpiry(now, m.Message), m.Size, bodyText(m.Message, 60))
	}
	return t.Flush()
}

// printLocks prints each message with its lock.
func printLocks(s cli.Streams, got []peekedMessage, heading bool) error {
	now := time.Now()
	t := tabwriter.NewWriter(s.Out, peekColumnWidth, 0, 2, ' ', 0)
	if heading {
		fmt.Fprintln(t, "NUMBER\tLOCK LEFT\tLOCKED\tRENEWALS\tRENEWED LAST\tBY\tBODY") //nolint:errcheck // Flush returns the error
	}
	for _, m := range got {
		fmt.Fprintf(t, "#%d\t%s\t%s\t%d\t%s\t%s\t%s\n", m.SequenceNumber, timeUntil(now, m.LockedUntil), timeSince(now, m.LockedSince), m.LockRenewals, //nolint:errcheck // Flush returns the error
			timeSince(now, m.LockRenewedAt), cmp.Or(cli.Printable(m.LockedBy, 40), "not known"), bodyText(m.Message, 40))
	}
	return t.Flush()
}

// timeSince formats how long ago a time was. It returns a dash if at is nil.
func timeSince(now time.Time, at *time.Time) string {
	if at == nil {
		return "-"
	}
	past := now.Add(max(now.Sub(*at), time.Second)) // clocks may differ
	return timeUntil(now, &past) + " ago"
}

// peekColumnWidth is the minimum width of columns in characters. It aligns the columns of
// successive polls with --follow.
const peekColumnWidth = 8

// describeExpiry describes when a message expires. For a scheduled message, whose time to live has
// not started, it describes when the message is due.
func describeExpiry(now time.Time, m api.Message) string {
	if m.State == "scheduled" {
		if due, err := time.Parse(time.RFC3339Nano, m.ScheduledEnqueueTime); err == nil && due.After(now) {
			return "due in " + timeUntil(now, &due)
		}
		return "due now"
	}
	return timeUntil(now, m.ExpiresAt)
}
