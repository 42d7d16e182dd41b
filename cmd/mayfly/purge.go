package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"mayfly/web/api"
)

func describePurge() description {
	return description{
		name: "purge", summary: "Remove messages by state and filter, after asking.", command: &purgeCommand{}, ends: clientEnds(),
		examples: []example{
			{"mayfly purge orders --state active,deferred", "Counts them, has the number typed, and removes them for good."},
			{`mayfly purge orders --filter "price > 10 AND sys.Label = 'x'" --yes`, "Removes only messages of which this is true, without asking."},
		},
	}
}

// purgeCommand removes messages by state and filter.
type purgeCommand struct {
	client
	Entity string   `arg:"" help:"Queue, topic, topic/Subscriptions/name, or one with /$DeadLetterQueue."`
	State  []string `enum:"active,deferred,scheduled,dead-letter" default:"active" help:"What to remove: active, deferred, scheduled, dead-letter; may be repeated. Default: ${default}."`
	Filter *string  `placeholder:"SQL" help:"Only messages of which this is true, as in a rule: \"price > 10 AND sys.Label = 'x'\"."`
	Yes    bool     `short:"y" help:"Do not ask."`
}

// deadLetterQueue ends the path of one, in any case.
const deadLetterQueue = "/$DeadLetterQueue"

// Run counts, asks and removes. If there are many more by then, the server
// refuses.
func (c *purgeCommand) Run(ctx context.Context, s streams) error {
	in := api.Purge{Filter: c.Filter, States: slices.Compact(slices.Sorted(slices.Values(c.State)))}
	var e api.Entity
	entity, dead := c.Entity, false
	if n := len(entity) - len(deadLetterQueue); n > 0 && strings.EqualFold(entity[n:], deadLetterQueue) {
		entity, dead = entity[:n], true
	}
	if _, err := c.ask(ctx, http.MethodGet, path("entities", entity), nil, &e, 0); err != nil {
		return err
	}
	count, told := int64(0), ""
	if dead {
		in.States, count, told = nil, e.Counts.DeadLetter, "dead-letter"
	}
	for _, state := range in.States {
		count += map[string]int64{
			"active": e.Counts.Active, "deferred": e.Counts.Deferred, "scheduled": e.Counts.Scheduled, "dead-letter": e.Counts.DeadLetter,
		}[state]
	}
	if !dead {
		told = strings.Join(in.States, ", ")
	}
	goes := messages(count)
	if c.Filter != nil {
		seen, err := c.foresee(ctx, in)
		if err != nil {
			return err
		}
		if count, goes = seen.Matching+seen.Unseen, messages(seen.Matching); seen.Unseen > 0 {
			goes = fmt.Sprintf("at least %d and at most %s", seen.Matching, messages(count))
		}
		told += " where " + printable(*c.Filter, mostQuoted)
	}
	if !c.Yes && count > 0 {
		if err := confirm(ctx, s, strconv.FormatInt(count, 10), fmt.Sprintf("removes %s (%s) from %s for good", goes, told, c.Entity)); err != nil {
			return err
		}
	}
	in.Count = &count
	var done api.Purged
	raw, err := c.ask(ctx, http.MethodPost, path("purge", c.Entity), in, &done, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	stayed := ""
	if done.Skipped > 0 {
		stayed = fmt.Sprintf(" %s locked and stayed.", messages(done.Skipped))
	}
	if done.Failed > 0 {
		stayed += fmt.Sprintf(" The filter could not be evaluated for %s, which stayed.", messages(done.Failed))
	}
	if done.Removed == 0 {
		_, err = fmt.Fprintf(s.out, "There is nothing to remove from %s (%s).%s\n", c.Entity, told, stayed)
		return err
	}
	_, err = fmt.Fprintf(s.out, "Removed %s from %s.%s\n", messages(done.Removed), c.Entity, stayed)
	return err
}

// mostQuoted is how much of a filter is repeated, in bytes.
const mostQuoted = 120

// foresee counts what the filter is true of.
func (c *purgeCommand) foresee(ctx context.Context, in api.Purge) (seen api.Foreseen, err error) {
	in.DryRun = true
	_, err = c.ask(ctx, http.MethodPost, path("purge", c.Entity), in, &seen, 0)
	return seen, err
}

// errUnconfirmed is returned when somebody was asked and did not agree.
var errUnconfirmed = errors.New("nothing was done: it was not confirmed; --yes does not ask")

// confirm has a word typed by whoever agrees to what is about to happen: the
// number of messages that go, or may at the most, or the name of what does.
func confirm(ctx context.Context, s streams, word, what string) error {
	if _, err := fmt.Fprintf(s.err, "This %s.\nType %s to go on: ", what, word); err != nil {
		return err
	}
	line, err := awaited(ctx, func() (string, error) {
		return bufio.NewReader(io.LimitReader(s.in, mostTyped)).ReadString('\n')
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read the answer: %w", err)
	case strings.TrimSpace(line) != word:
		return errUnconfirmed
	default:
		return nil
	}
}

// mostTyped is how long an answer may be, in bytes: longer than any path.
const mostTyped = 1 << 12
