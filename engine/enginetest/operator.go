package enginetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// An Operator opens a broker and runs the commands on it that are not clients' commands. A Protocol
// gets its broker from it.
type Operator struct {
	open      func(engine.Limits) (*broker.Broker, error)
	limits    engine.Limits
	broker    *broker.Broker
	lastEvent uint64 // number of the last event that a command showed
}

// NewOperator returns an Operator that calls open at the first command that is not about limits. The
// caller of NewOperator closes the broker.
func NewOperator(open func(engine.Limits) (*broker.Broker, error)) *Operator {
	return &Operator{open: open, limits: engine.DefaultLimits()}
}

// Broker returns the operator's broker, and opens it if necessary.
func (h *Operator) Broker() (*broker.Broker, error) {
	if h.broker != nil {
		return h.broker, nil
	}
	b, err := h.open(h.limits)
	h.broker = b
	return b, err
}

// Do runs an operator's command. For a client's command it returns ErrUnsupported.
func (h *Operator) Do(ctx context.Context, c Command) (lines []string, err error) {
	if c.Name == "limit" {
		return nil, h.limit(c)
	}
	b, err := h.Broker()
	if err != nil {
		return nil, err
	}
	switch c.Name {
	case "create", "update":
		err = h.describe(ctx, b, c)
	case "delete":
		err = b.Delete(ctx, c.path(0), broker.Unconfirmed, actor)
	case "counts":
		s, e := h.state(ctx, b, c.path(0))
		lines, err = []string{countsLine(s.Counts)}, e
	case "entities":
		err = b.Read(ctx, func(r broker.Reader) error {
			lines = nil
			for _, s := range r.States(0) {
				lines = append(lines, string(s.Path))
			}
			return nil
		})
	case "events":
		lines, err = h.events(ctx, b)
	case "operate":
		lines, err = h.operate(ctx, b, c)
	case "purge":
		classes, e := classesOf(c.Args[1:])
		if e != nil {
			return nil, e
		}
		p, e := b.Purge(ctx, c.path(0), classes, broker.Unconfirmed, actor)
		lines, err = []string{purgeLine(p)}, e
	case "batch-delete":
		n, e := strconv.Atoi(c.Arg(1))
		if e != nil {
			return nil, fmt.Errorf("how many: %w", e)
		}
		n, err = b.BatchDelete(ctx, c.path(0), n, 0, actor)
		lines = []string{strconv.Itoa(n)}
	case "touch":
		err = b.Touch(ctx, c.path(0), actor)
	case "pin":
		err = b.Pin(ctx, c.path(0), actor)
	case "unpin":
		err = b.Unpin(ctx, c.path(0), actor)
	case "break-session":
		err = b.BreakSession(ctx, c.path(0), c.Arg(1), actor)
	default:
		return nil, ErrUnsupported
	}
	if err != nil {
		return nil, asRefused(err)
	}
	return lines, nil
}

func (h *Operator) limit(c Command) error {
	if h.broker != nil {
		return errors.New("limits come before entities")
	}
	if err := h.limits.Set(c.Arg(0), c.Arg(1)); err != nil {
		return fmt.Errorf("set a limit: %w", err)
	}
	return nil
}

func (h *Operator) state(ctx context.Context, b *broker.Broker, p engine.Path) (s engine.EntityState, err error) {
	err = b.Read(ctx, func(r broker.Reader) (err error) {
		s, err = r.State(p)
		return err
	})
	return s, err
}

func (h *Operator) describe(ctx context.Context, b *broker.Broker, c Command) error {
	d, err := parseEntityRequest(c, h.limits, func(p engine.Path) (engine.EntityState, error) { return h.state(ctx, b, p) })
	switch {
	case err != nil:
	case c.Name == "create":
		_, err = b.Create(ctx, d.kind, d.path, d.config, actor)
	default:
		_, err = b.Update(ctx, d.path, d.config, actor)
	}
	return err
}

// events returns the events since the last call, except those of the server itself.
func (h *Operator) events(ctx context.Context, b *broker.Broker) (lines []string, err error) {
	if _, err := b.Now(ctx); err != nil { // runs a turn, so that all due work is done
		return nil, err
	}
	for h.lastEvent < b.Events().Last() {
		events, lost, err := b.Events().After(ctx, h.lastEvent)
		if err != nil || lost > 0 {
			return nil, errors.Join(err, fmt.Errorf("%d events are lost", lost))
		}
		for _, e := range events {
			h.lastEvent = e.N
			switch e.Kind {
			case engine.EventStarted, engine.EventStopped, engine.EventReadOnly, engine.EventWritable, engine.EventReopened, engine.EventGap, engine.EventMemoryFull, engine.EventMemoryFree:
				continue
			}
			content, err := e.Content.Content()
			if err != nil {
				return nil, err
			}
			lines = append(lines, eventLine(e, strings.TrimRight(content.Preview, " ")))
		}
	}
	return lines, nil
}

func (h *Operator) operate(ctx context.Context, b *broker.Broker, c Command) ([]string, error) {
	seq, err := number(c.Arg(2))
	if err != nil {
		return nil, err
	}
	var rows []engine.Row
	var now engine.Instant
	err = b.Read(ctx, func(r broker.Reader) (err error) {
		now = r.Now
		rows, err = r.Browse(engine.Browse{Path: c.path(1), From: seq, Limit: 1})
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || rows[0].Message.Seq != seq {
		return nil, engine.ErrMessageNotFound
	}
	k := rows[0].Message.Key
	var at engine.Instant
	if text := c.Options["in"]; text != "" {
		d, _, err := engine.ParseDuration(text)
		if err != nil {
			return nil, err
		}
		at = now.Add(d)
	}
	switch verb := c.Arg(0); verb {
	case "resubmit", "move":
		seq, err = b.Move(ctx, engine.Move{Key: k, To: canonical(c.Options["to"]), Copy: c.Arg(3) == "copy", DropDuplicate: slices.Contains(c.Args, "drop")}, actor)
	case "reschedule":
		seq, err = b.Reschedule(ctx, k, at, actor)
	default:
		return nil, operateSilently(ctx, b, verb, k, at)
	}
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("#%d", seq)}, nil
}

func operateSilently(ctx context.Context, b *broker.Broker, verb string, k engine.Key, at engine.Instant) (err error) {
	switch verb {
	case "extend":
		return b.Extend(ctx, k, at, actor)
	case "return":
		return b.ReturnToActive(ctx, k, actor)
	case "dead-letter":
		return b.DeadLetterMessage(ctx, k, "", "", actor)
	case "delete":
		return b.DeleteMessage(ctx, k, actor)
	case "break-lock":
		return b.BreakLock(ctx, k, actor)
	case "renew":
		_, err = b.RenewLockFor(ctx, k, actor)
		return err
	case "send-now":
		return b.SendNow(ctx, k, actor)
	default:
		return fmt.Errorf("an operator cannot %q", verb)
	}
}
