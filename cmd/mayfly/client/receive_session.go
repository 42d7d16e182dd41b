package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/web/api"
)

// acceptSession locks the session of --session or the next one; it returns nil if no next session
// became available in time (SES-3).
func (c *receiveCommand) acceptSession(ctx context.Context, wait time.Duration) (*api.HeldSession, error) {
	in := api.AcceptSession{Session: c.Session}
	if c.NextSession {
		in.Wait = c.Wait
	}
	session := &api.HeldSession{}
	_, err := c.request(ctx, http.MethodPost, APIPath("accept-session", c.Entity), in, session, wait)
	if p, ok := errors.AsType[*api.Problem](err); ok && c.NextSession && p.Detail == engine.NoSessionText {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return session, nil
}

// receiveInSession receives from a session. It renews the session's lock while it waits, because
// the wait may be longer than the lock.
func (c *receiveCommand) receiveInSession(ctx context.Context, session api.HeldSession, wait time.Duration, got *api.Messages) ([]byte, error) {
	until, end := session.LockedUntil, time.Now().Add(wait)
	for {
		// Half of the lock's time, which leaves time to renew it.
		now := max(0, min(time.Until(end), max(time.Until(until)/2, time.Second)))
		in := api.Receive{Limit: &c.Limit, Wait: now.String(), SequenceNumbers: c.SequenceNumber, SessionLockToken: session.SessionLockToken}
		raw, err := c.request(ctx, http.MethodPost, APIPath("receive", c.Entity), in, got, now)
		if err != nil || len(got.Messages) > 0 || !time.Now().Before(end) {
			return raw, err
		}
		var renewed api.Renewed
		if _, err := c.request(ctx, http.MethodPost, "/api/v1/renew-lock", api.Renew{SessionLockToken: session.SessionLockToken}, &renewed, 0); err != nil {
			return nil, err
		}
		until = renewed.LockedUntil
	}
}

// receiveSession receives messages of a session, and releases the session once they are
// settled, or at once after an error. With --then nothing it keeps the session, because the
// messages share its lock.
func (c *receiveCommand) receiveSession(ctx context.Context, s cli.Streams, wait time.Duration) (err error) {
	session, err := c.acceptSession(ctx, wait)
	if err != nil {
		return err
	}
	if session == nil && c.JSON {
		return c.printAndSettle(ctx, s, []byte(`{"messages":[]}`+"\n"), nil)
	}
	if session == nil && c.FailEmpty {
		return cli.ErrEmpty
	}
	if session == nil {
		_, err := fmt.Fprintln(s.Out, "There is no session that has messages and is not locked.")
		return err
	}
	keep := false
	defer func() {
		if !keep {
			err = errors.Join(err, c.releaseSession(ctx, *session))
		}
	}()
	if c.NextSession {
		wait = 0 // the session has messages
	}
	var got api.Messages
	raw, err := c.receiveInSession(ctx, *session, wait, &got)
	if err != nil {
		return err
	}
	if err := c.printAndSettle(ctx, s, raw, got.Messages); err != nil {
		return err
	}
	if c.Then == "nothing" && len(got.Messages) > 0 {
		keep = true
		_, err = fmt.Fprintf(s.Err, "session %q stays locked until its lock expires; its lock token is %s\n", session.Session, session.SessionLockToken)
	}
	return err
}

// releaseSession releases a session, even after ctx has ended. A session whose lock is lost is
// released already.
func (c *receiveCommand) releaseSession(ctx context.Context, session api.HeldSession) error {
	_, err := c.request(context.WithoutCancel(ctx), http.MethodDelete, APIPath("accept-session", c.Entity)+"?sessionLockToken="+url.QueryEscape(session.SessionLockToken), nil, nil, 0)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusGone {
		return nil
	}
	if err != nil {
		return fmt.Errorf("session %q was not released: %w", session.Session, err)
	}
	return nil
}
