package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"mayfly/engine"
	"mayfly/web/api"
)

// accept takes the session that is wanted; nil if the next one is and there is
// none in time (SES-3).
func (c *receiveCommand) accept(ctx context.Context, wait time.Duration) (*api.Hold, error) {
	in := api.Accept{Session: c.Session}
	if c.NextSession {
		in.Wait = c.Wait
	}
	hold := &api.Hold{}
	_, err := c.ask(ctx, http.MethodPost, path("accept", c.Entity), in, hold, wait)
	if p, ok := errors.AsType[*api.Problem](err); ok && c.NextSession && p.Detail == engine.NoSessionText {
		return nil, nil //nolint:nilnil // there is no session, and nothing is wrong
	}
	if err != nil {
		return nil, err
	}
	return hold, nil
}

// receiveHeld receives from a session. It keeps the session while it waits,
// since that may be for longer than a lock lasts.
func (c *receiveCommand) receiveHeld(ctx context.Context, hold api.Hold, wait time.Duration, got *api.Messages) ([]byte, error) {
	until, end := hold.LockedUntil, time.Now().Add(wait)
	for {
		// Half of the lock, so that there is time to renew it.
		now := max(0, min(time.Until(end), max(time.Until(until)/2, time.Second)))
		in := api.Receive{Max: &c.Max, Wait: now.String(), SequenceNumbers: c.Number, Hold: hold.Hold}
		raw, err := c.ask(ctx, http.MethodPost, path("receive", c.Entity), in, got, now)
		if err != nil || len(got.Messages) > 0 || !time.Now().Before(end) {
			return raw, err
		}
		var renewed api.Renewed
		if _, err := c.ask(ctx, http.MethodPost, "/api/v1/renew", api.Renew{Hold: hold.Hold}, &renewed, 0); err != nil {
			return nil, err
		}
		until = renewed.LockedUntil
	}
}

// receiveSession takes messages of a session, and gives the session back when
// they are settled, or at once if something goes wrong. If nothing is to be done
// with them it stays taken, since its lock is theirs.
func (c *receiveCommand) receiveSession(ctx context.Context, s streams, wait time.Duration) (err error) {
	hold, err := c.accept(ctx, wait)
	if err != nil {
		return err
	}
	if hold == nil && c.JSON {
		return c.deal(ctx, s, []byte(`{"messages":[]}`+"\n"), nil)
	}
	if hold == nil && c.FailEmpty {
		return errEmpty
	}
	if hold == nil {
		_, err := fmt.Fprintln(s.out, "There is no session that has messages and is not locked.")
		return err
	}
	keep := false
	defer func() {
		if !keep {
			err = errors.Join(err, c.giveBack(ctx, *hold))
		}
	}()
	if c.NextSession {
		wait = 0 // it has messages
	}
	var got api.Messages
	raw, err := c.receiveHeld(ctx, *hold, wait, &got)
	if err != nil {
		return err
	}
	if err := c.deal(ctx, s, raw, got.Messages); err != nil {
		return err
	}
	if c.Then == "nothing" && len(got.Messages) > 0 {
		keep = true
		_, err = fmt.Fprintf(s.err, "session %q stays taken until its lock runs out; its hold is %s\n", hold.Session, hold.Hold)
	}
	return err
}

// giveBack frees a session, also when the program is told to stop. One that is
// over is free already.
func (c *receiveCommand) giveBack(ctx context.Context, hold api.Hold) error {
	_, err := c.ask(context.WithoutCancel(ctx), http.MethodDelete, path("accept", c.Entity)+"?hold="+url.QueryEscape(hold.Hold), nil, nil, 0)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusGone {
		return nil
	}
	if err != nil {
		return fmt.Errorf("session %q was not given back: %w", hold.Session, err)
	}
	return nil
}
