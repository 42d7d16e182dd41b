package amqp

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// maxLinkNameLength is the maximum length, in bytes, of a link's name and of the addresses
// of its source and target.
const maxLinkNameLength = 4 << 10

// handleAttach handles an attach whose encoding has size bytes. The answer may have to wait for
// the broker.
func (s *session) handleAttach(a *wire.Attach, size int) error {
	address, named := linkAddress(a)
	kind, node := coordinatorNode, engine.Path("")
	if a.Coordinator == nil {
		node, kind = parseAddress(address)
	}
	switch {
	case s.links[a.Handle].link != nil:
		return &wire.ProtocolError{Condition: wire.CondHandleInUse, Text: fmt.Sprintf("Handle %d is in use.", a.Handle)}
	case s.checkHandle(a.Handle) != nil:
		return s.checkHandle(a.Handle)
	case len(a.Name) > maxLinkNameLength || len(address) > maxLinkNameLength || a.Target != nil && len(a.Target.Address.Or("")) > maxLinkNameLength:
		s.refuseAttach(a, &wire.Error{
			Condition:   wire.CondInvalidField,
			Description: fmt.Sprintf("The name of a link and the addresses of its source and target may have at most %d bytes.", maxLinkNameLength),
		})
		return nil
	case s.c.links >= s.c.limits.links:
		s.refuseAttach(a, &wire.Error{
			Condition:   wire.CondResourceLimitExceeded,
			Description: fmt.Sprintf("The connection already has %d links, the maximum. Detach one first.", s.c.links),
		})
		return nil
	case kind == coordinatorNode && a.Role != wire.RoleSender:
		s.refuseAttach(a, &wire.Error{Condition: wire.CondNotAllowed, Description: "A receiver cannot attach to a coordinator."})
		return nil
	case kind != coordinatorNode && isDynamic(a):
		s.refuseAttach(a, &wire.Error{Condition: wire.CondNotImplemented, Description: "Dynamic nodes, such as temporary queues, are not supported. Create a queue and attach the link to it."})
		return nil
	case kind != coordinatorNode && !named && a.Role == wire.RoleSender:
		s.refuseAttach(a, &wire.Error{Condition: wire.CondNotImplemented, Description: "Anonymous targets, where each message names its destination, are not supported. Attach a link to the queue or topic."})
		return nil
	case kind != coordinatorNode && !named:
		s.refuseAttach(a, &wire.Error{Condition: wire.CondInvalidField, Description: "The source of the link has no address. Attach it to a queue or a subscription."})
		return nil
	}
	if err := s.c.checkAttachAllowed(a, kind); err != nil {
		s.refuseAttach(a, errorOf(err))
		return nil
	}
	if s.c.linkBudgetLeft() < linkCost+int64(size) {
		s.refuseAttach(a, s.c.overBudget("link"))
		return nil
	}
	switch {
	case kind == coordinatorNode:
		s.attachCoordinator(a)
	case kind == cbsNode:
		s.attachCBS(a)
	case kind == managementNode:
		s.attachManagement(a, node)
	case a.Role == wire.RoleSender:
		s.attachReceiver(a, node, size)
	default:
		s.attachSender(a, node, size)
	}
	return nil
}

// maxPendingAttaches is the number of attaches, waiting for the broker, at which the server stops
// reading from the client. Attaches whose links no longer exist count too.
const maxPendingAttaches = 1_000

// attachAsync calls `ask` in a goroutine, without the mutex and after the work that the reader has
// queued. It then calls the function that `ask` returned, with the mutex held. If too many attaches
// are pending, it makes the reader wait.
func (c *conn) attachAsync(ask func() (then func())) {
	if c.pendingAttaches++; c.pendingAttaches >= maxPendingAttaches {
		c.readerWait = func() {
			c.waitWhile(c.readerSignal, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.pendingAttaches >= maxPendingAttaches
			})
		}
	}
	c.queueReaderWork(func() {
		c.background.Go(func() {
			then := ask()
			c.mail.call(func() {
				c.pendingAttaches--
				then()
			})
		})
	})
}

