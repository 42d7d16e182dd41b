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
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
)

// A manner is how a client does what can be done in several ways.
type manner struct {
	name     string
	manage   bool   // settle at $management, not on the link
	silent   bool   // settle without waiting for an answer
	annotate bool   // schedule by sending with a time, not at $management
	together bool   // give credit and take it back in one flow
	frame    uint32 // largest frame; zero: the server's
	lazy     bool   // the broker does not sweep
}

// A door tells a story over AMQP.
type door struct {
	manner
	t      *testing.T
	server *amqp.Server
	broker func() (*broker.Broker, error)

	main        *caller
	callers     []*caller
	senders     map[string]*end
	named       map[string]*receiver
	delivered   map[string]*parcel // by body, the latest
	begun       map[string][]byte  // transactions, by name
	coordinator *end
}

// A receiver has a name.
type receiver struct {
	by      *caller
	link    *end
	path    string
	session wire.Opt[string]
	deletes bool
}

// A parcel is a message that was received under a lock.
type parcel struct {
	letter
	by      *caller
	path    string
	session wire.Opt[string]
	link    *end // nil: it came from $management
	id      uint32
	done    bool // the link does not know it any more
	last    *end // to be detached when every parcel of it is done; nil: not
}

func (d *door) connect() (*caller, error) {
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

// Do runs a command that is a client's.
func (d *door) Do(c enginetest.Command) (lines []string, err error) {
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
		return nil, enginetest.ErrCannot
	}
}

// pass has time go by, with signs of life.
func (d *door) pass(c enginetest.Command) error {
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

// words are what the conditions stand for, in the words of scenarios.
var words = func() map[wire.Condition]error {
	out := map[wire.Condition]error{}
	for _, err := range []error{
		engine.ErrNotFound, engine.ErrExists, engine.ErrDisabled, engine.ErrLockLost, engine.ErrMessageNotFound, engine.ErrTooLarge,
		engine.ErrQuota, engine.ErrBusy, engine.ErrNotAllowed, engine.ErrArgument, engine.ErrOutOfRange, engine.ErrNotImplemented,
		engine.ErrSessionLockLost, engine.ErrSessionLocked, engine.ErrTimeout, engine.ErrTransaction,
	} {
		e, _ := carry.Told(err)
		if _, twice := out[e.Condition]; !twice {
			out[e.Condition] = enginetest.Word(err)
		}
	}
	return out
}()

// rolledBack says that a transaction came to nothing.
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
	return fmt.Errorf("a condition that stands for nothing: %+v", *e)
}

// outcome is nil for a state that says that all is well.
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

// within wraps a state into a command's transaction.
func (d *door) within(c enginetest.Command, s wire.State) wire.State {
	if name, ok := c.Options["within"]; ok {
		return wire.Transactional{TxnID: d.begun[name], Outcome: s}
	}
	return s
}

func (d *door) send(c enginetest.Command) ([]string, error) {
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
		err = enginetest.ErrUntold
	}
	return nil, err
}

// sender is the link to where a command sends.
func (d *door) sender(c enginetest.Command) (*end, error) {
	path, via := c.Path(0), c.Options["via"]
	key := path + " via " + via
	if l := d.senders[key]; l != nil && !l.over {
		return l, nil
	}
	a := amqptest.Sends(0, path)
	if via != "" {
		a = amqptest.Sends(0, via)
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
