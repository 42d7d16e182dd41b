package engine_test

import (
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
)

const (
	ms     = time.Millisecond
	second = time.Second
	minute = time.Minute
	hour   = time.Hour
)

// keeping is a config that dead-letters expired messages.
var keeping = engine.Config{DeadLetteringOnMessageExpiration: true}

const expiredText = "The message expired and was dead lettered."

// lives requires that the message of p can be received until d after morning, and not from then
// on.
func (c *clocked) lives(p engine.Path, d time.Duration) {
	c.Helper()
	c.at(d - ms)
	c.release(c.receive(p))
	c.at(d)
	c.nothing(p)
}

func TestEffectiveTTL(t *testing.T) {
	run(t, rules{
		"TTL-1": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: 10 * second})
			c.lives("q", 10*second)
		},
		"TTL-2": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.equal(c.row("q").Expires, engine.Instant(0))
			c.at(292 * 365 * 24 * hour)
			c.sweep()
			d := c.receive("q")
			c.equal(d.Expires, engine.Instant(0))
			c.equal(d.TTL(), time.Duration(0))
		},
		"TTL-3": func(c *clocked) { // no expiry by default; the default can be set at creation and later
			c.queue("q", engine.Config{})
			c.queue("r", engine.Config{DefaultMessageTimeToLive: hour})
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			for p, want := range map[engine.Path]time.Duration{"q": 0, "r": hour, "t": 0, s: 0} {
				prop, _ := engine.LookupProperty(c.state(p).Kind, "DefaultMessageTimeToLive")
				if want == 0 {
					c.equal(prop.Text(c.state(p).Config), "P10675199DT2H48M5.4775807S")
				}
				c.equal(c.state(p).Config.DefaultMessageTimeToLive, want)
				c.update(p, func(cfg *engine.Config) { cfg.DefaultMessageTimeToLive = minute })
				c.equal(prop.Text(c.state(p).Config), "PT1M")
			}
			c.sends("q", "m")
			c.lives("q", minute)
		},
		"TTL-3 basic": func(c *clocked) {
			c.limit(func(l *engine.Limits) { *l = profile(c.T, "basic") })
			c.queue("q", engine.Config{})
			prop, _ := engine.LookupProperty(engine.Queue, "DefaultMessageTimeToLive")
			c.equal(prop.Text(c.state("q").Config), "P14D")
			c.sends("q", "m")
			c.lives("q", 14*24*hour)
		},
		"TTL-3 stored before there was a maximum": func(c *clocked) {
			c.limit(func(l *engine.Limits) { l.MaxTTL = 14 * 24 * hour })
			c.queue("q", engine.Config{})
			c.sends("q", "m")
			c.lives("q", 14*24*hour)
		},
		"TTL-4": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: 5 * second})
			c.sends("q", "m")
			c.lives("q", 5*second)
		},
		"TTL-5": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: minute})
			c.send("q", engine.Content{TTL: hour})
			d := c.receive("q")
			c.equal(d.Expires, morning.Add(minute))
			c.equal(d.TTL(), minute)
			c.release(d)
			c.lives("q", minute)
		},
		"TTL-6": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: hour})
			c.send("q", engine.Content{TTL: 5 * second})
			d := c.receive("q")
			c.equal(d.TTL(), 5*second)
			c.release(d)
			c.lives("q", 5*second)
		},
		"TTL-7 topic's": func(c *clocked) {
			c.topic("t", engine.Config{DefaultMessageTimeToLive: 5 * second})
			s := c.sub("t", "s", engine.Config{DefaultMessageTimeToLive: hour})
			c.sends("t", "m")
			c.lives(s, 5*second)
		},
		"TTL-7 subscription's": func(c *clocked) {
			c.topic("t", engine.Config{DefaultMessageTimeToLive: hour})
			s := c.sub("t", "s", engine.Config{DefaultMessageTimeToLive: 5 * second})
			c.send("t", engine.Content{TTL: minute})
			c.lives(s, 5*second)
		},
		"TTL-7 message's": func(c *clocked) {
			c.topic("t", engine.Config{DefaultMessageTimeToLive: hour})
			s := c.sub("t", "s", engine.Config{DefaultMessageTimeToLive: minute})
			c.send("t", engine.Content{TTL: 2 * second})
			c.lives(s, 2*second)
		},
		"TTL-7 topic's, set later": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.sends("t", "m")
			c.update("t", func(cfg *engine.Config) { cfg.DefaultMessageTimeToLive = 5 * second })
			c.lives(s, 5*second)
		},
		"TTL-8": func(c *clocked) { // a negative TTL represents AMQP's zero
			c.queue("q", keeping)
			link := c.attach("q", 1)
			c.send("q", engine.Content{TTL: -1})
			c.equal(len(c.delivered(link)), 0)
			c.detach(link, engine.DetachedByClient)
			c.nothing("q")
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"TTL-10": func(c *clocked) { // the longest TTL does not overflow
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: 1<<63 - 1})
			d := c.receive("q")
			if d.Expires <= c.now || d.TTL() < 290*365*24*hour {
				c.Errorf("the message expires at %v, after %v", d.Expires.Time(), d.TTL())
			}
			c.release(d)
			c.pass(time.Second)
			c.receive("q")
		},
	})
}

