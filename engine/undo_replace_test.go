package engine_test

import (
	"errors"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

// An edit can be undone if its result has not changed since.
func TestTakeBack(t *testing.T) {
	const dead = engine.Path("q/$DeadLetterQueue")
	type edit struct {
		engine.ReplaceResult
		content engine.Content
	}
	// to replaces a message by an edited one, in the queue p.
	to := func(c *clocked, p engine.Path, was engine.Row) (e edit) {
		c.Helper()
		var err error
		e.content, err = was.Content.Content()
		c.must(err)
		s := c.submissions(engine.Content{MessageID: "n"})[0]
		e.ReplaceResult, err = c.ns.Replace(c.now, engine.Move{Key: was.Message.Key, To: p}, s, "operator")
		c.must(err)
		c.step()
		if e.After.Message.Key != s.Key || e.After.Message.Seq != e.Seq {
			c.Errorf("the result has After %+v", e.After)
		}
		return e
	}
	// edited creates a dead letter of q and replaces it by an edited message.
	edited := func(c *clocked, cfg engine.Config) edit {
		c.Helper()
		c.queue("q", cfg)
		c.send("q", engine.Content{MessageID: "m", Subject: "old"})
		c.abandon(c.receive("q"))
		c.kill(c.receive("q"), "why", "so")
		c.pass(second)
		return to(c, "", c.row(dead))
	}
	back := func(c *clocked, e edit) error {
		c.Helper()
		s := c.submissions(e.content)
		err := c.ns.UndoReplace(c.now, e.ReplaceResult, s[0], "operator")
		if err != nil {
			c.ns.DiscardStaged(s)
		}
		c.step()
		return err
	}
	run(t, rules{
		"OPS-1 edited, taken back": func(c *clocked) {
			e := edited(c, engine.Config{RequiresDuplicateDetection: true})
			c.sends("q", "other")
			c.pass(second)
			before := len(c.events)
			c.must(back(c, e))
			c.wantIDs("q", "other")
			r := c.row(dead)
			want := e.Before
			want.Message.Content = r.Message.Content
			if d := gocmp.Diff(want, r); d != "" || r.Message.Content == e.Before.Message.Content {
				c.Errorf("the restored message differs: %s", d)
			}
			c.equal(c.state("q").Counts, engine.Counts{Active: 1, DeadLetter: 1})
			for _, ev := range c.events[before:] {
				if !ev.Audit || ev.Reason != engine.ReasonReplaceUndone || ev.Actor != "operator" {
					c.Errorf("an event is %+v", ev)
				}
			}
			c.refused(engine.ErrMessageNotFound, func() error { return back(c, e) })
			c.restart()
			c.equal(c.row(dead).Message.Key, e.Before.Message.Key)
			c.kill(c.receive("q"), "", "")
			c.must(c.ns.DeleteMessage(c.now, e.Before.Message.Key, "operator")) // it can be deleted like any other message
			c.step()
			c.wantIDs(dead, "other")
		},
		"OPS-10 edited, taken back": func(c *clocked) { // the edited message is in a queue, where it can be received
			c.queue("q", engine.Config{})
			c.queue("r", engine.Config{})
			c.sends("q", "m", "n")
			c.receive("q")
			c.pass(minute) // its lock expires, though nothing may have noticed
			e := to(c, "r", c.rows("q")[0])
			c.wantIDs("q", "n")
			before := len(c.events)
			c.must(back(c, e))
			kinds := []engine.EventKind{c.events[before].Kind, c.events[before+1].Kind}
			c.equal(kinds, []engine.EventKind{engine.EventDeleted, engine.EventSent})
			c.equal(c.rows("q")[0].Message.DeliveryCount, uint32(1))
			c.wantIDs("q", "m", "n")
			c.wantIDs("r")
			c.equal(c.receive("q").Message.Seq, engine.Seq(1))
		},
		"touched": func(c *clocked) {
			e := edited(c, engine.Config{})
			d := c.receive("q")
			c.refused(engine.ErrNotAllowed, func() error { return back(c, e) })
			c.release(d)
			c.refused(engine.ErrChanged, func() error { return back(c, e) })
			c.complete(c.receive("q"))
			c.refused(engine.ErrMessageNotFound, func() error { return back(c, e) })
		},
		"extended": func(c *clocked) {
			e := edited(c, engine.Config{})
			c.must(c.ns.Extend(c.now, e.After.Message.Key, c.now.Add(hour), "operator"))
			c.step()
			c.refused(engine.ErrChanged, func() error { return back(c, e) })
		},
		"run out": func(c *clocked) {
			e := edited(c, engine.Config{DefaultMessageTimeToLive: minute})
			c.pass(minute)
			if err := back(c, e); !errors.Is(err, engine.ErrMessageNotFound) {
				c.Errorf("got %v", err)
			}
			c.wantIDs(dead)
		},
		"nowhere to go": func(c *clocked) {
			c.queue("r", engine.Config{})
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.kill(c.receive("q"), "", "")
			e := to(c, "r", c.row(dead))
			c.must(c.ns.Delete(c.now, "q", "operator"))
			c.step()
			c.queue("q", engine.Config{})
			c.refused(engine.ErrNotFound, func() error { return back(c, e) })
			c.wantIDs("r", "n")
		},
		"as full as it was": func(c *clocked) { // the two messages are not counted together
			c.limit(func(l *engine.Limits) { l.EntitySize = 40 })
			e := edited(c, engine.Config{})
			c.must(back(c, e))
		},
		"several": func(c *clocked) { // a topic has not exactly one new message
			c.topic("t", engine.Config{})
			c.sub("t", "s", engine.Config{})
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			did, err := c.ns.Replace(c.now, engine.Move{Key: c.key("q"), To: "t"}, c.submissions(engine.Content{})[0], "operator")
			c.must(err)
			c.step()
			c.equal(did.After.Message.Key, engine.Key(0))
			c.refused(engine.ErrMessageNotFound, func() error { return back(c, edit{ReplaceResult: did}) })
		},
		"full": func(c *clocked) { // §1.5
			c.limit(func(l *engine.Limits) { l.EntitySize = 100 })
			e := edited(c, engine.Config{})
			c.sends("q", "larger than it was") // the replaced message was smaller
			e.content.Subject = "as large as forty characters and some more"
			c.refused(engine.ErrQuota, func() error { return back(c, e) })
		},
	})
}
