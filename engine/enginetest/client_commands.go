package enginetest

import (
	"context"
	"fmt"
	"io"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// LockedMessage is a locked message as its receiver sees it.
type LockedMessage struct {
	Token engine.LockToken
	Path  engine.Path
	Seq   engine.Seq
}

// DoForClient runs a client's command directly at the broker, for a protocol that does not
// support it, so that its scenarios can continue. It does not return the result. held contains
// the received messages by body, and fetching adds to it. Commands that are not clients' are
// for Do.
func (h *Operator) DoForClient(ctx context.Context, c Command, held map[string]LockedMessage) ([]string, error) {
	if c.Name == "limit" {
		return h.Do(ctx, c)
	}
	b, err := h.Broker()
	if err != nil {
		return nil, err
	}
	switch c.Name {
	case "defer", "release", "dead-letter":
		err = settleForClient(ctx, b, c, held)
	case "fetch":
		err = fetchForClient(ctx, b, c, held)
	case "peek":
		var from engine.Seq
		if from, err = number(c.Options["from"]); err == nil {
			_, err = b.Peek(ctx, c.path(0), from, 250, actor)
		}
	case "cancel":
		var seqs []engine.Seq
		if seqs, err = numbersOf(c.Args[1:]); err == nil {
			err = b.CancelScheduled(ctx, c.path(0), seqs, actor)
		}
	case "rules":
		for _, name := range c.Args[1:] {
			if add, ok := strings.CutPrefix(name, "+"); ok {
				err = b.AddRule(ctx, c.path(0), engine.Rule{Name: add}, actor)
			} else {
				err = b.RemoveRule(ctx, c.path(0), strings.TrimPrefix(name, "-"), actor)
			}
		}
	default:
		return h.Do(ctx, c)
	}
	if err == nil {
		err = ErrNoResult
	}
	return nil, asRefused(err)
}

func settleForClient(ctx context.Context, b *broker.Broker, c Command, held map[string]LockedMessage) error {
	m, ok := held[c.Arg(0)]
	if !ok {
		return fmt.Errorf("nobody received %q", c.Arg(0))
	}
	s := engine.Settlement{Token: m.Token, Path: m.Path, Client: actor, Reason: c.Options["reason"], Description: c.Options["description"]}
	for _, o := range []engine.Outcome{engine.Defer, engine.DeadLetter, engine.Release} {
		if o.String() == c.Name {
			s.Outcome = o
		}
	}
	for _, name := range c.Names {
		if name != "reason" && name != "description" {
			s.Modify = append(s.Modify, value.Property{Name: name, Value: value.OfString(c.Options[name])})
		}
	}
	each, err := b.Settle(ctx, s)
	if err == nil {
		err = each[0]
	}
	return err
}

func fetchForClient(ctx context.Context, b *broker.Broker, c Command, held map[string]LockedMessage) error {
	seqs, err := c.Numbers(1)
	if err != nil {
		return err
	}
	var all []engine.Seq
	for _, n := range seqs {
		all = append(all, engine.Seq(n))
	}
	got, err := b.ReceiveDeferred(ctx, c.path(0), all, engine.PeekLock, actor)
	for _, m := range got {
		body, e := io.ReadAll(m.Body)
		if e != nil {
			return e
		}
		_ = m.Body.Close()
		held[string(body)] = LockedMessage{Token: m.Token(), Path: m.Path, Seq: m.Message.Seq}
	}
	return err
}
