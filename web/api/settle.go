package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/web/identity"
)

func settlingRoutes() []route {
	return []route{
		{
			method: "POST", path: "/settle", id: "settleMessage", needs: identity.Operator, group: groupMessages, summary: "End a delivery by its lock",
			sends: `{"lockToken":"00000100-0000-0004-313a-c2f254f78bd3","outcome":"dead-letter","reason":"unpaid"}`,
			takes: Settle{}, fails: []string{"MessageLockLost", "MessagingEntityNotFound", "InvalidOperation", "QuotaExceeded", "SessionLockLost"}, serve: (*door).settle,
		},
		{
			method: "POST", path: "/renew", id: "renewLock", needs: identity.Operator, group: groupMessages, summary: "Start the lock of a message or a session anew",
			sends: `{"lockToken":"00000100-0000-0004-313a-c2f254f78bd3"}`,
			takes: Renew{}, gives: Renewed{}, fails: []string{"MessageLockLost", "SessionLockLost", "InvalidOperation"}, serve: (*door).renew,
		},
	}
}

// settle ends a delivery by its token.
func (d *door) settle(c echo.Context) error {
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
		return argument("Only dead-letter has a 'reason' and a 'description'.")
	}
	if (outcome == engine.Complete || outcome == engine.Release) && len(in.Properties) > 0 {
		return argument("Properties are changed by abandon, defer and dead-letter only.")
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
	return 0, argument("The outcome is complete, abandon, defer, dead-letter or release, not '%s'.", cut(text))
}

// read takes a small body.
func (d *door) read(c echo.Context, v any) error {
	raw, err := readBody(c.Request(), smallBody)
	if err != nil {
		return err
	}
	return decode(raw, v)
}

// renew starts a lock anew by its token.
func (d *door) renew(c echo.Context) error {
	var in Renew
	if err := d.read(c, &in); err != nil {
		return err
	}
	r := c.Request()
	if in.Hold != "" {
		return d.renewSession(c, in)
	}
	token, err := engine.ParseLockToken(in.LockToken)
	if err != nil {
		return err
	}
	until, err := d.broker.Renew(r.Context(), token, "", client(r))
	if err != nil {
		return err
	}
	return reply(c, http.StatusOK, Renewed{LockedUntil: until.Time()})
}
