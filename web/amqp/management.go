package amqp

import (
	"context"
	"math"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
	"mayfly/web/auth/sas"
)

// attachManagement attaches one of the two links of an entity's $management.
func (s *session) attachManagement(a *wire.Attach, path engine.Path) {
	node := strings.ToLower(string(path)) + "/$management"
	if a.Role == wire.RoleReceiver {
		s.attachReplyLink(a, node)
		return
	}
	r := s.attachRequestLink(a, node, maxRequestSize, (*requestLink).manage)
	r.path = path
}

// A call is a request to $management that is being served.
type call struct {
	b            *broker.Broker
	path         engine.Path
	client       string
	c            *conn
	arguments    arguments
	raw          []byte        // the arguments as they were sent
	timeout      time.Duration // how long the client waits for the reply
	linkName     string        // name of the link that the request is for; may be empty
	maxReplySize int64         // maximum size of the reply in bytes; zero if no link is attached for it
	tx           *transaction  // the transaction that the request belongs to, or nil
	request      *request
}

// reserveReplyBytes reserves memory for a reply. Call it before making a reply of which n bytes
// depend on stored data and not on the request.
func (c *call) reserveReplyBytes(ctx context.Context, n int64) error {
	return c.c.reserveReplyBytes(ctx, c.request, n)
}

// callResult is the result of a call. If noContent is set, the status of the reply is 204 instead
// of 200.
type callResult struct {
	noContent bool
	body      []byte // an encoded map; nil for an empty one
	undo      func() // undoes the call if the client does not get the reply; may be nil
}

