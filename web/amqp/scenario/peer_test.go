package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/amqptest"
	"mayfly/web/amqp/wire"
)

// A caller is one connection of a client, with one session. In a synctest bubble all frames have
// arrived once all goroutines wait, so it needs no timeouts: it sends frames and then reads all
// that have arrived.
type caller struct {
	*amqptest.Client

	ends     map[uint32]*end       // by handle
	desks    map[string]*desk      // by path
	out      uint32                // transfers sent
	in       uint32                // transfers received
	sent     uint32                // deliveries sent
	outcomes map[uint32]wire.State // of deliveries sent
	answers  map[uint32]wire.State // to dispositions of received deliveries
	enlisted map[uint32]bool       // received deliveries with an outcome in a transaction, not settled yet
	farewell *wire.Close
}

// An end is the client's end of a link.
type end struct {
	handle uint32
	answer *wire.Attach // the server's
	over   bool         // the link has been detached
	why    *wire.Error  // the error of the server's detach
	count  uint32       // deliveries received
	limit  uint32       // count when the credit is used up
	dry    bool         // the server has drained the credit
	got    []*wire.Transfer
	part   *wire.Transfer
}

func call(t *testing.T, s *amqp.Server, frame uint32) *caller {
	t.Helper()
	open := wire.Open{ContainerID: "scenario", Hostname: wire.Some("localhost")}
	if frame > 0 {
		open.MaxFrameSize = wire.Some(frame)
	}
	ours, theirs := net.Pipe()
	go s.ServeConn(theirs, "")
	c := &caller{
		Client: amqptest.Connect(t, ours, open), ends: map[uint32]*end{}, desks: map[string]*desk{},
		outcomes: map[uint32]wire.State{}, answers: map[uint32]wire.State{}, enlisted: map[uint32]bool{},
	}
	c.Begin(0)
	return c
}

// hear processes all frames that have arrived.
func (c *caller) hear() error {
	synctest.Wait()
	for len(c.Pending()) > 0 {
		f, err := c.Next()
		if err == nil {
			err = c.take(f.Body)
		}
		if err != nil {
			return err
		}
	}
	if err := c.ReadError(); err != nil && c.farewell == nil && !errors.Is(err, io.ErrClosedPipe) {
		return fmt.Errorf("the connection broke: %w", err)
	}
	return nil
}

func (c *caller) take(p wire.Performative) error {
	switch p := p.(type) {
	case *wire.Attach:
		e := c.ends[p.Handle]
		if e == nil || e.answer != nil {
			return fmt.Errorf("the server attached an unknown link: %s", amqptest.Format(p))
		}
		e.answer = p
	case *wire.Detach:
		e := c.ends[p.Handle]
		if e == nil {
			return fmt.Errorf("a detach of an unknown link: %s", amqptest.Format(p))
		}
		if !e.over {
			c.WriteFrames(0, &wire.Detach{Handle: p.Handle, Closed: true})
		}
		e.over, e.why = true, p.Error
	case *wire.Transfer:
		return c.arrived(p)
	case *wire.Disposition:
		to := c.answers
		if p.Role == wire.RoleReceiver {
			to = c.outcomes
		}
		if !p.Settled && p.Role == wire.RoleReceiver {
			return fmt.Errorf("the answer is not settled: %s", amqptest.Format(p))
		}
		for id := p.First; ; id++ {
			if _, twice := to[id]; twice && !(p.Role == wire.RoleSender && c.enlisted[id]) {
				return fmt.Errorf("settled twice: %s", amqptest.Format(p))
			}
			if p.Role == wire.RoleSender {
				c.enlisted[id] = !p.Settled
			}
			if to[id] = p.State; id == p.Last.Or(p.First) {
				break
			}
		}
	case *wire.Flow:
		h, ok := p.Handle.Get()
		e := c.ends[h]
		if !ok || e == nil || e.answer == nil || e.answer.Role == wire.RoleReceiver {
			break
		}
		if p.Drain {
			if p.DeliveryCount.Or(0) != e.limit || p.LinkCredit.Or(0) != 0 {
				return fmt.Errorf("the client has counted %d deliveries, the server drains at %s", e.limit, amqptest.Format(p))
			}
			e.count, e.dry = e.limit, true
		}
	case *wire.Close:
		c.farewell = p
	default:
		return fmt.Errorf("an unexpected frame: %s", amqptest.Format(p))
	}
	return nil
}

