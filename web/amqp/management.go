package amqp

import (
	"context"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/carry"
	"mayfly/web/amqp/wire"
	"mayfly/web/sas"
)

// attachManagement attaches one of the pair of links to an entity's $management.
func (s *session) attachManagement(a *wire.Attach, path engine.Path) {
	node := strings.ToLower(string(path)) + "/$management"
	if a.Role == wire.RoleReceiver {
		s.attachResponder(a, node)
		return
	}
	r := s.attachRequests(a, node, mostRequest, (*requests).manage)
	r.path = path
}

// A call is a request to $management being served.
type call struct {
	b      *broker.Broker
	path   engine.Path
	client string
	c      *conn
	in     arguments
	raw    []byte        // the same, as it came
	wait   time.Duration // how long the client waits for the answer
	link   string        // name of the link that the client asks for; empty: it does not say
	tx     *transaction  // that it is part of; nil: none
	m      *request
}

// makeRoom is to be called before an answer is made of which n bytes depend on what
// is there, and not on what the client asks with.
func (c *call) makeRoom(ctx context.Context, n int64) error { return c.c.makeRoom(ctx, c.m, n) }

// done is what a call has come to. Nothing found is a status of its own, 204.
type done struct {
	empty bool
	body  []byte // an encoded map; nil: an empty one
}

// operations are those of $management (§4.2).
var operations = map[string]func(context.Context, *call) (done, error){
	"com.microsoft:renew-lock":                 renewLocks,
	"com.microsoft:renew-session-lock":         renewSessionLock,
	"com.microsoft:peek-message":               peek,
	"com.microsoft:schedule-message":           schedule,
	"com.microsoft:cancel-scheduled-message":   cancelScheduled,
	"com.microsoft:set-session-state":          setSessionState,
	"com.microsoft:get-session-state":          getSessionState,
	"com.microsoft:get-message-sessions":       listSessions,
	"com.microsoft:receive-by-sequence-number": receiveDeferred,
	"com.microsoft:update-disposition":         updateDisposition,
	"com.microsoft:add-rule":                   addRule,
	"com.microsoft:remove-rule":                removeRule,
	"com.microsoft:enumerate-rules":            enumerateRules,
	"com.microsoft:batch-delete-messages":      batchDelete,
}

// patience is how long an operation may take whose client does not say.
const patience = 60 * time.Second

// manage serves one request to $management. Those of one link are served one
// after another, beside the connection's own work.
func (r *requests) manage(m *request) {
	if !r.wait(m, r.attend) {
		r.refuse(m, &engine.Refusal{Kind: engine.ErrBusy, Text: "Too many requests wait for their answers."})
	}
}

func (r *requests) attend(m *request) func() {
	out, err := r.perform(m)
	return func() {
		if err != nil {
			r.refuse(m, err)
		} else {
			r.agree(m, out)
		}
	}
}

func (r *requests) perform(m *request) (done, error) {
	c := r.s.c
	name, _ := m.about.Lookup("operation")
	operation, _ := name.Str()
	serve, ok := operations[operation]
	if !ok {
		return done{}, &engine.Refusal{Kind: engine.ErrNotImplemented, Text: "There is no operation '" + operation + "' at $management."}
	}
	in, err := argumentsOf(m.body)
	if err == nil {
		err = c.unanswered()
	}
	if err != nil {
		return done{}, err
	}
	wait := patience
	for _, key := range []string{"com.microsoft:server-timeout", "server-timeout"} {
		if v, ok := m.about.Lookup(key); ok {
			if ms, ok := whole(v); ok && ms >= 0 {
				wait = min(time.Duration(ms)*time.Millisecond, time.Hour)
			}
		}
	}
	associated, _ := m.about.Lookup("associated-link-name")
	link, _ := associated.Str()
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	defer cancel()
	if _, err := c.permit(ctx, r.path, rightTo(operation)); err != nil {
		return done{}, err
	}
	return serve(ctx, &call{b: c.b, path: r.path, client: c.client(), c: c, in: in, raw: m.body, wait: wait, link: link, tx: m.tx, m: m})
}

