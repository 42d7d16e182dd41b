package enginetest

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"mayfly/engine"
)

// Restart loads the records of a store, as a new broker process does. If AtRest, the scenario
// continues as if nothing had happened.
func (x *Engine) Restart(records iter.Seq2[engine.Record, error], epoch uint64) error {
	x.begin(epoch)
	for r, err := range records {
		if err != nil {
			return err
		}
		if err := x.ns.Restore(r); err != nil {
			return err
		}
	}
	x.ns.Restored(x.now)
	return x.ns.Check()
}

// AtRest reports whether a restart would have no visible effect: no receiver is attached and no
// transaction is open, because these would not survive, and no entity has AutoDeleteOnIdle,
// because it would be deleted some seconds later (IDLE-17).
func (x *Engine) AtRest() bool {
	return len(x.open)+len(x.transactions) == 0 && !slices.ContainsFunc(x.ns.States(0), func(s engine.EntityState) bool { return s.Config.AutoDeleteOnIdle != 0 })
}

// Now returns the scenario's time.
func (x *Engine) Now() engine.Instant { return x.now }

// commit numbers events as a log does and passes the batch to Commit.
func (x *Engine) commit(fx engine.Effects) {
	for i := range fx.Events {
		x.eventCount++
		fx.Events[i].N = x.eventCount
		if fx.Events[i].Audit {
			fx.Batch.Audit = append(fx.Batch.Audit, fx.Events[i])
		}
	}
	if x.Commit != nil && !fx.Batch.Empty() {
		x.broken = errors.Join(x.broken, x.Commit(fx.Batch))
	}
}

// readBody reads the body of a delivery, as a protocol does.
func (x *Engine) readBody(d engine.Delivery) {
	body := x.bodies[d.Message.Content]
	if x.Read != nil && d.Body == nil && body != "" {
		read, err := x.Read(d.Message.Content)
		if err == nil && strings.TrimRight(string(read), " ") != body {
			err = fmt.Errorf("the body of message %d is %q; want %q", d.Message.Key, read, body)
		}
		x.broken = errors.Join(x.broken, err)
	}
	x.ns.ReleaseBody(d.Pin)
	x.delivered[body] = d
}
