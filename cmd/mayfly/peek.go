package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/web/api"
)

func describePeek() description {
	return description{
		name: "peek", summary: "Look at messages without touching them.", command: &peekCommand{}, ends: clientEnds(exitEmpty),
		examples: []example{
			{"mayfly peek orders --count 50", "Lists fifty messages, oldest first."},
			{"mayfly peek 'prices/Subscriptions/dear/$DeadLetterQueue' --from 120", "Lists dead letters from a number on."},
			{"mayfly peek orders --json | jq -r .body", "Has each message as a line of JSON."},
			{"mayfly peek orders --state locked", "Says who has which message, and for how long."},
			{"mayfly peek orders --follow", "Goes on with those that come."},
		},
	}
}

// peekCommand lists messages.
type peekCommand struct {
	client
	failEmpty
	Entity string `arg:"" help:"Queue, topic/Subscriptions/name, or one of them with /$DeadLetterQueue."`
	From   int64  `default:"1" help:"Sequence number to begin with."`
	Count  int    `default:"20" help:"How many to list."`
	State  string `enum:"all,active,locked,deferred,scheduled" default:"all" help:"Which: all, active, locked, deferred or scheduled. Of locked ones alone it says who has them, since when, and how often that was renewed."`
	Follow bool   `short:"f" help:"List all there are, and then those that come, until interrupted."`
}

const (
	followPause = 500 * time.Millisecond // between looks for messages that come
	followCount = 100                    // messages of one look
)

// Run lists.
func (c *peekCommand) Run(ctx context.Context, s streams) error {
	if c.Follow {
		return c.follow(ctx, s)
	}
	got, err := c.look(ctx, c.From, c.Count)
	if err != nil {
		return err
	}
	if len(got) == 0 {
		return c.empty(s, c.JSON)
	}
	if err := c.print(s, got, true); err != nil {
		return err
	}
	return c.hint(ctx, s, got)
}

// A peeked is a message, and what the server said of it.
type peeked struct {
	api.Message
	raw json.RawMessage
}

func (c *peekCommand) look(ctx context.Context, from int64, count int) ([]peeked, error) {
	var answer struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if _, err := c.ask(ctx, http.MethodGet, c.address(from, count), nil, &answer, 0); err != nil {
		return nil, err
	}
	got := make([]peeked, len(answer.Messages))
	for i, raw := range answer.Messages {
		if got[i].raw = raw; json.Unmarshal(raw, &got[i].Message) != nil {
			return nil, fmt.Errorf("the server tells of a message in a way that cannot be read: %s", printable(string(raw), 200))
		}
	}
	return got, nil
}

func (c *peekCommand) address(from int64, count int) string {
	at := fmt.Sprintf("%s?from=%d&count=%d", path("peek", c.Entity), from, count)
	if c.State != "all" {
		at += "&state=" + c.State
	}
	return at
}

// follow lists until ctx ends. Numbers of dead letters are older than they are
// (DLQ-8): what comes there is not what comes last.
func (c *peekCommand) follow(ctx context.Context, s streams) error {
	if strings.HasSuffix(strings.ToLower(c.Entity), strings.ToLower(deadLetterQueue)) {
		return misused("--follow goes by sequence numbers, and dead letters keep the ones they had; mayfly watch shows them as they come")
	}
	if c.State != "all" {
		return misused("--follow lists what is sent, and messages come into a state whatever their number; leave --state out")
	}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for from, heading := c.From, true; ; {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pause.C:
		}
		got, err := c.look(ctx, from, followCount)
		if err != nil {
			return err
		}
		wait := followPause
		if len(got) > 0 {
			if err := c.print(s, got, heading); err != nil {
				return err
			}
			from, heading, wait = got[len(got)-1].SequenceNumber+1, false, 0
		}
		pause.Reset(wait)
	}
}

// hint says where to go on if fewer were listed than asked for and there are
// more: a server lists only so many at once.
func (c *peekCommand) hint(ctx context.Context, s streams, got []peeked) error {
	if len(got) >= c.Count {
		return nil
	}
	more, err := c.look(ctx, got[len(got)-1].SequenceNumber+1, 1)
	if err != nil || len(more) == 0 {
		return err
	}
	_, err = fmt.Fprintf(s.err, "%d shown; go on with --from %d\n", len(got), more[0].SequenceNumber)
	return err
}

func (c *peekCommand) print(s streams, got []peeked, heading bool) error {
	if c.JSON {
		for _, m := range got {
			if err := s.writeLines([]json.RawMessage{m.raw}); err != nil {
				return err
			}
		}
		return nil
	}
	if c.State == "locked" {
		return printLocks(s, got, heading)
	}
	now := time.Now()
	t := tabwriter.NewWriter(s.out, peekColumn, 0, 2, ' ', 0)
	if heading {
		fmt.Fprintln(t, "NUMBER\tSTATE\tENQUEUED\tEXPIRES IN\tBYTES\tBODY") //nolint:errcheck // Flush says it
	}
	for _, m := range got {
		state := m.State
		if m.LockedUntil != nil {
			state += ", locked"
		}
		fmt.Fprintf(t, "#%d\t%s\t%s\t%s\t%d\t%s\n", m.SequenceNumber, state, //nolint:errcheck // Flush says it
			m.EnqueuedTime.Local().Format(time.DateTime), ending(now, m.Message), m.Size, shown(m.Message, 60))
	}
	return t.Flush()
}

// printLocks says of each message who has it.
func printLocks(s streams, got []peeked, heading bool) error {
	now := time.Now()
	t := tabwriter.NewWriter(s.out, peekColumn, 0, 2, ' ', 0)
	if heading {
		fmt.Fprintln(t, "NUMBER\tLOCK LEFT\tLOCKED\tRENEWALS\tRENEWED LAST\tBY\tBODY") //nolint:errcheck // Flush says it
	}
	for _, m := range got {
		fmt.Fprintf(t, "#%d\t%s\t%s\t%d\t%s\t%s\t%s\n", m.SequenceNumber, until(now, m.LockedUntil), gone(now, m.LockedSince), m.LockRenewals, //nolint:errcheck // Flush says it
			gone(now, m.LockRenewedAt), cmp.Or(printable(m.LockedBy, 40), "not known"), shown(m.Message, 40))
	}
	return t.Flush()
}

// gone is how long ago something was; a dash for nothing.
func gone(now time.Time, at *time.Time) string {
	if at == nil {
		return "-"
	}
	past := now.Add(max(now.Sub(*at), time.Second)) // clocks may differ
	return until(now, &past) + " ago"
}

// peekColumn is how wide columns are at least, so that those of one look stand
// below those of the one before.
const peekColumn = 8

// ending is how long a message has, or how long it waits to be due: its time
// to live starts then.
func ending(now time.Time, m api.Message) string {
	if m.State == "scheduled" {
		if due, err := time.Parse(time.RFC3339Nano, m.ScheduledEnqueueTime); err == nil && due.After(now) {
			return "due in " + until(now, &due)
		}
		return "due now"
	}
	return until(now, m.ExpiresAt)
}
