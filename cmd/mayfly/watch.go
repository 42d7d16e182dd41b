package main

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"mayfly/web/api"
)

func describeWatch() description {
	return description{
		name: "watch", summary: "Watch what happens, live: numbers, what expires next, events.", command: &watchCommand{}, ends: clientEnds(),
		detail: "It goes on until it is interrupted. On a terminal it is a picture that fits its size, in colours unless NO_COLOR is set; else, or with --plain, a line for each event and for each change of an entity's numbers. A server that is away for a while is waited for.",
		examples: []example{
			{"mayfly watch", "Watches everything."},
			{"mayfly watch orders", "Watches one queue."},
			{"mayfly watch prices --json | jq -r 'select(.kind == \"expired\") | .messageId'", "Has each event of a topic and its subscriptions as a line of JSON."},
		},
	}
}

// watchCommand watches a namespace or an entity.
type watchCommand struct {
	client
	Entity string `arg:"" optional:"" help:"Queue, topic or topic/Subscriptions/name; everything if absent."`
	Plain  bool   `help:"Print lines instead of a picture, also on a terminal."`

	zone *time.Location // of the times that are shown; zero: this machine's
}

const (
	watchPause = time.Second            // from one look to the next
	watchPace  = 250 * time.Millisecond // after which a terminal's new size shows
)

// Run watches.
func (c *watchCommand) Run(ctx context.Context, s streams) (err error) {
	if c.zone == nil {
		c.zone = time.Local //nolint:gosmopolitan // people look at it
	}
	if c.Plain || c.JSON || s.terminal.size == nil {
		return c.plain(ctx, s)
	}
	seen, err := c.look(ctx, watched{})
	if err != nil {
		return err
	}
	if err := s.write([]byte(enterScreen)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.write([]byte(leaveScreen))) }()
	tick := time.NewTicker(watchPace)
	defer tick.Stop()
	shown := ""
	for next := time.Now().Add(watchPause); ; {
		columns, lines := s.terminal.size()
		picture := watchFrame{watched: seen, zone: c.zone, colours: s.terminal.colours, columns: columns, lines: lines}.screen()
		if picture != shown { // what is there already would only flicker
			if err := s.write([]byte(picture)); err != nil {
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
		if seen, err = c.look(ctx, seen); err != nil {
			return err
		}
		next = time.Now().Add(watchPause)
	}
}

// watched is what there is to be seen.
type watched struct {
	at       string // the server's address
	now      time.Time
	entities []api.Entity
	horizon  api.Horizon
	events   []event // newest first
	silent   bool    // the store keeps no history
	away     error   // why there was no answer this time; the rest is what was last seen
}

// look asks for everything once. After a first look, a server that does not
// answer is no error.
func (c *watchCommand) look(ctx context.Context, before watched) (watched, error) {
	now, err := c.lookAt(ctx)
	if err == nil {
		return now, nil
	}
	if ctx.Err() != nil {
		return now, context.Cause(ctx)
	}
	p, refused := errors.AsType[*api.Problem](err)
	_, nobody := errors.AsType[*unreachable](err)
	if before.at == "" || !nobody && (!refused || p.Status != http.StatusServiceUnavailable) {
		return now, err
	}
	before.away = err
	return before, nil
}

func (c *watchCommand) lookAt(ctx context.Context) (w watched, err error) {
	if w.at, err = c.base(); err != nil {
		return w, err
	}
	of := ""
	if c.Entity != "" {
		of = "&entity=" + escaped(c.Entity)
	}
	if _, err := c.ask(ctx, http.MethodGet, "/api/v1/horizon?count=20"+of, nil, &w.horizon, 0); err != nil {
		return w, err
	}
	w.now = w.horizon.Now
	var all api.Entities
	if _, err := c.ask(ctx, http.MethodGet, "/api/v1/entities", nil, &all, 0); err != nil {
		return w, err
	}
	w.entities = slices.DeleteFunc(all.Entities, func(e api.Entity) bool { return !c.concerns(e.Path) })
	w.events, w.silent, err = c.eventsNow(ctx)
	return w, err
}
