package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

// Engine runs scenarios on an engine.Namespace, without a broker. Its time is a number that
// "after" increases. It calls Check after each command.
type Engine struct {
	NoSweeper bool // do not sweep
	// Commit, if set, receives the batch of each turn, and Read returns the bodies that those
	// batches stored. An error from either ends the scenario.
	Commit func(*engine.Batch) error
	Read   func(engine.Key) ([]byte, error)

	ns           *engine.Namespace
	limits       engine.Limits
	keys         *engine.Keys
	now          engine.Instant
	nonce        uint64
	links        uint64
	bodies       map[engine.Key]string
	delivered    map[string]engine.Delivery // the latest delivery of each body
	receivers    map[string]engine.LinkID
	granted      map[engine.LinkID]string // ids of the sessions of receivers
	ended        map[engine.LinkID]error
	open         map[engine.LinkID]bool
	transactions map[string]engine.TxID // open transactions by name
	deliveries   map[engine.LinkID][]engine.Delivery
	events       []engine.Event
	eventCount   uint64 // number of events so far
	broken       error  // the error of Commit or Read
}

// NewEngine returns an Engine with an empty namespace; its time is noon of a fixed day.
func NewEngine() *Engine {
	x := &Engine{
		limits: engine.DefaultLimits(), now: engine.At(time.Date(2026, 7, 14, 12, 0, 0, 0, time.UTC)),
		bodies: map[engine.Key]string{}, delivered: map[string]engine.Delivery{},
		receivers: map[string]engine.LinkID{}, granted: map[engine.LinkID]string{}, ended: map[engine.LinkID]error{}, deliveries: map[engine.LinkID][]engine.Delivery{},
	}
	x.begin(1)
	return x
}

func (x *Engine) begin(epoch uint64) {
	x.keys, x.open, x.transactions = engine.NewKeys(epoch), map[engine.LinkID]bool{}, map[string]engine.TxID{}
	x.reset()
}

func (x *Engine) reset() {
	x.ns = engine.New(engine.Options{Limits: x.limits, Keys: x.keys, Nonce: func() uint64 { x.nonce++; return x.nonce }})
}

const actor = "scenario"

// Do runs one command.
func (x *Engine) Do(c Command) ([]string, error) {
	lines, err := x.step(c)
	x.turn()
	if x.broken != nil {
		return nil, x.broken
	}
	if broken := x.ns.Check(); broken != nil {
		return nil, fmt.Errorf("INVARIANT: %w", broken)
	}
	switch c.Name { // the results of these are known only after the turn
	case "receive":
		if err == nil {
			lines = x.received(engine.LinkID(x.links))
		}
	case "got":
		id := x.receivers[c.Arg(0)]
		lines = x.received(id)
	case "accept":
		lines, err = x.accepted(err)
	case "take":
		if err == nil {
			lines = x.sessionMessages(c)
		}
	}
	return lines, asRefused(err)
}

// turn does what a broker does after each operation.
func (x *Engine) turn() {
	for more := !x.NoSweeper; more; {
		more = x.ns.Sweep(x.now, 100)
	}
	x.ns.Match(x.now)
	fx := x.ns.Flush(x.now, true)
	x.commit(fx)
	x.ns.Seal(true)
	x.events = append(x.events, fx.Events...)
	for _, d := range fx.Deliveries {
		x.readBody(d)
		x.deliveries[d.Link] = append(x.deliveries[d.Link], d)
	}
	for _, a := range fx.Accepted {
		x.granted[a.Link] = a.ID
	}
	for _, l := range fx.Ended {
		delete(x.open, l.ID)
		x.ended[l.ID] = l.Err
	}
}

func (x *Engine) received(id engine.LinkID) (lines []string) {
	for _, d := range x.deliveries[id] {
		lines = append(lines, x.delivery(d))
	}
	delete(x.deliveries, id)
	if lines == nil {
		lines = []string{"nothing"}
	}
	return lines
}

func (x *Engine) delivery(d engine.Delivery) string {
	return x.show(d.Message, d.Content, d.Expires, "").String()
}

func (x *Engine) show(m engine.Message, packed engine.Packed, expires engine.Instant, state string) ShownMessage {
	s := ShownMessage{Number: int64(m.Seq), Body: x.bodies[m.Content], State: state, Failed: int(m.DeliveryCount), Properties: map[string]string{}}
	if expires != 0 {
		s.Expires, s.Expiring = expires.Sub(x.now), true
	}
	c, err := packed.Content()
	if err != nil {
		panic(err) // it was packed by this process
	}
	for _, p := range m.Properties(c) {
		s.Properties[p.Name] = p.Value.Text()
	}
	return s
}