// arrived processes a transfer, and its delivery after the last one.
func (c *caller) arrived(t *wire.Transfer) error {
	c.in++
	e := c.ends[t.Handle]
	if e == nil || e.over {
		return fmt.Errorf("a transfer on an unknown link: %s", amqptest.Format(t))
	}
	if e.part == nil {
		if e.part = t; e.count == e.limit {
			return fmt.Errorf("a delivery without credit: %s", amqptest.Format(t))
		}
		e.count++
	} else {
		if id, ok := t.DeliveryID.Get(); ok && id != e.part.DeliveryID.Or(0) {
			return fmt.Errorf("delivery %d came in the middle of delivery %d", id, e.part.DeliveryID.Or(0))
		}
		e.part.Payload = append(bytes.Clone(e.part.Payload), t.Payload...)
	}
	if !t.More {
		e.got, e.part = append(e.got, e.part), nil
	}
	return nil
}

// say sends frames on the session and processes the answers.
func (c *caller) say(all ...wire.Performative) error {
	if err := c.ReadError(); err != nil {
		return fmt.Errorf("the connection has ended: %w", err)
	}
	c.WriteFrames(0, all...)
	return c.hear()
}

// attach attaches a link.
func (c *caller) attach(a wire.Attach) (*end, error) {
	a.Handle = uint32(len(c.ends))
	a.Name = fmt.Sprintf("%s-%d", a.Name, a.Handle)
	e := &end{handle: a.Handle}
	c.ends[a.Handle] = e
	if err := c.say(&a); err != nil {
		return nil, err
	}
	return e, nil
}

// refused returns why the link was refused or has ended.
func (e *end) refused() *wire.Error {
	switch {
	case e.over && e.why == nil:
		return &wire.Error{Condition: "no reason was given"}
	case e.over:
		return e.why
	case e.answer == nil:
		return &wire.Error{Condition: "no answer was given"}
	}
	return nil
}

// detach detaches a link as clients do.
func (c *caller) detach(e *end) error {
	if e.over {
		return nil
	}
	e.over = true
	if err := c.say(&wire.Detach{Handle: e.handle, Closed: true}); err != nil {
		return err
	}
	if e.why != nil {
		return fmt.Errorf("a detach was answered with an error: %+v", *e.why)
	}
	return nil
}

// credit gives a link credit for n more deliveries. With drain, it returns when the
// server has used or drained it.
func (c *caller) credit(e *end, n uint32, drain bool) error {
	e.limit, e.dry = e.count+n, false
	return c.say(&wire.Flow{
		NextIncomingID: wire.Some(c.in), IncomingWindow: 1 << 20, NextOutgoingID: c.out, OutgoingWindow: 1 << 20,
		Handle: wire.Some(e.handle), DeliveryCount: wire.Some(e.count), LinkCredit: wire.Some(n), Drain: drain,
	})
}

// send sends a delivery and returns its outcome.
func (c *caller) send(e *end, format uint32, state wire.State, message []byte, piece uint32) (wire.State, error) {
	id := c.sent
	c.sent++
	split := wire.Splitter{
		Transfer: wire.Transfer{
			Handle: e.handle, DeliveryID: wire.Some(id), DeliveryTag: []byte{byte(id >> 8), byte(id)}, MessageFormat: wire.Some(format),
			Settled: wire.Some(false), State: state,
		},
		MaxFrame: piece, Body: message,
	}
	for !split.Done() {
		frame, err := split.Next(nil)
		if err != nil {
			return nil, err
		}
		c.out++
		c.Write(frame)
	}
	if err := c.hear(); err != nil {
		return nil, err
	}
	got, ok := c.outcomes[id]
	if !ok {
		return nil, fmt.Errorf("delivery %d got no outcome", id)
	}
	return got, nil
}

