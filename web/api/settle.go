package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/web/auth"
)

func settlingRoutes() []route {
	return []route{
		{
			method: "POST", path: "/settle", id: "settleMessage", role: auth.Operator, group: groupMessages, summary: "Settle a locked message",
			exampleBody: `{"lockToken":"00000100-0000-0004-313a-c2f254f78bd3","outcome":"dead-letter","reason":"unpaid"}`,
			request:     Settle{}, problems: []string{"MessageLockLost", "MessagingEntityNotFound", "InvalidOperation", "QuotaExceeded", "SessionLockLost"}, handle: (*handler).settle,
		},
		{
			method: "POST", path: "/renew-lock", id: "renewLock", role: auth.Operator, group: groupMessages, summary: "Renew the lock of a message or session",
			exampleBody: `{"lockToken":"00000100-0000-0004-313a-c2f254f78bd3"}`,
			request:     Renew{}, response: Renewed{}, problems: []string{"MessageLockLost", "SessionLockLost", "InvalidOperation"}, handle: (*handler).renew,
		},
	}
}

// settle settles a delivery by its lock token.
func (d *handler) settle(c echo.Context) error {
	var in Settle
	if err := d.read(c, &in); err != nil {
		return err
	}
	token, err := engine.ParseLockToken(in.LockToken)
	if err != nil {
		return err
	}
	outcome, err := parseOutcome(in.Outcome)
	if err != nil {
		return err
	}
	if outcome != engine.DeadLetter && (in.Reason != "" || in.Description != "") {
		return engine.Refuse(engine.ErrArgument, "'reason' and 'description' require the outcome dead-letter.")
	}
	if (outcome == engine.Complete || outcome == engine.Release) && len(in.Properties) > 0 {
		return engine.Refuse(engine.ErrArgument, "'properties' requires the outcome abandon, defer or dead-letter.")
	}
	r := c.Request()
	errs, err := d.broker.Settle(r.Context(), engine.Settlement{
		Token: token, Outcome: outcome, Reason: in.Reason, Description: in.Description, Modify: in.Properties, Client: client(r),
	})
	if err == nil {
		err = errs[0]
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusNoContent)
}

func parseOutcome(text string) (engine.Outcome, error) {
	for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
		if text == o.String() {
			return o, nil
		}
	}
	return 0, engine.Refuse(engine.ErrArgument, "The outcome must be complete, abandon, defer, dead-letter or release, not '%s'.", shorten.Quote(text))
}

// read decodes the request's body, of at most smallBody bytes, into v.
func (d *handler) read(c echo.Context, v any) error {
	raw, err := readBody(c.Request(), smallBody)
	if err != nil {
		return err
	}
	return decode(raw, v)
}

// renew renews a lock by its token.
func (d *handler) renew(c echo.Context) error {
	var in Renew
	if err := d.read(c, &in); err != nil {
		return err
	}
	r := c.Request()
	if in.SessionLockToken != "" {
		return d.renewSession(c, in)
	}
	token, err := engine.ParseLockToken(in.LockToken)
	if err != nil {
		return err
	}
	until, err := d.broker.RenewLock(r.Context(), token, "", client(r))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Renewed{LockedUntil: until.Time()})
}