func (r *requests) agree(m *request, out done) {
	status, text := int32(200), "OK"
	if out.empty {
		status, text = 204, "No content"
	}
	body := out.body
	if body == nil {
		body = wire.AppendMap(nil, nil)
	}
	r.answer(m, value.Properties{
		{Name: "statusCode", Value: value.OfInt(status)},
		{Name: "statusDescription", Value: value.OfString(text)},
	}, body)
}

func (r *requests) refuse(m *request, err error) {
	e, status := told(err)
	if !sas.Refused(err) && carry.Internal(err) {
		r.s.c.log.Error("a request to $management failed", "container", r.s.c.peer.container, "path", r.path, "err", err)
	}
	r.answer(m, value.Properties{
		{Name: "statusCode", Value: value.OfInt(status)},
		{Name: "statusDescription", Value: value.OfString(r.s.c.tracking(e.Condition, e.Description))},
		{Name: "errorCondition", Value: value.OfSymbol(string(e.Condition))},
	}, nil)
}

// result is a map with one entry.
func result(name string, v value.Value) done {
	return done{body: wire.AppendMap(nil, value.Properties{{Name: name, Value: v}})}
}

// array is an array as a value.
func array(of value.Kind, elements []value.Value) value.Value {
	return value.OfRaw(wire.AppendArray(nil, of, elements...))
}

func renewLocks(ctx context.Context, c *call) (done, error) {
	tokens, err := c.in.tokens()
	if err != nil {
		return done{}, err
	}
	ends, err := c.b.RenewAll(ctx, tokens, c.path, c.client)
	if err != nil {
		return done{}, err
	}
	out := make([]value.Value, 0, len(ends))
	for _, at := range ends {
		out = append(out, timestamp(at))
	}
	return result("expirations", array(value.Timestamp, out)), nil
}

func timestamp(at engine.Instant) value.Value { return value.OfTimestamp(at.Time().UnixMilli()) }

func cancelScheduled(ctx context.Context, c *call) (done, error) {
	seqs, err := c.in.seqs()
	if err != nil {
		return done{}, err
	}
	return done{}, c.b.Cancel(ctx, c.path, seqs, c.client)
}

func batchDelete(ctx context.Context, c *call) (done, error) {
	count, err := c.in.number("message-count", 0)
	if err != nil {
		return done{}, err
	}
	before, err := c.in.moment("enqueued-time-utc")
	if err != nil {
		return done{}, err
	}
	n, err := c.b.BatchDelete(ctx, c.path, int(count), before, c.client)
	if err != nil || n == 0 {
		return done{empty: true}, err
	}
	return result("message-count", value.OfInt(int32(n))), nil
}

// updateDisposition settles deliveries by their tokens (SETL-3), all or none: the
// answer is one for all of them, and who is told 410 has lost none of the others.
func updateDisposition(ctx context.Context, c *call) (done, error) {
	tokens, err := c.in.tokens()
	if err != nil {
		return done{}, err
	}
	status, _, err := c.in.text("disposition-status")
	if err != nil {
		return done{}, err
	}
	s := engine.Settlement{Path: c.path, Client: c.client}
	switch status {
	case "completed":
		s.Outcome = engine.Complete
	case "abandoned":
		s.Outcome = engine.Abandon
	case "defered":
		s.Outcome = engine.Defer
	case "suspended":
		s.Outcome = engine.DeadLetter
		if s.Reason, _, err = c.in.text("deadletter-reason"); err != nil {
			return done{}, err
		}
		if s.Description, _, err = c.in.text("deadletter-description"); err != nil {
			return done{}, err
		}
	default:
		return done{}, &engine.Refusal{Kind: engine.ErrArgument, Text: "There is no disposition-status '" + status + "'."}
	}
	if s.Modify, err = c.in.fields("properties-to-modify"); err != nil {
		return done{}, err
	}
	all := make([]engine.Settlement, 0, len(tokens))
	for _, t := range tokens {
		s.Token = t
		all = append(all, s)
	}
	return done{}, c.settle(ctx, all)
}

// rightTo is the right that an operation of $management needs. Rules of a
// subscription need no more here than to receive from it.
func rightTo(operation string) engine.Rights {
	switch operation {
	case "com.microsoft:schedule-message", "com.microsoft:cancel-scheduled-message":
		return engine.SendRight
	default:
		return engine.ListenRight
	}
}
