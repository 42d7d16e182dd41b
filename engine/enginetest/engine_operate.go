package enginetest

import (
	"fmt"
	"slices"
	"strconv"

	"mayfly/engine"
)

func (x *Engine) operate(c Command) ([]string, error) {
	seq, err := number(c.Arg(2))
	if err != nil {
		return nil, err
	}
	rows, err := x.ns.Browse(engine.Browse{Path: c.path(1), From: seq, Limit: 1})
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
		at = x.now.Add(d)
	}
	switch c.Arg(0) {
	case "resubmit", "move":
		seq, err = x.ns.Move(x.now, engine.Move{Key: k, To: canonical(c.Options["to"]), Copy: c.Arg(3) == "copy", DropDuplicate: slices.Contains(c.Args, "drop")}, actor)
	case "reschedule":
		seq, err = x.ns.Reschedule(x.now, k, at, actor)
	default:
		return nil, x.operateSilently(c.Arg(0), k, at)
	}
	if err != nil {
		return nil, err
	}
	return []string{fmt.Sprintf("#%d", seq)}, nil
}

func (x *Engine) operateSilently(verb string, k engine.Key, at engine.Instant) (err error) {
	switch verb {
	case "extend":
		return x.ns.Extend(x.now, k, at, actor)
	case "return":
		return x.ns.ReturnToActive(x.now, k, actor)
	case "dead-letter":
		return x.ns.DeadLetterMessage(x.now, k, "", "", actor)
	case "delete":
		return x.ns.DeleteMessage(x.now, k, actor)
	case "break-lock":
		return x.ns.BreakLock(x.now, k, actor)
	case "renew":
		_, err = x.ns.RenewLockFor(x.now, k, actor)
		return err
	case "send-now":
		return x.ns.SendNow(x.now, k, actor)
	default:
		return fmt.Errorf("an operator cannot %q", verb)
	}
}

func (x *Engine) removeMany(c Command) ([]string, error) {
	if c.Name == "batch-delete" {
		n, err := strconv.Atoi(c.Arg(1))
		if err != nil {
			return nil, fmt.Errorf("how many: %w", err)
		}
		done, err := x.ns.BatchDelete(x.now, c.path(0), n, x.now, actor)
		if err != nil {
			return nil, err
		}
		return []string{strconv.Itoa(done)}, nil
	}
	classes, err := classesOf(c.Args[1:])
	if err != nil {
		return nil, err
	}
	p, err := x.ns.BeginPurge(x.now, c.path(0), classes)
	for err == nil && !p.Done {
		err = x.ns.PurgeSlice(x.now, &p, 2, actor)
	}
	if err != nil {
		return nil, err
	}
	return []string{purgeLine(p)}, nil
}
