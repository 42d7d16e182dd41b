package client

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describePurge() cli.Command {
	return cli.Command{
		Name: "purge", Summary: "Delete messages by state and filter. Asks first.", Flags: &purgeCommand{}, ExitCodes: exitCodes(),
		Examples: []cli.Example{
			{Line: "mayfly purge orders --state active,deferred", Text: "Permanently delete the active and deferred messages, after you type their number."},
			{Line: `mayfly purge orders --filter "price > 10 AND sys.Label = 'x'" --yes`, Text: "Permanently delete the active messages that match, without confirmation."},
		},
	}
}

// purgeCommand deletes messages by state and filter.
type purgeCommand struct {
	client
	Entity string   `arg:"" help:"Queue, topic, topic/Subscriptions/name, or one with /$DeadLetterQueue."`
	State  []string `enum:"active,deferred,scheduled,dead-letter" default:"active" help:"State of the messages to delete: active, deferred, scheduled, dead-letter; may be repeated. Default: ${default}."`
	Filter *string  `placeholder:"SQL" help:"Only messages that match this SQL expression, as in a rule: \"price > 10 AND sys.Label = 'x'\"."`
	Yes    bool     `short:"y" help:"Do not ask for confirmation."`
}

// deadLetterQueue is the suffix of a dead-letter queue's path; case does not matter.
const deadLetterQueue = "/$DeadLetterQueue"

// Run counts the messages, asks for confirmation and deletes them. If there are many more by
// then, the server refuses.
func (c *purgeCommand) Run(ctx context.Context, s cli.Streams) error {
	in := api.Purge{Filter: c.Filter, States: slices.Compact(slices.Sorted(slices.Values(c.State)))}
	var e api.Entity
	entity, dead := c.Entity, false
	if n := len(entity) - len(deadLetterQueue); n > 0 && strings.EqualFold(entity[n:], deadLetterQueue) {
		entity, dead = entity[:n], true
	}
	if _, err := c.request(ctx, http.MethodGet, APIPath("entities", entity), nil, &e, 0); err != nil {
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
	goes := cli.MessageCount(count)
	if c.Filter != nil {
		seen, err := c.countMatches(ctx, in)
		if err != nil {
			return err
		}
		if count, goes = seen.Matching+seen.Unexamined, cli.MessageCount(seen.Matching); seen.Unexamined > 0 {
			goes = fmt.Sprintf("at least %d and at most %s", seen.Matching, cli.MessageCount(count))
		}
		told += " where " + cli.Printable(*c.Filter, maxQuotedChars)
	}
	if !c.Yes && count > 0 {
		if err := confirm(ctx, s, strconv.FormatInt(count, 10), fmt.Sprintf("permanently deletes %s (%s) from %s", goes, told, c.Entity)); err != nil {
			return err
		}
	}
	in.ExpectedCount = &count
	var done api.Purged
	raw, err := c.request(ctx, http.MethodPost, APIPath("purge", c.Entity), in, &done, 0)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	stayed := ""
	if done.Skipped > 0 {
		stayed = fmt.Sprintf(" %s locked and stayed.", cli.MessageCount(done.Skipped))
	}
	if done.Failed > 0 {
		stayed += fmt.Sprintf(" The filter could not be evaluated for %s, which stayed.", cli.MessageCount(done.Failed))
	}
	if done.Removed == 0 {
		_, err = fmt.Fprintf(s.Out, "There is nothing to delete from %s (%s).%s\n", c.Entity, told, stayed)
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Deleted %s from %s.%s\n", cli.MessageCount(done.Removed), c.Entity, stayed)
	return err
}

// maxQuotedChars is how much of a filter the confirmation shows, in bytes.
const maxQuotedChars = 120

// countMatches counts the messages that match the filter.
func (c *purgeCommand) countMatches(ctx context.Context, in api.Purge) (seen api.PurgePreview, err error) {
	in.DryRun = true
	_, err = c.request(ctx, http.MethodPost, APIPath("purge", c.Entity), in, &seen, 0)
	return seen, err
}

// errNotConfirmed is returned when the user did not confirm.
var errNotConfirmed = errors.New("not confirmed, so nothing was changed; --yes skips the confirmation")

// confirm asks the user to type a word before something is deleted: the number of messages, an
// upper bound of it, or a name. It returns errNotConfirmed if the user types something else.
func confirm(ctx context.Context, s cli.Streams, word, what string) error {
	if _, err := fmt.Fprintf(s.Err, "This %s.\nType %s to confirm: ", what, word); err != nil {
		return err
	}
	line, err := cli.ReadOrCancel(ctx, func() (string, error) {
		return bufio.NewReader(io.LimitReader(s.In, maxTypedBytes)).ReadString('\n')
	})
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("read the answer: %w", err)
	case strings.TrimSpace(line) != word:
		return errNotConfirmed
	default:
		return nil
	}
}

// maxTypedBytes is the limit of an answer in bytes: longer than any path.
const maxTypedBytes = 1 << 12
