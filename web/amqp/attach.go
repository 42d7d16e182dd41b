package amqp

import (
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/web/amqp/wire"
)

// longestLinkName is how many bytes the name of a link may have, and the address of
// its target: they are kept as long as the link is there.
const longestLinkName = 4 << 10

// attach answers an attach, at once or when the broker has.
func (s *session) attach(a *wire.Attach) error {
	switch {
	case s.links[a.Handle].link != nil:
		return &wire.ProtocolError{Condition: wire.CondHandleInUse, Text: fmt.Sprintf("Handle %d is in use.", a.Handle)}
	case len(a.Name) > longestLinkName || a.Target != nil && len(a.Target.Address.Or("")) > longestLinkName:
		s.refuse(a, &wire.Error{
			Condition:   wire.CondInvalidField,
			Description: fmt.Sprintf("The name of a link and the address of its target may have %d bytes.", longestLinkName),
		})
		return nil
	case s.c.links >= s.c.limits.links:
		s.refuse(a, &wire.Error{
			Condition:   wire.CondResourceLimitExceeded,
			Description: fmt.Sprintf("The connection has %d links, which is the most it may have.", s.c.links),
		})
		return nil
	}
	if a.Coordinator != nil {
		if a.Role != wire.RoleSender {
			s.refuse(a, &wire.Error{Condition: wire.CondNotAllowed, Description: "Nothing is received from a coordinator."})
		} else {
			s.attachCoordinator(a)
		}
		return nil
	}
	address, ok := address(a)
	if !ok {
		s.refuse(a, &wire.Error{Condition: wire.CondInvalidField, Description: "The link names no entity."})
		return nil
	}
	switch node, kind := nodeOf(address); {
	case kind == cbsNode:
		s.attachCBS(a)
	case kind == managementNode:
		s.attachManagement(a, node)
	case a.Role == wire.RoleSender:
		s.attachInlet(a, node)
	default:
		s.attachOutlet(a, node)
	}
	return nil
}

// mostAttaching is how many attaches of a connection may wait for the broker
// before nothing more is read of the client, whether their links are there still
// or not.
const mostAttaching = 1_000

// attachWith has the broker be asked about an attach, without the mutex and after
// what was noted before, and then called with it held.
func (c *conn) attachWith(ask func() (then func())) {
	if c.attaching++; c.attaching >= mostAttaching {
		c.halt = func() {
			c.await(c.moved, func() bool {
				c.mu.Lock()
				defer c.mu.Unlock()
				return c.attaching >= mostAttaching
			})
		}
	}
	c.note(func() {
		c.work.Go(func() {
			then := ask()
			c.mail.do(func() {
				c.attaching--
				then()
			})
		})
	})
}

// join has a link be one of the session's. One of the same name and direction
// that is there is ended: the client has taken it up again (AMQP 1.0, part 2,
// 2.6.1).
func (s *session) join(a *wire.Attach, l link) {
	name := linkName{a.Name, a.Role}
	if old, ok := s.names[name]; ok {
		s.detach(old, stolen())
	}
	if s.names == nil {
		s.names = map[linkName]uint32{}
	}
	s.names[name] = a.Handle
	delete(s.crossing, a.Handle)
	s.links[a.Handle] = attached{l, name, identifierOf(a), time.Now()}
	s.c.links++
}

// leave takes a link out of the session.
func (s *session) leave(handle uint32) {
	if l, ok := s.links[handle]; ok {
		delete(s.links, handle)
		delete(s.names, l.name)
		s.c.links--
	}
}

// address is what a link of the client is to: the target of a sender, the source
// of a receiver.
func address(a *wire.Attach) (string, bool) {
	switch {
	case a.Role == wire.RoleSender && a.Target != nil:
		return a.Target.Address.Get()
	case a.Role == wire.RoleReceiver && a.Source != nil:
		return a.Source.Address.Get()
	}
	return "", false
}

type nodeKind uint8

const (
	entityNode nodeKind = iota
	cbsNode
	managementNode
)

// nodeOf is what an address means: "q", "/q", "sb://host/q" and "q/$management".
// Case does not matter: Java's SDK writes "q/$deadletterqueue".
func nodeOf(address string) (engine.Path, nodeKind) {
	if scheme, rest, ok := strings.Cut(address, "://"); ok && scheme != "" && !strings.Contains(scheme, "/") {
		_, address, _ = strings.Cut(rest, "/")
	}
	address = strings.TrimPrefix(address, "/")
	if strings.EqualFold(address, "$cbs") {
		return "", cbsNode
	}
	const suffix = "/$management"
	if n := len(address) - len(suffix); n >= 0 && strings.EqualFold(address[n:], suffix) {
		return engine.CanonicalPath(address[:n]), managementNode
	}
	return engine.CanonicalPath(address), entityNode
}

// refuse answers an attach with one that has no terminus on this side, and a
// detach with the reason right behind it (rule 8).
func (s *session) refuse(a *wire.Attach, why *wire.Error) {
	at, _ := address(a)
	s.c.refused(at, why)
	answer := s.answer(a)
	if a.Role == wire.RoleSender {
		answer.Target, answer.Coordinator = nil, nil
	} else {
		answer.Source = nil
	}
	s.send(answer)
	s.send(&wire.Detach{Handle: a.Handle, Closed: true, Error: why})
}

// answer is an attach that agrees to what the client asked for (rule 7).
func (s *session) answer(a *wire.Attach) *wire.Attach {
	out := &wire.Attach{
		Name: a.Name, Handle: a.Handle, Role: !a.Role,
		SenderSettleMode: a.SenderSettleMode, ReceiverSettleMode: a.ReceiverSettleMode,
		Source: a.Source, Target: a.Target, Coordinator: a.Coordinator,
		MaxMessageSize: wire.Some(uint64(s.c.b.Limits().MessageSize)),
		Properties:     value.Properties{},
	}
	if out.Role == wire.RoleSender {
		out.InitialDeliveryCount = wire.Some[uint32](0)
		// Go's SDK refuses what is larger. A queue may have larger messages than most,
		// and they have got annotations, and reasons why they are dead.
		l := s.c.b.Limits()
		out.MaxMessageSize = wire.Some(uint64(max(l.MessageSize, l.MaxKilobytes<<10)) + 1<<20)
	}
	return out
}
