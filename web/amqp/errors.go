package amqp

import (
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
	"mayfly/web/sas"
)

// Conditions that this package tells from others.
const (
	condBusy          wire.Condition = "com.microsoft:server-busy"
	condTimeout       wire.Condition = "com.microsoft:timeout"
	condSessionLocked wire.Condition = "com.microsoft:session-cannot-be-locked"
)

func asError(err error) *wire.Error {
	e, _ := told(err)
	return e
}

// rejected is how a client hears that its message, or its settlement, was not
// taken.
func rejected(err error) wire.State { return wire.Rejected{Error: asError(err)} }

// track has the error in what is about to be written, if there is one, end with
// what support asks for (ERR-5).
func (c *conn) track(p wire.Performative) {
	switch p := p.(type) {
	case *wire.Disposition:
		if r, ok := p.State.(wire.Rejected); ok && r.Error != nil {
			p.State = wire.Rejected{Error: c.tracked(r.Error)}
		}
	case *wire.Detach:
		p.Error = c.tracked(p.Error)
	case *wire.End:
		p.Error = c.tracked(p.Error)
	}
}

// tracked is e with an id, by which the log knows it; nil for nil.
func (c *conn) tracked(e *wire.Error) *wire.Error {
	if e == nil {
		return nil
	}
	out := *e
	out.Description = c.tracking(e.Condition, e.Description)
	return &out
}

func (c *conn) tracking(cond wire.Condition, text string) string {
	var r [16]byte
	_, _ = rand.Read(r[:]) // it never fails
	id := fmt.Sprintf("%x-%x-%x-%x-%x_G0", r[:4], r[4:6], r[6:8], r[8:10], r[10:])
	c.log.Debug("an AMQP client was told of an error", "container", c.peer.container, "tracking_id", id, "condition", string(cond), "description", text)
	return strings.TrimSpace(fmt.Sprintf("%s TrackingId:%s, SystemTracker:%s, Timestamp:%s", text, id, container, time.Now().UTC().Format("2006-01-02T15:04:05")))
}

// told is what a client is told of an error, and its status.
func told(err error) (*wire.Error, int32) {
	if sas.Refused(err) {
		return &wire.Error{Condition: wire.CondUnauthorizedAccess, Description: err.Error()}, 401
	}
	return carry.Told(err)
}
