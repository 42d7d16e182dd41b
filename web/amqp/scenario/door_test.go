package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
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

// attach begins a link that receives.
func (d *door) attach(by *caller, c enginetest.Command, change func(*wire.Attach)) (*receiver, error) {
	r := &receiver{by: by, path: c.Path(0), deletes: slices.Contains(c.Args, "delete")}
	a := amqptest.Receives(0, r.path)
	if r.deletes {
		a.SenderSettleMode, a.ReceiverSettleMode = wire.Some(wire.SenderSettled), wire.Some(wire.ReceiverFirst)
	}
	if change != nil {
		change(&a)
	}
	var err error
	r.link, err = by.attach(a)
	return r, err
}

func (d *door) receive(c enginetest.Command) ([]string, error) {
	n, err := amount(c, "n")
	if err != nil {
		return nil, err
	}
	r, err := d.attach(d.main, c, nil)
	if err == nil {
		err = refusal(r.link.refused())
	}
	if err != nil {
		return nil, err
	}
	lines, err := d.drain(r, n, r.link)
	if err == nil && (r.deletes || len(lines) == 1 && lines[0] == nothing) {
		err = r.by.detach(r.link)
	}
	return lines, err
}

const nothing = "nothing"

// drain is what a receiver gets that wants n and does not wait.
func (d *door) drain(r *receiver, n int, last *end) ([]string, error) {
	var err error
	if !d.together {
		err = r.by.credit(r.link, uint32(n), false)
	}
	if left := n - len(r.link.got); err == nil && left > 0 && !r.link.over {
		err = r.by.credit(r.link, uint32(left), true)
	}
	if err != nil {
		return nil, err
	}
	if why := r.link.refused(); why != nil {
		return nil, refusal(why)
	}
	if !r.link.dry && len(r.link.got) < n {
		return nil, fmt.Errorf("of %d messages %d came, and no word that there are no more", n, len(r.link.got))
	}
	return d.unpack(r, last)
}

// unpack shows what a receiver has got.
func (d *door) unpack(r *receiver, last *end) (lines []string, err error) {
	for _, t := range r.link.got {
		l, err := d.letter(t.Payload, r.path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l.shown.String())
		if settled := t.Settled.Or(false); settled != r.deletes {
			return nil, fmt.Errorf("%s is settled: %v", l.shown, settled)
		}
		if r.deletes {
			continue
		}
		if len(t.DeliveryTag) != 16 || guid([16]byte(t.DeliveryTag)) != l.token {
			return nil, fmt.Errorf("%s has the tag % x and the token % x", l.shown, t.DeliveryTag, l.token)
		}
		if !l.lockedUntil.After(time.Now()) {
			return nil, fmt.Errorf("%s is locked until %v", l.shown, l.lockedUntil)
		}
		d.delivered[l.body] = &parcel{letter: l, by: r.by, path: r.path, session: r.session, link: r.link, id: t.DeliveryID.Or(0), last: last}
	}
	r.link.got = nil
	if lines == nil {
		lines = []string{nothing}
	}
	return lines, nil
}

// guid is a UUID from the bytes of a .NET Guid, which delivery tags are made of.
func guid(b [16]byte) (id [16]byte) {
	for i, from := range [16]int{3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15} {
		id[i] = b[from]
	}
	return id
}

func (d *door) letter(b []byte, path string) (letter, error) {
	return read(b, time.Now().Truncate(time.Millisecond), !engine.Path(path).IsDeadLetter())
}

func (d *door) open(c enginetest.Command) error {
	n, err := amount(c, "credit")
	if err != nil {
		return err
	}
	by, err := d.connect()
	if err != nil {
		return err
	}
	r, err := d.attach(by, c, nil)
	if err == nil {
		err = refusal(r.link.refused())
	}
	if err == nil {
		err = by.credit(r.link, uint32(n), false)
	}
	if err == nil {
		d.named[c.Options["as"]] = r
	}
	return err
}

func (d *door) got(c enginetest.Command) ([]string, error) {
	r := d.named[c.Arg(0)]
	if err := r.by.hear(); err != nil {
		return nil, err
	}
	return d.unpack(r, nil)
}

func (d *door) accept(c enginetest.Command) ([]string, error) {
	by, err := d.connect()
	if err != nil {
		return nil, err
	}
	want := value.Value{}
	args := slices.DeleteFunc(slices.Clone(c.Args), func(a string) bool { return a == "delete" })
	if len(args) > 1 {
		want = value.OfString(args[1])
	}
	r, err := d.attach(by, c, func(a *wire.Attach) {
		a.Source.Filter = value.Properties{{Name: sessionFilter, Value: value.OfRaw(wire.AppendDescribed(nil, value.OfULong(0x137000000c), want))}}
		a.Properties = value.Properties{{Name: "com.microsoft:timeout", Value: value.OfUInt(0)}}
	})
	if err == nil && r.link.answer == nil { // its time is over as soon as there is any
		time.Sleep(time.Nanosecond)
		err = by.hear()
	}
	if err != nil {
		return nil, err
	}
	if why := r.link.refused(); why != nil {
		if err := by.goodbye(); err != nil {
			return nil, err
		}
		return nil, refusal(why)
	}
	of, _ := r.link.answer.Source.Filter.Lookup(sessionFilter)
	raw, _ := of.Bytes()
	_, got, err := wire.ParseDescribed(raw)
	if err != nil {
		return nil, fmt.Errorf("the session that was given: %w", err)
	}
	id, ok := got.Str()
	until, timed := r.link.answer.Properties.Lookup("com.microsoft:locked-until-utc")
	if ticks, _ := until.Int64(); !ok || !timed || ticks <= wire.Ticks(time.Now().UnixMilli()) {
		return nil, fmt.Errorf("the session is %v, locked until %v", got, until)
	}
	r.session = wire.Some(id)
	d.named[c.Options["as"]] = r
	return []string{id}, nil
}

const sessionFilter = "com.microsoft:session-filter"

func (d *door) take(c enginetest.Command) ([]string, error) {
	n, err := amount(c, "n")
	if err != nil {
		return nil, err
	}
	r := d.named[c.Arg(0)]
	if err := r.by.hear(); err != nil {
		return nil, err
	}
	if why := r.link.refused(); why != nil {
		return nil, refusal(why)
	}
	return d.drain(r, n, nil)
}

func (d *door) leave(c enginetest.Command) error {
	r := d.named[c.Arg(0)]
	if c.Name == "leave" {
		r.by.farewell = &wire.Close{}
		r.by.Hang()
		synctest.Wait()
		return nil
	}
	if err := r.by.detach(r.link); err != nil {
		return err
	}
	return r.by.goodbye()
}

// amount is how many a command wants; one if it does not say.
func amount(c enginetest.Command, name string) (int, error) {
	text, ok := c.Options[name]
	if !ok {
		return 1, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return n, nil
}
