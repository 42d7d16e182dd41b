package scenario

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/enginetest"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// A manner selects among several ways of doing the same.
type manner struct {
	name     string
	manage   bool   // settle at $management and not on the link
	silent   bool   // settle without waiting for the outcome
	annotate bool   // schedule by sending with an enqueue time and not at $management
	together bool   // give credit and drain it in one flow
	frame    uint32 // largest frame; zero means the server's
	lazy     bool   // the broker does not sweep
}

// An executor runs a scenario over AMQP.
type executor struct {
	manner
	t      *testing.T
	server *amqp.Server
	broker func() (*broker.Broker, error)

	main        *caller
	callers     []*caller
	senders     map[string]*end
	named       map[string]*receiver
	delivered   map[string]*parcel // the latest by body
	begun       map[string][]byte  // transaction ids by name
	coordinator *end
}

// A receiver is a link of a client.
type receiver struct {
	by      *caller
	link    *end
	path    string
	session wire.Opt[string]
	deletes bool
}

// A parcel is a message that was received with a lock.
type parcel struct {
	letter
	by      *caller
	path    string
	session wire.Opt[string]
	link    *end // nil if it came from $management
	id      uint32
	done    bool // the link has settled it
	last    *end // link to detach when all of its parcels are done, or nil
}

func (d *executor) connect() (*caller, error) {
	if d.server == nil {
		b, err := d.broker()
		if err != nil {
			return nil, err
		}
		d.server = amqp.New(amqp.Options{})
		d.server.Open(b)
	}
	c := call(d.t, d.server, d.frame)
	d.callers = append(d.callers, c)
	return c, nil
}

// Do runs a client's command.
func (d *executor) Do(c enginetest.Command) (lines []string, err error) {
	if d.main == nil && c.Name != "limit" {
		if d.main, err = d.connect(); err != nil {
			return nil, err
		}
	}
	for _, by := range d.callers {
		if err := by.hear(); err != nil {
			return nil, err
		}
	}
	switch c.Name {
	case "send":
		return d.send(c)
	case "receive":
		return d.receive(c)
	case "open":
		return nil, d.open(c)
	case "got":
		return d.got(c)
	case "accept":
		return d.accept(c)
	case "take":
		return d.take(c)
	case "close", "leave":
		return nil, d.leave(c)
	case "complete", "abandon", "defer", "release", "dead-letter":
		return nil, d.settle(c)
	case "renew", "renew-session", "state", "sessions", "peek", "cancel", "fetch", "rules", "batch-delete":
		return d.manageIt(c)
	case "transaction", "commit", "rollback":
		return d.transact(c)
	default:
		return nil, enginetest.ErrUnsupported
	}
}

// pass advances the clock by a command's duration, with a heartbeat of every client at least each
// minute.
func (d *executor) pass(c enginetest.Command) error {
	span, _, err := engine.ParseDuration(c.Arg(0))
	if err != nil {
		return err
	}
	for until := time.Now().Truncate(time.Millisecond).Add(span); ; {
		left := time.Until(until)
		time.Sleep(min(left, beat))
		for _, c := range d.callers {
			c.alive()
		}
		if left <= beat {
			synctest.Wait()
			return nil
		}
	}
}

// words are the errors of scenarios by condition.
var words = func() map[wire.Condition]error {
	out := map[wire.Condition]error{}
	for _, err := range []error{
		engine.ErrNotFound, engine.ErrExists, engine.ErrDisabled, engine.ErrLockLost, engine.ErrMessageNotFound, engine.ErrTooLarge,
		engine.ErrQuota, engine.ErrBusy, engine.ErrNotAllowed, engine.ErrArgument, engine.ErrOutOfRange, engine.ErrNotImplemented,
		engine.ErrSessionLockLost, engine.ErrSessionLocked, engine.ErrTimeout, engine.ErrTransaction,
	} {
		e, _ := codec.AMQPError(err)
		if _, twice := out[e.Condition]; !twice {
			out[e.Condition] = enginetest.AsRefused(err)
		}
	}
	return out
}()

// rolledBack is the error of a transaction that was rolled back.
const rolledBack enginetest.Refused = "rolled back"

func refusal(e *wire.Error) error {
	switch {
	case e == nil:
		return nil
	case e.Condition == wire.CondTransactionRollback:
		return rolledBack
	}
	if err, ok := words[e.Condition]; ok {
		return err
	}
	return fmt.Errorf("no error of scenarios has the condition of %+v", *e)
}

// outcome returns nil for a successful state, and its error otherwise.
func outcome(s wire.State) error {
	switch s := s.(type) {
	case wire.Rejected:
		if s.Error == nil {
			return errors.New("rejected for no reason")
		}
		return refusal(s.Error)
	case wire.Accepted:
		return nil
	case wire.Transactional:
		return outcome(s.Outcome)
	default:
		return fmt.Errorf("the outcome is %#v", s)
	}
}

// within returns a delivery state in the transaction that the command's option "within" names, or
// unchanged if it has none.
func (d *executor) within(c enginetest.Command, s wire.State) wire.State {
	if name, ok := c.Options["within"]; ok {
		return wire.Transactional{TxnID: d.begun[name], Outcome: s}
	}
	return s
}

func (d *executor) send(c enginetest.Command) ([]string, error) {
	now := time.Now()
	m, err := drafted(c, now)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	for _, body := range c.Args[1:] {
		all = append(all, m.encode(body, now))
	}
	if !m.due.IsZero() && !d.annotate && c.Options["via"] == "" {
		return d.schedule(c, m, all)
	}
	link, err := d.sender(c)
	if err != nil {
		return nil, err
	}
	format, message := wire.FormatMessage, all[0]
	if len(all) > 1 {
		format, message = wire.FormatBatch, envelope(all)
	}
	state, err := d.main.send(link, format, d.within(c, nil), message, max(d.frame, 1024))
	if err == nil {
		err = outcome(state)
	}
	if err == nil {
		if _, ok := c.Options["within"]; ok {
			return nil, nil
		}
		err = enginetest.ErrNoResult
	}
	return nil, err
}

// sender returns the link to the entity that a command sends to.
func (d *executor) sender(c enginetest.Command) (*end, error) {
	path, via := c.Path(0), c.Options["via"]
	key := path + " via " + via
	if l := d.senders[key]; l != nil && !l.over {
		return l, nil
	}
	a := amqptest.SenderAttach(0, path)
	if via != "" {
		a = amqptest.SenderAttach(0, via)
		a.Properties = value.Properties{{Name: "com.microsoft:transfer-destination-address", Value: value.OfString(path)}}
	}
	l, err := d.main.attach(a)
	if err == nil {
		err = refusal(l.refused())
	}
	if err != nil {
		return nil, err
	}
	d.senders[key] = l
	return l, nil
}