// operations are the operations of $management (§18.2).
var operations = map[string]func(context.Context, *call) (callResult, error){
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

// defaultTimeout is the time limit of an operation whose client sets none.
const defaultTimeout = 60 * time.Second

// manage serves a request to $management. Requests of one link are served one after the
// other, concurrently with the connection's other work.
func (r *requestLink) manage(m *request) {
	if !r.enqueue(m, r.serveManagement) {
		r.answerError(m, engine.Refuse(engine.ErrBusy, "Too many requests are waiting for answers."))
	}
}

func (r *requestLink) serveManagement(m *request) func() {
	out, err := r.runOperation(m)
	return func() {
		if err != nil {
			r.answerError(m, err)
		} else {
			r.answerOK(m, out)
		}
	}
}

func (r *requestLink) runOperation(m *request) (callResult, error) {
	c := r.s.c
	name, _ := m.applicationProperties.Lookup("operation")
	operation, _ := name.Str()
	serve, ok := operations[operation]
	if !ok {
		return callResult{}, engine.Refuse(engine.ErrNotImplemented, "%s", "The operation '"+operation+"' is not supported at $management.")
	}
	in, err := argumentsOf(m.body)
	if err == nil {
		err = c.checkReplyBacklog()
	}
	if err != nil {
		return callResult{}, err
	}
	wait := defaultTimeout
	for _, key := range []string{"com.microsoft:server-timeout", "server-timeout"} {
		if v, ok := m.applicationProperties.Lookup(key); ok {
			if ms, ok := integerOf(v); ok && ms >= 0 {
				wait = min(time.Duration(ms)*time.Millisecond, time.Hour)
			}
		}
	}
	associated, _ := m.applicationProperties.Lookup("associated-link-name")
	link, _ := associated.Str()
	c.mu.Lock()
	most := int64(0)
	if to := r.s.replyLinkFor(r.node, m.replyTo); to != nil {
		most = int64(min(to.maxReplySize, math.MaxInt64))
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, wait)
	defer cancel()
	if _, err := c.checkRight(ctx, r.path, rightTo(operation)); err != nil {
		return callResult{}, err
	}
	return serve(ctx, &call{b: c.b, path: r.path, client: c.clientName(), c: c, arguments: in, raw: m.body, timeout: wait, linkName: link, maxReplySize: most, tx: m.tx, request: m})
}

func (r *requestLink) answerOK(m *request, out callResult) {
	status, text := int32(200), "OK"
	if out.noContent {
		status, text = 204, "No content"
	}
	body := out.body
	if body == nil {
		body = wire.AppendMap(nil, nil)
	}
	r.answer(m, value.Properties{
		{Name: "statusCode", Value: value.OfInt(status)},
		{Name: "statusDescription", Value: value.OfString(text)},
	}, body, out.undo)
}

func (r *requestLink) answerError(m *request, err error) {
	e, status := errorAndStatus(err)
	if !sas.IsRefused(err) && codec.IsInternal(err) {
		r.s.c.log.Error("a request to $management failed", "container", r.s.c.peer.container, "path", r.path, "err", err)
	}
	r.s.c.logRefusedRequest(m, r.path, e)
	r.answer(m, value.Properties{
		{Name: "statusCode", Value: value.OfInt(status)},
		{Name: "statusDescription", Value: value.OfString(r.s.c.appendTrackingID(e.Condition, e.Description))},
		{Name: "errorCondition", Value: value.OfSymbol(string(e.Condition))},
	}, nil, nil)
}

// resultMap returns a map with one entry.
func resultMap(name string, v value.Value) callResult {
	return callResult{body: wire.AppendMap(nil, value.Properties{{Name: name, Value: v}})}
}

// array returns an array as a value.
func array(of value.Kind, elements []value.Value) value.Value {
	return value.OfRaw(wire.AppendArray(nil, of, elements...))
}

func renewLocks(ctx context.Context, c *call) (callResult, error) {
	tokens, err := c.arguments.lockTokens()
	if err != nil {
		return callResult{}, err
	}
	ends, err := c.b.RenewLocks(ctx, tokens, c.path, c.client)
	if err != nil {
		return callResult{}, err
	}
	out := make([]value.Value, 0, len(ends))
	for _, at := range ends {
		out = append(out, timestamp(at))
	}
	return resultMap("expirations", array(value.Timestamp, out)), nil
}

func timestamp(at engine.Instant) value.Value { return value.OfTimestamp(at.Time().UnixMilli()) }

func cancelScheduled(ctx context.Context, c *call) (callResult, error) {
	seqs, err := c.arguments.sequenceNumbers()
	if err != nil {
		return callResult{}, err
	}
	return callResult{}, c.cancel(ctx, seqs)
}

func batchDelete(ctx context.Context, c *call) (callResult, error) {
	count, err := c.arguments.integer32("message-count", 0)
	if err != nil {
		return callResult{}, err
	}
	before, err := c.arguments.instant("enqueued-time-utc")
	if err != nil {
		return callResult{}, err
	}
	_, ofSession, err := c.arguments.text("session-id")
	if err != nil {
		return callResult{}, err
	}
	n := 0
	if ofSession { // BDEL-8
		var l *broker.Link
		if l, err = c.sessionHolder(); err == nil {
			n, err = l.BatchDelete(ctx, int(count), before)
		}
	} else {
		n, err = c.b.BatchDelete(ctx, c.path, int(count), before, c.client)
	}
	if err != nil || n == 0 {
		return callResult{noContent: true}, err
	}
	return resultMap("message-count", value.OfInt(int32(n))), nil
}

// updateDisposition settles the deliveries with the request's lock tokens (SETL-3), all or none:
// there is one reply for all of them, and if it is a 410, none is settled.
func updateDisposition(ctx context.Context, c *call) (callResult, error) {
	tokens, err := c.arguments.lockTokens()
	if err != nil {
		return callResult{}, err
	}
	status, _, err := c.arguments.text("disposition-status")
	if err != nil {
		return callResult{}, err
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
		if s.Reason, _, err = c.arguments.text("deadletter-reason"); err != nil {
			return callResult{}, err
		}
		if s.Description, _, err = c.arguments.text("deadletter-description"); err != nil {
			return callResult{}, err
		}
	default:
		return callResult{}, engine.Refuse(engine.ErrArgument, "%s", "The disposition-status '"+status+"' is not supported.")
	}
	if s.Modify, err = c.arguments.mapValue("properties-to-modify"); err != nil {
		return callResult{}, err
	}
	if s.Link, err = c.sessionLink(); err != nil { // SES-21
		return callResult{}, err
	}
	all := make([]engine.Settlement, 0, len(tokens))
	for _, t := range tokens {
		s.Token = t
		all = append(all, s)
	}
	return callResult{}, c.settle(ctx, all)
}

// rightTo returns the right that an operation of $management needs. Managing the rules of a
// subscription needs only the right to listen, as receiving from it does.
func rightTo(operation string) engine.Rights {
	switch operation {
	case "com.microsoft:schedule-message", "com.microsoft:cancel-scheduled-message":
		return engine.SendRight
	default:
		return engine.ListenRight
	}
}

// Three operations of $management can take part in a transaction, which their request names as any
// transfer does: scheduling messages, cancelling scheduled messages, and settling deliveries
// (TX-1). The others ignore the transaction and run at once.

// send schedules messages. Messages in a transaction have no sequence numbers before the
// commit (TX-4), so send returns zeros for them.
func (c *call) send(ctx context.Context, out []broker.Outgoing) ([]engine.Seq, error) {
	if c.tx == nil {
		return c.b.Send(ctx, c.path, out, c.client)
	}
	return make([]engine.Seq, len(out)), c.tx.enqueueAndWait(func() error { return c.tx.inSession(c.request.s).Send(c.c.s.ctx, c.path, out) })
}

func (c *call) settle(ctx context.Context, all []engine.Settlement) error {
	if c.tx == nil {
		return c.b.SettleAll(ctx, all)
	}
	return c.tx.enqueueAndWait(func() error { return c.tx.inSession(c.request.s).SettleAll(c.c.s.ctx, all) })
}

func (c *call) cancel(ctx context.Context, seqs []engine.Seq) error {
	if c.tx == nil {
		return c.b.CancelScheduled(ctx, c.path, seqs, c.client)
	}
	return c.tx.enqueueAndWait(func() error { return c.tx.inSession(c.request.s).CancelScheduled(c.c.s.ctx, c.path, seqs) })
}
