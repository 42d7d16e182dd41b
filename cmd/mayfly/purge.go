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

// purgeCommand removes messages by state and filter.
type purgeCommand struct {
	client
	Entity string   `arg:"" help:"Queue, topic, topic/Subscriptions/name, or one with /$DeadLetterQueue."`
	State  []string `enum:"active,deferred,scheduled,dead-letter" default:"active" help:"What to remove: active, deferred, scheduled, dead-letter; may be repeated."`
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
		if err := confirm(s, count, fmt.Sprintf("%s (%s) from %s", goes, told, c.Entity)); err != nil {
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
var errUnconfirmed = errors.New("nothing was removed: the number was not confirmed; --yes does not ask")

// confirm has the number typed that is about to go, or may at the most.
func confirm(s streams, count int64, what string) error {
	if _, err := fmt.Fprintf(s.err, "This removes %s for good.\nType the number %d to go on: ", what, count); err != nil {
		return err
	}
	line, err := bufio.NewReader(io.LimitReader(s.in, 64)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64); err != nil || n != count {
		return errUnconfirmed
	}
	return nil
}