func (x *Engine) step(c Command) ([]string, error) {
	switch c.Name {
	case "create", "update":
		return nil, x.describe(c)
	case "delete":
		return nil, x.ns.Delete(x.now, c.path(0), actor)
	case "limit":
		return nil, x.limit(c)
	case "rules":
		return nil, x.rules(c)
	case "send":
		return x.send(c)
	case "receive", "open":
		return nil, x.attach(c)
	case "close":
		x.ns.Detach(x.now, x.receivers[c.Arg(0)], engine.DetachedByClient)
		delete(x.open, x.receivers[c.Arg(0)])
		return nil, nil
	case "got":
		return nil, nil
	case "fetch":
		return x.fetch(c)
	case "complete", "abandon", "defer", "release", "renew", "dead-letter":
		return nil, x.settle(c)
	case "cancel":
		seqs, err := numbersOf(c.Args[1:])
		if err != nil {
			return nil, err
		}
		return nil, x.ns.CancelScheduled(x.now, c.path(0), seqs, actor)
	case "transaction", "commit", "rollback":
		return x.transact(c)
	case "after":
		return nil, x.wait(c.Arg(0))
	case "operate":
		return x.operate(c)
	case "accept", "take", "leave", "renew-session", "state", "sessions", "break-session":
		return x.session(c)
	case "purge", "batch-delete":
		return x.removeMany(c)
	case "touch":
		return nil, x.ns.Touch(x.now, c.path(0), actor)
	case "pin":
		return nil, x.ns.Pin(x.now, c.path(0), actor)
	case "unpin":
		return nil, x.ns.Unpin(x.now, c.path(0), actor)
	default:
		return x.read(c)
	}
}

func (x *Engine) describe(c Command) error {
	d, err := parseEntityRequest(c, x.limits, x.ns.State)
	switch {
	case err != nil:
	case c.Name == "create":
		_, err = x.ns.Create(x.now, d.kind, d.path, d.config, actor)
	default:
		_, err = x.ns.Update(x.now, d.path, d.config, actor)
	}
	return err
}

func (x *Engine) limit(c Command) error {
	if len(x.ns.States(0)) > 0 {
		return errors.New("limits come before entities")
	}
	if err := x.limits.Set(c.Arg(0), c.Arg(1)); err != nil {
		return fmt.Errorf("set a limit: %w", err)
	}
	x.reset()
	return nil
}

