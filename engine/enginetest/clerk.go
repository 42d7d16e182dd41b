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

// Held is a message under a lock, as whoever received it knows it.
type Held struct {
	Token engine.LockToken
	Path  engine.Path
	Seq   engine.Seq
}

// Clerk does at the broker what clients of other doors do, for a door that has
// no words for it: so that its stories can go on. It does not tell what that
// shows. Held are the messages that were received, by body, which it adds to
// when it fetches. What no client does is the house's.
func (h *House) Clerk(ctx context.Context, c Command, held map[string]Held) ([]string, error) {
	if c.Name == "limit" {
		return h.Do(ctx, c)
	}
	b, err := h.Broker()
	if err != nil {
		return nil, err
	}
	switch c.Name {
	case "defer", "release", "dead-letter":
		err = clerkSettles(ctx, b, c, held)
	case "fetch":
		err = clerkFetches(ctx, b, c, held)
	case "peek":
		var from engine.Seq
		if from, err = number(c.Options["from"]); err == nil {
			_, err = b.Peek(ctx, c.path(0), from, 250, actor)
		}
	case "cancel":
		var seqs []engine.Seq
		if seqs, err = numbersOf(c.Args[1:]); err == nil {
			err = b.Cancel(ctx, c.path(0), seqs, actor)
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
		err = ErrUntold
	}
	return nil, word(err)
}

func clerkSettles(ctx context.Context, b *broker.Broker, c Command, held map[string]Held) error {
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

func clerkFetches(ctx context.Context, b *broker.Broker, c Command, held map[string]Held) error {
	seqs, err := c.Numbers(1)
	if err != nil {
		return err
	}
	var all []engine.Seq
	for _, n := range seqs {
		all = append(all, engine.Seq(n))
	}
	got, err := b.Fetch(ctx, c.path(0), all, engine.PeekLock, actor)
	for _, m := range got {
		body, e := io.ReadAll(m.Body)
		if e != nil {
			return e
		}
		_ = m.Body.Close()
		held[string(body)] = Held{Token: m.Token(), Path: m.Path, Seq: m.Message.Seq}
	}
	return err
}