// addLink adds a link to the session. It first detaches a link of the same name and direction,
// which the client has attached again (AMQP 1.0, part 2, 2.6.1). `waits` is the size in bytes of an
// attach that has yet to be answered, or 0. It counts in the budget until attachAnswered is called.
func (s *session) addLink(a *wire.Attach, l link, waits int) {
	name := linkNameFor(a.Name, a.Role)
	if old, ok := s.names[name]; ok {
		s.detach(old, stolenError())
	}
	if s.names == nil {
		s.names = map[linkName]uint32{}
	}
	s.names[name] = a.Handle
	delete(s.detachedLinks, a.Handle)
	is := attachedLink{link: l, name: name, identifier: identifierOf(a), since: time.Now(), attachBytes: waits, attachNumber: s.transactionScope.countAttach(l)}
	if waits > 0 {
		is.pendingAttach = a
	}
	s.links[a.Handle] = is
	s.c.links++
	s.c.addLinkBytes(linkCost + int64(waits))
}

// attachAnswered records that a link's attach has been answered, and takes its bytes out of the
// budget.
func (s *session) attachAnswered(handle uint32) {
	if l, ok := s.links[handle]; ok && l.attachBytes > 0 {
		s.c.addLinkBytes(-int64(l.attachBytes))
		l.attachBytes, l.pendingAttach = 0, nil
		s.links[handle] = l
	}
}

// addSelectorBytes counts n bytes of a link's selector in the budget until the link is removed.
func (s *session) addSelectorBytes(handle uint32, n int) {
	if l, ok := s.links[handle]; ok {
		s.c.addLinkBytes(int64(n))
		l.selectorBytes += n
		s.links[handle] = l
	}
}

// removeLink removes a link from the session.
func (s *session) removeLink(handle uint32) {
	if l, ok := s.links[handle]; ok {
		delete(s.links, handle)
		delete(s.names, l.name)
		s.c.links--
		s.c.addLinkBytes(-linkCost - int64(l.attachBytes+l.selectorBytes))
		if at, ok := l.link.(interface{ weigh() *linkUse }); ok {
			s.c.setLinkUse(at.weigh(), linkUse{})
		}
	}
}

// linkAddress returns the address of a client's link: the target's for a sender, the source's for a
// receiver. It reports false if the link has no address.
func linkAddress(a *wire.Attach) (string, bool) {
	switch {
	case a.Role == wire.RoleSender && a.Target != nil:
		return a.Target.Address.Get()
	case a.Role == wire.RoleReceiver && a.Source != nil:
		return a.Source.Address.Get()
	}
	return "", false
}

// isDynamic reports whether a link asks the server to create its node.
func isDynamic(a *wire.Attach) bool {
	if a.Role == wire.RoleSender {
		return a.Target != nil && a.Target.Dynamic
	}
	return a.Source != nil && a.Source.Dynamic
}

type nodeKind uint8

const (
	entityNode nodeKind = iota
	cbsNode
	managementNode
	coordinatorNode
)

// parseAddress returns the entity and the kind of node that an address names, such as "q", "/q",
// "sb://host/q" or "q/$management". Case does not matter: Java's SDK writes "q/$deadletterqueue".
func parseAddress(address string) (engine.Path, nodeKind) {
	if scheme, rest, ok := strings.Cut(address, "://"); ok && scheme != "" && !strings.Contains(scheme, "/") {
		_, address, _ = strings.Cut(rest, "/")
	}
	address = strings.TrimPrefix(address, "/")
	if strings.EqualFold(address, "$cbs") {
		return "", cbsNode
	}
	const suffix = "/$management"
	if n := len(address) - len(suffix); n >= 0 && strings.EqualFold(address[n:], suffix) {
		return clonePath(engine.CanonicalPath(address[:n])), managementNode
	}
	return clonePath(engine.CanonicalPath(address)), entityNode
}

// clonePath returns a copy of p that does not keep its frame in memory: the strings of a frame
// share one copy of its text.
func clonePath(p engine.Path) engine.Path { return engine.Path(strings.Clone(string(p))) }

// refuseAttach answers an attach with one that lacks the server's terminus, and a detach with
// the reason right after it (§18.1).
func (s *session) refuseAttach(a *wire.Attach, why *wire.Error) {
	at, _ := linkAddress(a)
	s.c.logRefused(at, why)
	s.send(s.attachWithoutTerminus(a))
	s.send(&wire.Detach{Handle: a.Handle, Closed: true, Error: why})
}

// attachWithoutTerminus returns an answer to an attach that lacks the server's terminus, which
// announces a detach. A detach is only sent for a link whose attach has been answered: AMQPNetLite
// closes its connection for any other detach, and rhea ignores it.
func (s *session) attachWithoutTerminus(a *wire.Attach) *wire.Attach {
	answer := s.attachAnswer(a)
	if a.Role == wire.RoleSender {
		answer.Target, answer.Coordinator = nil, nil
	} else {
		answer.Source = nil
	}
	return answer
}