func TestExpiryInstant(t *testing.T) {
	run(t, rules{
		"TTL-11": func(c *clocked) {
			c.at(3 * second)
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: 7 * second})
			c.equal(c.row("q").Message.ExpiresAt, morning.Add(10*second))
			c.lives("q", 10*second)
		},
		"TTL-12": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{ScheduledFor: morning.Add(5 * minute), TTL: 10 * minute})
			c.lives("q", 15*minute)
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"TTL-12 by default": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: 10 * minute})
			c.send("q", engine.Content{ScheduledFor: morning.Add(5 * minute)})
			c.lives("q", 15*minute)
		},
		"TTL-12 topic": func(c *clocked) {
			c.topic("t", engine.Config{})
			s := c.sub("t", "s", engine.Config{})
			c.send("t", engine.Content{ScheduledFor: morning.Add(5 * minute), TTL: 10 * minute})
			c.lives(s, 15*minute)
		},
		"TTL-13": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: hour})
			c.send("q", engine.Content{TTL: minute})
			rows, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			c.equal(rows[0].Message.ExpiresAt, morning.Add(minute))
		},
		"TTL-14, TTL-15": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: minute})
			c.sends("q", "m")
			rows, err := c.ns.Peek(c.now, "q", 1, 1, "")
			c.must(err)
			c.equal(rows[0].Message.ExpiresAt, engine.Instant(0)) // as a client's peek shows it
			c.equal(rows[0].Expires, morning.Add(minute))         // as the dashboard shows it
			c.equal(c.receive("q").Expires, morning.Add(minute))
		},
		"TTL-16 lowered": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: hour})
			c.sends("q", "unset")
			c.send("q", engine.Content{MessageID: "own", TTL: hour})
			c.update("q", func(cfg *engine.Config) { cfg.DefaultMessageTimeToLive = 5 * second })
			c.at(5*second - ms)
			a, b := c.receive("q"), c.receive("q")
			c.release(a)
			c.release(b)
			c.at(5 * second)
			c.equal(c.receive("q").Content.MessageID(), "own")
			c.nothing("q")
			c.at(hour)
			c.nothing("q")
		},
		"TTL-16 raised": func(c *clocked) { // messages that have not been removed yet stay
			c.queue("q", engine.Config{DefaultMessageTimeToLive: 5 * second})
			c.sends("q", "unset")
			c.send("q", engine.Content{MessageID: "own", TTL: minute})
			c.at(5*second - ms)
			c.update("q", func(cfg *engine.Config) { cfg.DefaultMessageTimeToLive = hour })
			c.at(hour - ms)
			c.release(c.receive("q"))
			c.at(hour)
			c.nothing("q")
		},
	})
	run(t, rules{
		"TTL-16 revived": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: 5 * second})
			c.sends("q", "m")
			c.at(6 * second)
			c.update("q", func(cfg *engine.Config) { cfg.DefaultMessageTimeToLive = hour })
			c.receive("q")
		},
	}, asked)
}

