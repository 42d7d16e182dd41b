package client

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeWatch() cli.Command {
	return cli.Command{
		Name: "watch", Summary: "Watch counts, expirations and events live.", Flags: &watchCommand{}, ExitCodes: exitCodes(),
		Detail: "watch runs until you interrupt it. On a terminal it shows a live table that fits the window, in colour unless NO_COLOR is set. Otherwise, or with --plain, it prints a line for each event and for each change of an entity's counts. If the server is unavailable, watch waits for it.",
		Examples: []cli.Example{
			{Line: "mayfly watch", Text: "Watch all entities."},
			{Line: "mayfly watch orders", Text: "Watch one queue."},
			{Line: "mayfly watch prices --json | jq -r 'select(.kind == \"expired\") | .messageId'", Text: "Print the MessageId of each message that expires in a subscription of a topic."},
		},
	}
}

// watchCommand watches a namespace or an entity.
type watchCommand struct {
	client
	Entity string `arg:"" optional:"" help:"Queue, topic or topic/Subscriptions/name. Default: everything."`
	Plain  bool   `help:"Print lines instead of the live table on a terminal too."`

	zone *time.Location // of displayed times; nil means local time
}

const (
	watchPollInterval   = time.Second            // between polls
	resizeCheckInterval = 250 * time.Millisecond // between checks of the terminal's size
)

// Run watches until ctx ends.
func (c *watchCommand) Run(ctx context.Context, s cli.Streams) (err error) {
	if c.zone == nil {
		c.zone = time.Local
	}
	if c.Plain || c.JSON || s.Terminal.Size == nil {
		return c.printLines(ctx, s)
	}
	seen, err := c.poll(ctx, pollResult{})
	if err != nil {
		return err
	}
	if err := s.WriteRaw([]byte(enterScreen)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.WriteRaw([]byte(leaveScreen))) }()
	tick := time.NewTicker(resizeCheckInterval)
	defer tick.Stop()
	shown := ""
	for next := time.Now().Add(watchPollInterval); ; {
		columns, lines := s.Terminal.Size()
		picture := watchFrame{pollResult: seen, zone: c.zone, colours: s.Terminal.Colours, columns: columns, lines: lines}.screen()
		if picture != shown { // the terminal would flicker if the same picture was written again
			if err := s.WriteRaw([]byte(picture)); err != nil {
				return err
			}
			shown = picture
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		if time.Now().Before(next) {
			continue
		}
		if seen, err = c.poll(ctx, seen); err != nil {
			return err
		}
		next = time.Now().Add(watchPollInterval)
	}
}

// pollResult is the data that a poll got from the server.
type pollResult struct {
	server    string // the server's address
	now       time.Time
	entities  []api.Entity
	horizon   api.Expirations
	events    []event // newest first
	noHistory bool    // the store keeps no history
	pollError error   // why the latest poll failed; the other fields are from the last one that succeeded
}

// poll fetches the present state from the server. If an earlier poll, whose result is before, has
// succeeded and the server does not respond now, poll returns before with the reason in pollError.
func (c *watchCommand) poll(ctx context.Context, before pollResult) (pollResult, error) {
	now, err := c.fetch(ctx)
	if err == nil {
		return now, nil
	}
	if ctx.Err() != nil {
		return now, context.Cause(ctx)
	}
	p, refused := errors.AsType[*api.Problem](err)
	_, nobody := errors.AsType[*cli.UnreachableError](err)
	if before.server == "" || !nobody && (!refused || p.Status != http.StatusServiceUnavailable) {
		return now, err
	}
	before.pollError = err
	return before, nil
}

func (c *watchCommand) fetch(ctx context.Context) (w pollResult, err error) {
	if w.server, err = c.serverURL(); err != nil {
		return w, err
	}
	of := ""
	if c.Entity != "" {
		of = "&entity=" + queryEscape(c.Entity)
	}
	if _, err := c.request(ctx, http.MethodGet, "/api/v1/expirations?limit=20"+of, nil, &w.horizon, 0); err != nil {
		return w, err
	}
	w.now = w.horizon.Now
	var all api.Entities
	if _, err := c.request(ctx, http.MethodGet, "/api/v1/entities", nil, &all, 0); err != nil {
		return w, err
	}
	w.entities = slices.DeleteFunc(all.Entities, func(e api.Entity) bool { return !c.watches(e.Path) })
	w.events, w.noHistory, err = c.fetchEvents(ctx)
	return w, err
}
