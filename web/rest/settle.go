package rest

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// settle completes or unlocks a delivery.
func (d *handler) settle(c echo.Context, t address, how engine.Outcome) error {
	r := c.Request()
	if err := drain(r); err != nil {
		return err
	}
	token, err := d.parseLock(r.Context(), t)
	if err != nil {
		return err
	}
	errs, err := d.broker.Settle(r.Context(), engine.Settlement{Token: token, Outcome: how, Path: t.path, Client: client(r)})
	if err == nil {
		err = errs[0]
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}

// renew renews a lock and answers with the time at which it now ends.
func (d *handler) renew(c echo.Context, t address) error {
	r := c.Request()
	if err := drain(r); err != nil {
		return err
	}
	token, err := d.parseLock(r.Context(), t)
	if err != nil {
		return err
	}
	until, err := d.broker.RenewLock(r.Context(), token, t.path, client(r))
	if err != nil {
		return err
	}
	setBrokerProperties(c.Response().Header(), asciiJSON(map[string]string{"LockedUntilUtc": httpTime(until)}))
	return c.NoContent(http.StatusOK)
}

// parseLock parses the token of an address and checks that it belongs to the message in the
// address. The engine checks whether the lock is still held.
func (d *handler) parseLock(ctx context.Context, t address) (engine.LockToken, error) {
	token, err := engine.ParseLockToken(t.token)
	if err != nil {
		return token, err
	}
	var row engine.Row
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		if _, err := r.State(t.path); err != nil { // a missing entity is a different error from a missing lock
			return err
		}
		row, err = r.Message(token.Key())
		return err
	})
	if err != nil && !errors.Is(err, engine.ErrMessageNotFound) {
		return token, err
	}
	if err != nil || t.id != strconv.FormatInt(int64(row.Message.Seq), 10) && t.id != row.Content.MessageID() {
		return token, engine.Refuse(engine.ErrLockLost, "%s", engine.LockLostText)
	}
	return token, nil
}