func (x *Engine) rules(c Command) error {
	for _, name := range c.Args[1:] {
		var err error
		if add, ok := strings.CutPrefix(name, "+"); ok {
			err = x.ns.AddRule(x.now, c.path(0), engine.Rule{Name: add}, actor)
		} else {
			err = x.ns.RemoveRule(x.now, c.path(0), strings.TrimPrefix(name, "-"), actor)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (x *Engine) send(c Command) ([]string, error) {
	content, size := engine.Content{}, 0
	for _, name := range c.Names {
		text := c.Options[name]
		switch name {
		case "within":
		case "id":
			content.MessageID = text
		case "ttl", "in":
			d, never, err := engine.ParseDuration(text)
			if err != nil {
				return nil, err
			}
			switch {
			case name == "in":
				content.ScheduledFor = x.now.Add(d)
			case !never: // a client that wants no expiry sends no TTL (TTL-2)
				content.TTL = d
			}
		case "session":
			content.SessionID = text
		case "size":
			n, err := strconv.Atoi(text)
			if err != nil {
				return nil, fmt.Errorf("size: %w", err)
			}
			size = n
		case "via":
		default:
			content.Properties = append(content.Properties, value.Property{Name: name, Value: value.OfString(text)})
		}
	}
	var batch []engine.Submission
	for _, body := range c.Args[1:] {
		key := x.keys.Next()
		s, err := engine.Submit(content, []byte(body+strings.Repeat(" ", max(0, size-len(body)))), 0, key, x.limits)
		if err != nil {
			return nil, err
		}
		x.bodies[key] = body
		batch = append(batch, s)
	}
	if name, ok := c.Options["within"]; ok {
		if via := c.Options["via"]; via != "" {
			return nil, x.ns.SendViaInTx(x.now, x.transactions[name], canonical(via), c.path(0), batch)
		}
		return nil, x.ns.SendInTx(x.now, x.transactions[name], c.path(0), batch)
	}
	var seqs []engine.Seq
	var err error
	if via := c.Options["via"]; via != "" {
		seqs, err = x.ns.SendVia(x.now, canonical(via), c.path(0), batch, actor)
	} else {
		seqs, err = x.ns.Send(x.now, c.path(0), batch, actor)
	}
	if err != nil {
		return nil, err
	}
	return numbersLine(seqs), nil
}

func numbersLine(seqs []engine.Seq) []string {
	var words []string
	for _, s := range seqs {
		words = append(words, fmt.Sprintf("#%d", s))
	}
	return []string{strings.Join(words, " ")}
}

func (x *Engine) attach(c Command) error {
	x.links++
	l := engine.Link{ID: engine.LinkID(x.links), Path: c.path(0), Client: actor, NoWait: c.Name == "receive"}
	if slices.Contains(c.Args, "delete") {
		l.Mode = engine.ReceiveAndDelete
	}
	credit := 1
	for _, name := range []string{"n", "credit"} {
		if text := c.Options[name]; text != "" {
			n, err := strconv.Atoi(text)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			credit = n
		}
	}
	if err := x.ns.Attach(x.now, l); err != nil {
		return err
	}
	x.open[l.ID] = true
	if name := c.Options["as"]; name != "" {
		x.receivers[name] = l.ID
	}
	return x.ns.Credit(x.now, l.ID, credit)
}

func (x *Engine) fetch(c Command) (lines []string, err error) {
	mode := engine.PeekLock
	args := slices.DeleteFunc(slices.Clone(c.Args), func(a string) bool { return a == "delete" })
	if len(args) < len(c.Args) {
		mode = engine.ReceiveAndDelete
	}
	seqs, err := numbersOf(args[1:])
	if err != nil {
		return nil, err
	}
	ds, err := x.fetched(c, seqs, mode)
	for _, d := range ds {
		x.readBody(d)
		lines = append(lines, x.delivery(d))
	}
	return lines, err
}

func (x *Engine) settle(c Command) error {
	d, ok := x.delivered[c.Arg(0)]
	if !ok {
		return fmt.Errorf("nobody received %q", c.Arg(0))
	}
	if c.Name == "renew" {
		_, err := x.ns.RenewLock(x.now, d.Token(), "", actor)
		return err
	}
	s := engine.Settlement{Token: d.Token(), Path: d.Path, Client: actor, Reason: c.Options["reason"], Description: c.Options["description"]}
	for _, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer, engine.DeadLetter, engine.Release} {
		if o.String() == c.Name {
			s.Outcome = o
		}
	}
	for _, name := range c.Names {
		if name != "reason" && name != "description" && name != "within" {
			s.Modify = append(s.Modify, value.Property{Name: name, Value: value.OfString(c.Options[name])})
		}
	}
	if name, ok := c.Options["within"]; ok {
		return x.ns.SettleInTx(x.now, x.transactions[name], s)
	}
	return x.ns.Settle(x.now, s)
}

// wait advances the time, with a turn at each instant at which something is due.
func (x *Engine) wait(text string) error {
	d, _, err := engine.ParseDuration(text)
	if err != nil {
		return err
	}
	to := x.now.Add(d)
	for !x.NoSweeper {
		next := x.ns.NextDue()
		if next == 0 || next > to {
			break
		}
		x.now = max(x.now, next)
		x.turn()
	}
	x.now = to
	return nil
}

func (c Command) path(i int) engine.Path { return canonical(c.Arg(i)) }

// canonical parses a path as protocols do. It returns an invalid path unchanged; no entity has it.
func canonical(text string) engine.Path {
	p, err := engine.ParsePath(text, engine.DefaultLimits())
	if err != nil {
		return engine.Path(text)
	}
	return p
}

func number(text string) (engine.Seq, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(strings.TrimPrefix(text, "#"), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not the number of a message: %w", text, err)
	}
	return engine.Seq(n), nil
}

func numbersOf(texts []string) (seqs []engine.Seq, err error) {
	for _, t := range texts {
		n, err := number(t)
		if err != nil {
			return nil, err
		}
		seqs = append(seqs, n)
	}
	return seqs, nil
}

// asRefused returns a Refused for an engine's refusal, and other errors unchanged.
func asRefused(err error) error {
	for _, r := range []struct {
		err  error
		word Refused
	}{
		{engine.ErrNotFound, "not found"}, {engine.ErrExists, "exists"}, {engine.ErrDisabled, "disabled"}, {engine.ErrLockLost, "lock lost"},
		{engine.ErrMessageNotFound, "message not found"}, {engine.ErrTooLarge, "too large"}, {engine.ErrQuota, "quota exceeded"}, {engine.ErrBusy, "busy"},
		{engine.ErrSessionLockLost, "session lock lost"}, {engine.ErrSessionLocked, "session locked"}, {engine.ErrTimeout, "timeout"},
		{engine.ErrDuplicate, "duplicate"}, {engine.ErrNotAllowed, "not allowed"}, {engine.ErrArgument, "wrong argument"}, {engine.ErrOutOfRange, "out of range"}, {engine.ErrNotImplemented, "not implemented"},
		{engine.ErrTransaction, "no transaction"},
	} {
		if errors.Is(err, r.err) {
			return r.word
		}
	}
	return err
}
