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

// settle ends a delivery: completes or unlocks it.
func (d *door) settle(c echo.Context, t target, how engine.Outcome) error {
	r := c.Request()
	if err := drain(r); err != nil {
		return err
	}
	token, err := d.lock(r.Context(), t)
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

// renew starts a lock anew and tells when it ends.
func (d *door) renew(c echo.Context, t target) error {
	r := c.Request()
	if err := drain(r); err != nil {
		return err
	}
	token, err := d.lock(r.Context(), t)
	if err != nil {
		return err
	}
	until, err := d.broker.Renew(r.Context(), token, t.path, client(r))
	if err != nil {
		return err
	}
	setBrokerProperties(c.Response().Header(), asciiJSON(map[string]string{"LockedUntilUtc": httpTime(until)}))
	return c.NoContent(http.StatusOK)
}

// lock reads the token of an address and sees that it belongs to the message
// the address names. Whether the lock still stands is the engine's to say.
func (d *door) lock(ctx context.Context, t target) (engine.LockToken, error) {
	token, err := engine.ParseLockToken(t.token)
	if err != nil {
		return token, err
	}
	var row engine.Row
	err = d.broker.Read(ctx, func(r broker.Reader) error {
		if _, err := r.State(t.path); err != nil { // a missing entity is another error than a missing lock
			return err
		}
		row, err = r.Message(token.Key())
		return err
	})
	if err != nil && !errors.Is(err, engine.ErrMessageNotFound) {
		return token, err
	}
	if err != nil || t.id != strconv.FormatInt(int64(row.Message.Seq), 10) && t.id != row.Content.MessageID() {
		return token, &engine.Refusal{Kind: engine.ErrLockLost, Text: engine.LockLostText}
	}
	return token, nil
}