// attachAnswer returns the answer to an attach, with the supported part of what the client asked
// for (§18.1).
func (s *session) attachAnswer(a *wire.Attach) *wire.Attach {
	out := &wire.Attach{
		Name: a.Name, Handle: a.Handle, Role: !a.Role,
		SenderSettleMode: a.SenderSettleMode, ReceiverSettleMode: a.ReceiverSettleMode,
		Source: a.Source, Target: a.Target, Coordinator: a.Coordinator,
		MaxMessageSize: wire.Some(uint64(s.c.b.Limits().MessageSize)),
		Properties:     value.Properties{},
	}
	setSettleModes(out)
	if out.Role == wire.RoleReceiver {
		out.Target = supportedTarget(a.Target)
	} else {
		out.Source = supportedSource(a.Source)
	}
	if out.Role == wire.RoleSender {
		out.InitialDeliveryCount = wire.Some[uint32](0)
		out.MaxMessageSize = wire.Some(s.c.maxOutgoingMessage())
	}
	return out
}

// maxOutgoingMessage returns the maximum size, in bytes, of a message to the client: a delivery, or
// a reply of $management with deferred messages. Go's SDK and .NET's end a link on which
// a message is larger than announced. A queue may have messages larger than the current
// limits, and the broker has added annotations and dead-letter reasons.
func (c *conn) maxOutgoingMessage() uint64 {
	return uint64(max(maxRequestSize, c.b.Limits().MaxKilobytes<<10)) + 1<<20
}

// batchSize is the link property, for links on which a client sends, with the maximum size of a
// batch in bytes. SDKs that do not find it use max-message-size, which is larger for entities that
// accept large messages.
const batchSize = "com.microsoft:max-message-batch-size"

// linkDetach is the expiry policy of every terminus: a link's state is dropped when it is
// detached, closed or not, because links are never resumed.
const linkDetach = "link-detach"

// outcomes are the outcomes with which a receiver may settle.
var outcomes = []string{"amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"} //nolint:gochecknoglobals // never changed

// supportedSource returns the supported part of the source that a receiver asks for, for the answer
// to its attach. The caller adds the supported filters.
//
// In AMQP, an answer contains the settings that are in force. The sending end decides about the
// source, and the receiving end about the target (part 2, 2.6.3). So the answer repeats the
// client's own terminus unchanged, but has only the supported part of the server's terminus, so
// that the client does not rely on the rest.
func supportedSource(asked *wire.Source) *wire.Source {
	if asked == nil {
		return nil
	}
	s := &wire.Source{Address: asked.Address, ExpiryPolicy: supportedExpiryPolicy(asked.ExpiryPolicy)}
	if asked.DistributionMode.IsSet() {
		s.DistributionMode = wire.Some(distributionMove) // even if the client asked for another mode
	}
	for _, o := range asked.Outcomes {
		if slices.Contains(outcomes, o) {
			s.Outcomes = append(s.Outcomes, o)
		}
	}
	return s
}

// supportedTarget returns the supported part of the target that a sender asks for, as supportedSource
// does.
func supportedTarget(asked *wire.Target) *wire.Target {
	if asked == nil {
		return nil
	}
	return &wire.Target{Address: asked.Address, ExpiryPolicy: supportedExpiryPolicy(asked.ExpiryPolicy)}
}

func supportedExpiryPolicy(asked wire.Opt[string]) wire.Opt[string] {
	if asked.IsSet() {
		return wire.Some(linkDetach)
	}
	return asked
}

// setSettleModes sets the settle modes of an answer. Deliveries from a client are settled as soon
// as they are answered, which is the mode ReceiverFirst.
func setSettleModes(answer *wire.Attach) {
	if answer.Role == wire.RoleReceiver && answer.ReceiverSettleMode.IsSet() {
		answer.ReceiverSettleMode = wire.Some(wire.ReceiverFirst)
	}
}

// The distribution modes (part 3, 3.5.7).
const (
	distributionMove = "move"
	distributionCopy = "copy"
)

// batchSizeProperties returns the properties of the attach that answers a sending client. `most` is
// the maximum size of a message in bytes.
func (s *session) batchSizeProperties(most uint64) value.Properties {
	limits := s.c.b.Limits()
	n := min(most, uint64(limits.MaxBatchSize()))
	return value.Properties{{Name: batchSize, Value: value.OfULong(n)}}
}
