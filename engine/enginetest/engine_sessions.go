package enginetest

import (
	"fmt"
	"slices"
	"strconv"

	"mayfly/engine"
)

// session runs the commands about sessions.
func (x *Engine) session(c Command) ([]string, error) {
	id := x.receivers[c.Arg(0)]
	switch c.Name {
	case "accept":
		return nil, x.accept(c)
	case "take":
		n := 1
		if text := c.Options["n"]; text != "" {
			var err error
			if n, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("n: %w", err)
			}
		}
		return nil, x.endReason(id, x.ns.Credit(x.now, id, n))
	case "leave":
		x.ns.Detach(x.now, id, engine.DetachedLost)
		delete(x.open, id)
		return nil, nil
	case "renew-session":
		_, err := x.ns.RenewSession(x.now, id)
		return nil, err
	case "state":
		return x.state(c, id)
	case "break-session":
		return nil, x.ns.BreakSession(x.now, c.path(0), c.Arg(1), actor)
	default:
		return x.list(c)
	}
}

func (x *Engine) accept(c Command) error {
	x.links++
	l := engine.Link{ID: engine.LinkID(x.links), Path: c.path(0), Client: actor, NoWait: true, Session: engine.SessionRequest{Want: engine.NextSession}}
	args := slices.DeleteFunc(slices.Clone(c.Args), func(a string) bool { return a == "delete" })
	if len(args) < len(c.Args) {
		l.Mode = engine.ReceiveAndDelete
	}
	if len(args) > 1 {
		l.Session = engine.SessionRequest{Want: engine.NamedSession, ID: args[1]}
	}
	if err := x.ns.Attach(x.now, l); err != nil {
		return err
	}
	x.open[l.ID] = true
	x.receivers[c.Options["as"]] = l.ID
	return nil
}

// accepted returns the result of the last accept. It may run more than one turn, because an accept
// takes several if much work is due in the subqueue.
func (x *Engine) accepted(err error) ([]string, error) {
	if err != nil {
		return nil, err
	}
	id := engine.LinkID(x.links)
	for x.granted[id] == "" && x.open[id] && x.broken == nil {
		x.turn()
	}
	if x.granted[id] != "" {
		return []string{x.granted[id]}, nil
	}
	return nil, x.ended[id]
}

// sessionMessages takes back the unused credit of a session's receiver, and returns the messages that
// it got.
func (x *Engine) sessionMessages(c Command) []string {
	id := x.receivers[c.Arg(0)]
	for !x.ns.Drain(x.now, id) && x.broken == nil {
		x.turn()
	}
	return x.received(id)
}

// endReason returns err, or the reason why the link ended, which is more specific.
func (x *Engine) endReason(id engine.LinkID, err error) error {
	if why := x.ended[id]; err != nil && why != nil {
		return why
	}
	return err
}

func (x *Engine) state(c Command, id engine.LinkID) ([]string, error) {
	text, sets := c.Options["set"]
	switch {
	case sets:
		return nil, x.ns.SetSessionState(x.now, id, &text)
	case c.Arg(1) == "clear":
		return nil, x.ns.SetSessionState(x.now, id, nil)
	}
	text, set, err := x.ns.SessionState(x.now, id)
	if err == nil && !set {
		text = "none"
	}
	return []string{text}, err
}

func (x *Engine) list(c Command) ([]string, error) {
	skip, top := 0, 100
	for name, n := range map[string]*int{"skip": &skip, "top": &top} {
		if text := c.Options[name]; text != "" {
			var err error
			if *n, err = strconv.Atoi(text); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	l := engine.SessionList{Path: c.path(0), Skip: skip, Top: top}
	for !l.Done {
		if err := x.ns.ListSessions(x.now, &l, 1000); err != nil {
			return nil, err
		}
	}
	if l.IDs == nil {
		l.IDs = []string{"nothing"}
	}
	return l.IDs, nil
}

func (x *Engine) peek(c Command, from engine.Seq) ([]engine.Row, error) {
	if id := c.Options["session"]; id != "" {
		return x.ns.PeekSession(x.now, c.path(0), id, from, 250, actor)
	}
	return x.ns.Peek(x.now, c.path(0), from, 250, actor)
}

func (x *Engine) fetched(c Command, seqs []engine.Seq, mode engine.Mode) ([]engine.Delivery, error) {
	if by := c.Options["by"]; by != "" {
		return x.ns.ReceiveDeferredInSession(x.now, x.receivers[by], seqs, mode)
	}
	return x.ns.ReceiveDeferred(x.now, c.path(0), seqs, mode, actor)
}
