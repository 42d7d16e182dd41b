package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	"mayfly/web/api"
)

// peekCommand lists messages.
type peekCommand struct {
	client
	Entity string `arg:"" help:"Queue, topic/Subscriptions/name, or one of them with /$DeadLetterQueue."`
	From   int64  `default:"1" help:"Sequence number to begin with."`
	Count  int    `default:"20" help:"How many to list."`
}

// Run lists.
func (c *peekCommand) Run(ctx context.Context, s streams) error {
	var got api.Messages
	raw, err := c.ask(ctx, http.MethodGet, fmt.Sprintf("%s?from=%d&count=%d", path("peek", c.Entity), c.From, c.Count), nil, &got, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.write(raw)
	} else {
		err = c.print(s, got.Messages)
	}
	if err != nil {
		return err
	}
	return c.hint(ctx, s, got.Messages)
}

// hint says where to go on if fewer were listed than asked for and there are
// more: a server lists only so many at once.
func (c *peekCommand) hint(ctx context.Context, s streams, got []api.Message) error {
	if len(got) == 0 || len(got) >= c.Count {
		return nil
	}
	var more api.Messages
	from := got[len(got)-1].SequenceNumber + 1
	if _, err := c.ask(ctx, http.MethodGet, fmt.Sprintf("%s?from=%d&count=1", path("peek", c.Entity), from), nil, &more, 0); err != nil {
		return err
	}
	if len(more.Messages) == 0 {
		return nil
	}
	_, err := fmt.Fprintf(s.err, "%d shown; go on with --from %d\n", len(got), more.Messages[0].SequenceNumber)
	return err
}

func (c *peekCommand) print(s streams, got []api.Message) error {
	if len(got) == 0 {
		_, err := fmt.Fprintln(s.out, "There is no message.")
		return err
	}
	now := time.Now()
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NUMBER\tSTATE\tENQUEUED\tEXPIRES IN\tBYTES\tBODY") //nolint:errcheck // Flush says it
	for _, m := range got {
		state := m.State
		if m.LockedUntil != nil {
			state += ", locked"
		}
		fmt.Fprintf(t, "#%d\t%s\t%s\t%s\t%d\t%s\n", m.SequenceNumber, state, //nolint:errcheck // Flush says it
			m.EnqueuedTime.Local().Format(time.DateTime), ending(now, m), m.Size, shown(m, 60))
	}
	return t.Flush()
}

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

// healthcheckCommand asks whether the process answers, no more: a server that
// cannot write is not helped by a restart, nor is one that stands by.
type healthcheckCommand struct {
	client
}

// Run asks.
func (c *healthcheckCommand) Run(ctx context.Context, s streams) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if !c.JSON {
		raw, err := c.ask(ctx, http.MethodGet, "/healthz", nil, nil, 0)
		if err != nil {
			return err
		}
		return s.write(raw)
	}
	raw, err := c.ask(ctx, http.MethodGet, "/api/v1/health", nil, nil, 0)
	if p, ok := errors.AsType[*api.Problem](err); err != nil && (!ok || p.Status != http.StatusServiceUnavailable) {
		return err
	}
	return s.write(raw)
}