// dispose sends a disposition for a delivery and returns the server's.
func (c *caller) dispose(id uint32, state wire.State, settled bool) (wire.State, error) {
	delete(c.answers, id)
	err := c.say(&wire.Disposition{Role: wire.RoleReceiver, First: id, Last: wire.Some(id), Settled: settled, State: state})
	if err != nil {
		return nil, err
	}
	got, ok := c.answers[id]
	if ok == settled {
		return nil, fmt.Errorf("the server answered the disposition of delivery %d, settled %v, with %v", id, settled, got)
	}
	return got, nil
}

// A desk is a pair of links to an entity's $management.
type desk struct {
	requests, replies *end
	asked             uint64
}

// ask sends a request to $management and returns the map in the response, or nil if
// nothing was found.
func (c *caller) ask(path, operation string, state wire.State, body value.Properties) (value.Properties, *wire.Error, error) {
	d := c.desks[path]
	if d == nil {
		d = &desk{}
		address := path + "/$management"
		var err error
		if d.requests, err = c.attach(amqptest.SenderAttach(0, address)); err == nil {
			a := amqptest.ReceiverAttach(0, address)
			a.Target.Address = wire.Some("replies of " + path)
			d.replies, err = c.attach(a)
		}
		if err == nil {
			err = c.credit(d.replies, 1000, false)
		}
		if err != nil {
			return nil, nil, err
		}
		c.desks[path] = d
	}
	if why := d.requests.refused(); why != nil {
		return nil, nil, fmt.Errorf("$management of %s: %+v", path, *why)
	}
	d.asked++
	p := wire.Properties{MessageID: value.OfULong(d.asked), ReplyTo: wire.Some("replies of " + path)}
	m := wire.AppendAnnotations(p.Append(nil), wire.SectionApplicationProperties, value.Properties{
		{Name: "operation", Value: value.OfString("com.microsoft:" + operation)},
		{Name: "com.microsoft:server-timeout", Value: value.OfUInt(60_000)},
	})
	got, err := c.send(d.requests, 0, state, wire.AppendSection(m, wire.SectionValue, wire.AppendMap(nil, body)), 64<<10)
	if err != nil {
		return nil, nil, err
	}
	if r, ok := got.(wire.Rejected); ok {
		if len(d.replies.got) > 0 {
			return nil, nil, errors.New("a request was rejected, and answered")
		}
		return nil, r.Error, nil
	}
	if len(d.replies.got) != 1 {
		return nil, nil, fmt.Errorf("got %d replies to one request", len(d.replies.got))
	}
	reply := d.replies.got[0].Payload
	d.replies.got = nil
	return readReply(reply, d.asked)
}

func readReply(b []byte, asked uint64) (value.Properties, *wire.Error, error) {
	var m wire.Message
	var p wire.Properties
	if err := errors.Join(m.Decode(b), p.Decode(m.Properties)); err != nil {
		return nil, nil, err
	}
	if id, _ := p.CorrelationID.Uint64(); id != asked {
		return nil, nil, fmt.Errorf("the reply is to request %v, not %d", p.CorrelationID, asked)
	}
	about, err := wire.ParseMap(m.ApplicationProperties)
	if err != nil {
		return nil, nil, err
	}
	code, _ := about.Lookup("statusCode")
	status, _ := code.Int64()
	text, _ := about.Lookup("statusDescription")
	switch status {
	case 200, 204:
		body, err := wire.ParseMap(m.Body.Content())
		if status == 204 {
			return nil, nil, err
		}
		if body == nil {
			body = value.Properties{}
		}
		return body, nil, err
	}
	why, _ := about.Lookup("errorCondition")
	condition, _ := why.Str()
	return nil, &wire.Error{Condition: wire.Condition(condition), Description: text.Text()}, nil
}

// gone reports whether either side has closed the connection.
func (c *caller) gone() bool { return c.farewell != nil || c.ReadError() != nil }

// goodbye closes the connection cleanly.
func (c *caller) goodbye() error {
	if c.gone() {
		return nil
	}
	if err := c.say(&wire.Close{}); err != nil {
		return err
	}
	if c.farewell == nil || c.farewell.Error != nil {
		return fmt.Errorf("the close was answered with %+v", c.farewell)
	}
	c.Disconnect()
	return nil
}

// alive sends a heartbeat.
func (c *caller) alive() {
	if !c.gone() {
		c.Write(wire.AppendHeartbeat(nil))
	}
}

// beat is the interval of heartbeats.
const beat = time.Minute
