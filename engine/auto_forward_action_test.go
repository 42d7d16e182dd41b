package engine_test

import (
	"testing"

	"mayfly/engine"
	"mayfly/engine/value"
)

// died makes a topic with a subscription s that has an action. A message that was dead-lettered
// elsewhere with reason "old" and description "long ago" is forwarded from there to the topic.
func (c *clocked) died(action string) (s engine.Path) {
	c.Helper()
	c.topic("t", engine.Config{})
	s = c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "change", Filter: sqlFilter("1=1"), Action: action})
	c.queue("q", engine.Config{ForwardDeadLetteredMessagesTo: "t"})
	c.send("q", engine.Content{MessageID: "m", Properties: value.Properties{{Name: "mine", Value: value.OfInt(1)}}})
	c.kill(c.receive("q"), "old", "long ago")
	c.sweep()
	return s
}

// An action does not rewrite an earlier dead-letter reason.
func TestActionOnDeadLetters(t *testing.T) {
	const changed = "SET color='red'"
	run(t, rules{
		"ACT-1, FWD-9 as others": func(c *clocked) { // the reason is visible and kept as without an action
			s := c.died(changed)
			plain := c.sub("t", "plain", engine.Config{})
			c.sends("q", "n")
			c.kill(c.receive("q"), "old", "long ago")
			c.sweep()
			c.equal(c.properties(c.receive(s)), "mine=1 color=red RuleName=change DeadLetterReason=old DeadLetterErrorDescription=long ago")
			c.equal(c.properties(c.receive(plain)), "DeadLetterReason=old DeadLetterErrorDescription=long ago")
		},
		"ACT-1, DLQ-8 died anew": func(c *clocked) {
			s := c.died(changed)
			c.kill(c.receive(s), "new", "")
			c.wantDead(s, "new", "")
			c.equal(c.properties(c.receive(s.DeadLetter())), "mine=1 color=red RuleName=change DeadLetterReason=new")
		},
		"ACT-1, DLQ-8 without a reason": func(c *clocked) {
			s := c.died(changed)
			c.kill(c.receive(s), "", "")
			c.equal(c.properties(c.receive(s.DeadLetter())), "mine=1 color=red RuleName=change")
		},
		"ACT-1, OPS-1 resubmitted": func(c *clocked) {
			s := c.died(changed)
			c.kill(c.receive(s), "new", "just now")
			c.move(engine.Move{Key: c.key(s.DeadLetter())})
			c.equal(c.properties(c.receive(s)), "mine=1 color=red RuleName=change")
		},
		"ACT-1, OPS-10 moved": func(c *clocked) {
			s := c.died(changed)
			c.queue("z", engine.Config{})
			c.move(engine.Move{Key: c.key(s), To: "z"})
			c.equal(c.properties(c.receive("z")), "mine=1 color=red RuleName=change")
		},
		"ACT-2": func(c *clocked) { // reason and description are properties now, which an action may set
			s := c.died("SET DeadLetterReason='other'; SET seen=DeadLetterErrorDescription")
			d := c.receive(s)
			c.equal(c.properties(d), "mine=1 seen=long ago RuleName=change DeadLetterReason=other DeadLetterErrorDescription=long ago")
			c.kill(d, "", "why")
			c.equal(c.properties(c.receive(s.DeadLetter())), "mine=1 seen=long ago RuleName=change DeadLetterErrorDescription=why")
		},
		"ACT-3": func(c *clocked) { // or remove
			s := c.died("REMOVE deadletterreason; REMOVE DeadLetterErrorDescription")
			c.equal(c.properties(c.receive(s)), "mine=1 RuleName=change")
		},
		"ACT-6": func(c *clocked) { // or make null
			s := c.died("SET DeadLetterReason=missing")
			d := c.receive(s)
			c.equal(c.properties(d), "mine=1 DeadLetterReason= RuleName=change DeadLetterErrorDescription=long ago")
			c.kill(d, "new", "")
			c.equal(c.properties(c.receive(s.DeadLetter())), "mine=1 DeadLetterReason=new RuleName=change")
		},
		"ACT-1 its sender's": func(c *clocked) { // a sender's property of that name is the sender's
			c.topic("t", engine.Config{})
			s := c.ruled("t", "s", engine.Config{}, engine.Rule{Name: "change", Filter: sqlFilter("1=1"), Action: changed})
			c.send("t", engine.Content{Properties: value.Properties{{Name: "DeadLetterReason", Value: value.OfString("mine")}}})
			c.kill(c.receive(s), "new", "")
			c.move(engine.Move{Key: c.key(s.DeadLetter())})
			c.equal(c.properties(c.receive(s)), "DeadLetterReason=mine color=red RuleName=change")
		},
	})
}