func TestExpiry(t *testing.T) {
	run(t, rules{
		"TTL-19": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			c.send("q", engine.Content{TTL: second})
			c.at(second - ms)
			c.grab("q")
			c.release(c.receive("q"))
			c.at(second)
			c.nothing("q")
		},
		"TTL-20, TTL-23": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			for _, at := range []time.Duration{second, 30 * second, minute - ms} {
				c.at(at)
				c.sweep()
				c.nothing("q")
				c.wantCounts("q", engine.Counts{Locked: 1})
			}
			c.complete(d)
			c.wantCounts("q", engine.Counts{})
		},
		"TTL-21": func(c *clocked) { // the receiver of an expired message may continue or give up
			c.queue("q", keeping)
			c.send("q", engine.Content{MessageID: "goes on", TTL: second})
			c.send("q", engine.Content{MessageID: "gives up", TTL: second})
			a, b := c.receive("q"), c.receive("q")
			c.at(2 * second)
			c.complete(a)
			c.abandon(b)
			c.wantIDs("q/$DeadLetterQueue", "gives up")
			c.nothing("q")
		},
		"TTL-22 abandon": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(second)
			c.abandon(d)
			c.wantDead("q", engine.ReasonExpired, expiredText)
			c.nothing("q")
		},
		"TTL-22 abandon a moment early": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(second - ms)
			c.abandon(d)
			c.wantCounts("q", engine.Counts{Active: 1})
		},
		"TTL-22 abandon, flag off": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(second)
			c.abandon(d)
			c.nothing("q")
			c.wantCounts("q", engine.Counts{})
		},
		"TTL-22 lock expiry, flag off": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			c.receive("q")
			c.at(minute)
			c.nothing("q")
			c.wantCounts("q", engine.Counts{})
		},
		"TTL-22 release": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(second)
			c.release(d)
			c.wantCounts("q", engine.Counts{})
		},
		"TTL-22 lock expiry": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			c.receive("q")
			c.at(minute)
			c.nothing("q")
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"TTL-24": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(30 * second)
			until, err := c.renew(d)
			c.must(err)
			c.equal(until, c.now.Add(minute))
			c.at(89 * second)
			c.complete(d)
		},
		"TTL-25": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(2 * second)
			c.kill(d, "Mine", "because")
			c.wantDead("q", "Mine", "because")
		},
		"TTL-26, DEC-3 flag on": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1, DeadLetteringOnMessageExpiration: true})
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(second)
			c.abandon(d)
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"TTL-26, DEC-3 flag off": func(c *clocked) {
			c.queue("q", engine.Config{MaxDeliveryCount: 1})
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(second)
			c.abandon(d)
			c.wantDead("q", engine.ReasonMaxDeliveryCount, "Message could not be consumed after 1 delivery attempts.")
		},
		"TTL-27, §6.2#1": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second, Properties: value.Properties{{Name: "mine", Value: value.OfInt(1)}}})
			c.at(second)
			c.nothing("q")
			d := c.receive("q/$DeadLetterQueue")
			content, err := d.Content.Content()
			c.must(err)
			for name, want := range map[string]value.Value{
				"DeadLetterReason":           value.OfString("TTLExpiredException"),
				"DeadLetterErrorDescription": value.OfString("The message expired and was dead lettered."),
				"mine":                       value.OfInt(1),
			} {
				if got, ok := d.Message.Properties(content).Lookup(name); !ok || got != want {
					c.Errorf("%s is %v", name, got)
				}
			}
		},
		"TTL-28": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			c.at(second)
			c.nothing("q")
			c.wantCounts("q", engine.Counts{})
			c.equal(c.state("q").SizeInBytes, int64(0))
			c.step()
			c.equal(len(c.store.messages)+len(c.store.contents)+len(c.store.bodies), 0)
		},
		"TTL-29": func(c *clocked) { // one record, in one subqueue at a time
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			key := c.row("q").Message.Key
			c.at(second)
			c.nothing("q")
			c.equal(len(c.store.messages), 1)
			c.equal(c.store.messages[key].Subqueue, c.state("q").DeadLetterID)
		},
		"TTL-29 crash": func(c *clocked) { // before the move is stored, and after it
			c.queue("q", keeping)
			c.send("q", engine.Content{MessageID: "m", TTL: second})
			key := c.row("q").Message.Key
			c.now = morning.Add(second)
			for _, stored := range []bool{false, true} {
				c.must(c.ns.Attach(c.now, engine.Link{ID: 99, Path: "q", NoWait: true}))
				c.must(c.ns.Credit(c.now, 99, 1))
				c.ns.Match(c.now)
				c.wantCounts("q", engine.Counts{DeadLetter: 1}) // the move was committed
				if stored {
					c.step()
				} else {
					c.ns.Flush(c.now, true) // flushed to the store, which does not receive it
				}
				c.restart()
				want := map[bool]engine.Counts{false: {Active: 1}, true: {DeadLetter: 1}}[stored]
				c.wantCounts("q", want)
				c.equal(c.store.messages[key].Key, key)
				c.equal(len(c.store.messages), 1)
			}
			c.step()
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"TTL-30": func(c *clocked) { // an expired message may still be counted, but is never received
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second})
			c.at(hour)
			n := c.state("q").Counts.Active
			rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
			c.must(err)
			if want := map[way]int64{asked: 1, restarted: 1}[c.way]; n != want || int64(len(rows)) != want {
				c.Errorf("%d messages are counted, %d listed; want %d", n, len(rows), want)
			}
			c.nothing("q")
			c.wantCounts("q", engine.Counts{})
		},
		"TTL-31 receive": func(c *clocked) { // a receive dead-letters expired messages on its way
			c.queue("q", keeping)
			c.send("q", engine.Content{MessageID: "a", TTL: second})
			c.send("q", engine.Content{MessageID: "b", TTL: 2 * second})
			c.sends("q", "c")
			c.at(2 * second)
			c.equal(c.receive("q").Content.MessageID(), "c")
			c.wantCounts("q", engine.Counts{Locked: 1, DeadLetter: 2})
		},
		"TTL-31 many": func(c *clocked) { // more expired messages than one step processes
			c.limit(func(l *engine.Limits) { l.BatchSize = 1 << 30 })
			c.queue("q", keeping)
			batch := make([]engine.Content, 3000)
			for i := range batch {
				batch[i].TTL = second
			}
			_, err := c.trySend("q", batch...)
			c.must(err)
			c.sends("q", "last")
			c.at(second)
			c.equal(c.receive("q").Content.MessageID(), "last")
			c.equal(c.state("q").Counts.DeadLetter, int64(3000))
		},
		"TTL-31 abandon": func(c *clocked) { // abandoning an expired message dead-letters it too
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			d := c.receive("q")
			c.at(second)
			c.abandon(d)
			c.wantCounts("q", engine.Counts{DeadLetter: 1})
		},
		"TTL-31 waiting receiver": func(c *clocked) {
			c.queue("q", keeping)
			link := c.attach("q", 1)
			c.send("q", engine.Content{MessageID: "m", TTL: -1})
			c.equal(len(c.delivered(link)), 0)
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"TTL-32": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: hour})
			c.send("q", engine.Content{TTL: ms})
			c.release(c.receive("q"))
			c.at(ms)
			c.nothing("q")
		},
		"TTL-33": func(c *clocked) {
			c.queue("q", engine.Config{DefaultMessageTimeToLive: minute, DeadLetteringOnMessageExpiration: true})
			c.send("q", engine.Content{TTL: second})
			c.kill(c.receive("q"), "Mine", "")
			for _, at := range []time.Duration{second, minute, hour, 24 * hour} {
				c.at(at)
				c.sweep()
				c.release(c.receive("q/$DeadLetterQueue"))
			}
			d := c.receive("q/$DeadLetterQueue")
			c.equal(d.Expires, engine.Instant(0))
			c.equal(d.Message.ExpiresAt, morning.Add(second)) // it is shown, but has no effect
			c.abandon(d)
			c.wantDead("q", "Mine", "")
		},
		"TTL-34": func(c *clocked) {
			c.queue("q", keeping)
			c.send("q", engine.Content{TTL: second})
			seq := c.setAside(c.receive("q"))
			c.at(hour)
			c.sweep()
			c.nothing("q")
			rows, err := c.ns.Peek(c.now, "q", 1, 10, "")
			c.must(err)
			c.equal(len(rows) == 1 && rows[0].Message.State == engine.Deferred && rows[0].Message.Seq == seq, true)
			c.wantCounts("q", engine.Counts{Deferred: 1})
			c.unfetchable("q", seq)
			c.wantDead("q", engine.ReasonExpired, expiredText)
		},
		"TTL-35": func(c *clocked) {
			c.queue("q", engine.Config{})
			c.send("q", engine.Content{TTL: second, ScheduledFor: morning.Add(hour)})
			c.at(hour - ms)
			c.sweep()
			c.equal(c.row("q").Message.State, engine.Scheduled)
			c.lives("q", hour+second)
		},
		"TTL-36": func(c *clocked) { // prefetched messages are locked
			c.queue("q", engine.Config{})
			for _, id := range []string{"a", "b"} {
				c.send("q", engine.Content{MessageID: id, TTL: second})
			}
			link := c.attach("q", 2)
			c.equal(len(c.delivered(link)), 2)
			c.at(30 * second)
			c.complete(c.inbox[0])
			c.abandon(c.inbox[1])
			c.wantCounts("q", engine.Counts{})
		},
	})
}
