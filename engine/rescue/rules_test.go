package rescue_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/rescue"
)

const (
	second = time.Second
	minute = time.Minute
)

func TestJudge(t *testing.T) {
	const now engine.Instant = 1_800_000_000_000
	row := func(left time.Duration, change func(*engine.Row)) engine.Row {
		r := engine.Row{Expires: now.Add(left), Message: engine.Message{State: engine.Active}}
		if change != nil {
			change(&r)
		}
		return r
	}
	locked := func(r *engine.Row) { r.Message.LockedUntil = now + 1 }
	extends := rescue.Rule{When: rescue.RunningOut, Within: minute, Then: rescue.Extend, Times: 2}
	kills := rescue.Rule{When: rescue.RunningOut, Within: minute, Then: rescue.DeadLetter}
	for name, tc := range map[string]struct {
		rule rescue.Rule
		row  engine.Row
		was  rescue.Mark
		want rescue.Verdict
	}{
		"a moment early":                       {extends, row(minute+time.Millisecond, nil), rescue.Mark{}, rescue.Later},
		"on the dot":                           {extends, row(minute, nil), rescue.Mark{}, rescue.Fire},
		"a moment before its end":              {extends, row(time.Millisecond, nil), rescue.Mark{}, rescue.Fire},
		"at its end":                           {extends, row(0, nil), rescue.Mark{}, rescue.Not},
		"at its end, locked":                   {extends, row(0, locked), rescue.Mark{}, rescue.Fire},
		"after its end, locked":                {extends, row(-minute, locked), rescue.Mark{}, rescue.Fire},
		"never":                                {extends, row(0, func(r *engine.Row) { r.Expires = 0 }), rescue.Mark{}, rescue.Not},
		"deferred":                             {extends, row(second, func(r *engine.Row) { r.Message.State = engine.Deferred }), rescue.Mark{}, rescue.Not},
		"it was told already":                  {extends, row(second, nil), rescue.Mark{Expires: now.Add(second)}, rescue.Told},
		"it was for another end":               {extends, row(second, nil), rescue.Mark{Expires: now, Times: 1}, rescue.Fire},
		"as often as it may":                   {extends, row(second, nil), rescue.Mark{Expires: now, Times: 2}, rescue.Spent},
		"telling is never too often":           {rescue.Rule{When: rescue.RunningOut, Within: minute, Then: rescue.Notify}, row(second, nil), rescue.Mark{Expires: now, Times: 2}, rescue.Fire},
		"a locked one cannot be a dead letter": {kills, row(second, locked), rescue.Mark{}, rescue.Later},
		"a free one can":                       {kills, row(second, nil), rescue.Mark{}, rescue.Fire},
	} {
		if got := tc.rule.Judge(tc.row, tc.was, now); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestRunningOut(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("orders", engine.Config{})
		w.queue("other", engine.Config{})
		id := w.add(rescue.Rule{Name: "soon", When: rescue.RunningOut, In: "ord*", Query: "-subject:sb", Within: 10 * second})
		w.send("orders", minute, "a", "b")
		w.send("other", minute, "c")
		w.pass(50*second - 100*time.Millisecond)
		w.wantFired(id, 0)
		w.pass(200 * time.Millisecond)
		w.wantFired(id, 1)
		w.send("orders", 5*second, "late") // it has less from the beginning
		w.pass(1500 * time.Millisecond)
		w.wantFired(id, 2)
		w.pass(minute)
		w.wantFired(id, 2)
		all := w.rules.Alerts()
		w.equal(len(all), 2)
		w.equal(all[1].Items[0].Subject, "sa")
		w.equal(all[1].When, rescue.RunningOut)
		if all[0].N <= all[1].N {
			w.Errorf("alerts are numbered %d and %d", all[1].N, all[0].N)
		}
	})
}

// While a rule goes through many messages that run out at one instant, others come
// that do so too, at a place that it has been to.
func TestTheSameInstant(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("a", engine.Config{})
		w.queue("m", engine.Config{})
		var ids []string
		for i := range 600 {
			ids = append(ids, fmt.Sprint(i))
		}
		w.send("m", 30*second, ids...)
		sent, commits := time.Now(), 0
		var next func()
		next = func() {
			if commits++; commits == 3 { // the first is the rule's own
				go w.send("a", 30*second-time.Since(sent), "late")
				return
			}
			w.store.mu.Lock()
			w.store.then = next
			w.store.mu.Unlock()
		}
		w.store.then = next
		id := w.add(rescue.Rule{Name: "soon", When: rescue.RunningOut, Within: minute})
		w.pass(5 * second)
		w.wantFired(id, 601)
	})
}

func TestExtendAsOftenAsItMay(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{})
		w.send("q", 30*second, "a")
		id := w.add(rescue.Rule{Name: "more time", When: rescue.RunningOut, Within: 10 * second, Then: rescue.Extend, By: minute, Times: 2})
		w.pass(21 * second)
		w.equal(w.left("q"), "[1m9s]")
		w.wantFired(id, 1)
		w.restart() // it is known how often it was
		w.pass(60 * second)
		w.equal(w.left("q"), "[1m9s]")
		w.equal(w.status(id).Done, 2)
		w.pass(60 * second) // now it is only told of
		w.equal(w.left("q"), "[9s]")
		w.pass(10 * second)
		w.equal(w.left("q"), "[]")
		s := w.status(id)
		w.equal([]int64{s.Fired, s.Done}, "[3 2]")
		last := w.rules.Alerts()[0]
		w.equal(last.Failed, 1)
		if !strings.Contains(last.Items[0].Reason, "2 times") {
			w.Errorf("it is said: %q", last.Items[0].Reason)
		}
	})
}

func TestExtendSomebodyElsesTime(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{})
		w.send("q", 30*second, "a")
		id := w.add(rescue.Rule{Name: "tell", When: rescue.RunningOut, Within: 10 * second})
		w.pass(21 * second)
		w.wantFired(id, 1)
		w.must(w.b.Extend(w.Context(), w.rows("q")[0].Message.Key, w.b.Clock().Add(5*second), "somebody"))
		w.pass(2 * second)
		w.wantFired(id, 2) // for another end of its time
	})
}

func TestActorAndHistory(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{})
		w.add(rescue.Rule{Name: "kill", When: rescue.RunningOut, Within: 10 * second, Then: rescue.DeadLetter})
		w.send("q", 20*second, "a")
		w.pass(11 * second)
		w.equal(len(w.rows("q")), 0)
		dead := w.rows("q/$DeadLetterQueue")
		w.equal(len(dead), 1)
		w.equal(dead[0].Message.Extra.Reason, "RescuedByRule")
		var told []string
		for _, e := range w.b.Events().Recent(100) {
			if e.Audit {
				told = append(told, e.Kind.String()+" by "+e.Actor)
			}
		}
		w.equal(told[len(told)-2:], "[settings-changed by tester dead-lettered by rule kill]")
	})
}

func TestLockThatOutlastsTheTime(t *testing.T) {
	for name, late := range map[string]bool{"a rule that was there": false, "a rule that came later": true} {
		t.Run(name, func(t *testing.T) { lockOutlasts(t, late) })
	}
}

func lockOutlasts(t *testing.T, late bool) {
	t.Helper()
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{LockDuration: minute})
		w.send("q", 40*second, "a")
		rule := rescue.Rule{Name: "more time", When: rescue.RunningOut, Within: 20 * second, Then: rescue.Extend, By: minute, Times: 1}
		id := rescue.ID(1)
		if !late {
			w.add(rule)
		}
		w.pass(second)
		_, err := w.b.Receive(w.Context(), broker.Receive{Path: "q", Max: 1})
		w.must(err)
		if late {
			w.add(rule)
		}
		w.pass(18 * second)
		w.wantFired(id, 0)
		w.pass(3 * second)
		w.wantFired(id, 1)
		w.pass(minute)
		w.equal(w.left("q"), "[18s]") // it would have run out with its lock (TTL-20)
	})
}

func TestWhatHappens(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("lost", engine.Config{})
		w.queue("kept", engine.Config{DeadLetteringOnMessageExpiration: true})
		w.queue("brief", engine.Config{AutoDeleteOnIdle: 5 * minute})
		ids := map[string]rescue.ID{}
		for name, r := range map[string]rescue.Rule{
			"lost":      {When: rescue.Expired},
			"elsewhere": {When: rescue.Expired, In: "kept"},
			"dead":      {When: rescue.DeadLettered, Reason: "ttl*"},
			"one body":  {When: rescue.DeadLettered, Query: `body:"of b"`},
			"unpaid":    {When: rescue.DeadLettered, Reason: "unpaid"},
			"many":      {When: rescue.DeadOver, Over: 1},
			"more":      {When: rescue.DeadOver, Over: 2},
			"leaving":   {When: rescue.Deleting, Within: minute},
			"left":      {When: rescue.Deleted},
		} {
			r.Name = name
			ids[name] = w.add(r)
		}
		want := func(all map[string]int64) {
			w.Helper()
			for name, n := range all {
				w.wantFired(ids[name], n)
			}
		}
		w.send("lost", 10*second, "x")
		w.send("kept", 10*second, "a", "b")
		w.pass(12 * second)
		want(map[string]int64{"lost": 1, "elsewhere": 0, "dead": 2, "one body": 1, "unpaid": 0, "many": 1, "more": 0, "leaving": 0, "left": 0})
		w.pass(5*minute - 75*second)
		want(map[string]int64{"leaving": 0})
		w.pass(5 * second)
		want(map[string]int64{"leaving": 1})
		w.pass(20 * second)
		w.restart() // which puts the idle time back a little
		w.pass(80 * second)
		want(map[string]int64{"leaving": 1, "left": 1, "many": 1})
	})
}

func TestDeadOverAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{DeadLetteringOnMessageExpiration: true})
		id := w.add(rescue.Rule{Name: "many", When: rescue.DeadOver, Over: 0})
		w.send("q", second, "a")
		w.pass(3 * second)
		w.send("q", second, "b")
		w.pass(3 * second)
		w.wantFired(id, 1) // it still is over
		for _, r := range w.rows("q/$DeadLetterQueue") {
			w.must(w.b.DeleteOne(w.Context(), r.Message.Key, "test"))
		}
		w.pass(3 * second)
		w.send("q", second, "c")
		w.pass(3 * second)
		w.wantFired(id, 2)
	})
}

func TestStoreThatTakesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{})
		w.send("q", minute, "a")
		id := w.add(rescue.Rule{Name: "more time", When: rescue.RunningOut, Within: 30 * second, Then: rescue.Extend, By: minute, Times: 3})
		w.store.breaks(engine.ErrUnwritable)
		w.pass(33 * second)
		w.equal(w.left("q"), "[27s]")
		if s := w.status(id); s.Trouble == "" {
			w.Error("nobody learns that it cannot")
		}
		w.store.breaks(nil)
		w.pass(20 * second)
		w.equal(w.left("q"), "[1m7s]")
		w.equal(w.status(id).Trouble, "")
		w.equal(w.status(id).Done, 1)
	})
}

func TestRulesThatCannotBe(t *testing.T) {
	bubble(t, func(w *world) {
		good := rescue.Rule{Name: "r", When: rescue.RunningOut, Within: second}
		w.add(good)
		for field, change := range map[string]func(*rescue.Rule){
			"name":    func(r *rescue.Rule) { r.Name = "a\nb" },
			"name ":   func(r *rescue.Rule) { r.Name = strings.Repeat("x", rescue.NameMost+1) },
			"name  ":  func(r *rescue.Rule) { r.Name = "R" },
			"when":    func(r *rescue.Rule) { r.When = "now" },
			"then":    func(r *rescue.Rule) { r.Then = "pray" },
			"within":  func(r *rescue.Rule) { r.Within = second - 1 },
			"within ": func(r *rescue.Rule) { r.Within = rescue.WithinMost + 1 },
			"by":      func(r *rescue.Rule) { r.Then, r.Times = rescue.Extend, 1 },
			"times":   func(r *rescue.Rule) { r.Then, r.By = rescue.Extend, second },
			"times ":  func(r *rescue.Rule) { r.Then, r.By, r.Times = rescue.Extend, second, rescue.TimesMost+1 },
			"query":   func(r *rescue.Rule) { r.Query = "nonsense:1" },
			"over":    func(r *rescue.Rule) { r.When, r.Over = rescue.DeadOver, -1 },
			"secret":  func(r *rescue.Rule) { r.URL, r.Secret = "http://x", "short" },
		} {
			r := good
			r.Name = "another"
			change(&r)
			_, err := w.rules.Add(w.Context(), r, "tester")
			e, ok := errors.AsType[*rescue.FieldError](err)
			if !ok || e.Field != strings.TrimSpace(field) {
				w.Errorf("%s: %v", field, err)
			}
		}
		w.equal(len(w.rules.List()), 1)
		for i := 1; i < rescue.RulesMost; i++ {
			good.Name = fmt.Sprint("r", i)
			w.add(good)
		}
		good.Name = "too many"
		if _, err := w.rules.Add(w.Context(), good, "tester"); !errors.Is(err, engine.ErrQuota) {
			w.Errorf("one more: %v", err)
		}
	})
}

func TestChangeSwitchAndRemove(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{})
		id := w.add(rescue.Rule{Name: "soon", When: rescue.RunningOut, Within: 10 * second, URL: "http://x/", Secret: "12345678"})
		_, err := w.rules.Switch(w.Context(), id, rescue.Off, "tester")
		w.must(err)
		w.send("q", 30*second, "a", "b")
		w.pass(21 * second)
		w.wantFired(id, 0)
		_, err = w.rules.Switch(w.Context(), id, rescue.On, "tester")
		w.must(err)
		w.pass(2 * second)
		w.wantFired(id, 2)
		w.equal(len(w.offered), 1)
		rule := w.status(id).Rule
		rule.Name, rule.Secret, rule.Within = "sooner", "", 5*second
		s, err := w.rules.Replace(w.Context(), id, rule, "tester")
		w.must(err)
		w.equal(s.Secret, "12345678")
		w.equal(s.Fired, 2)
		w.pass(5 * second) // they were told of before
		w.wantFired(id, 2)
		w.must(w.rules.Test(id))
		w.pass(2 * second)
		w.wantFired(id, 2)
		w.equal(w.rules.Alerts()[0].Test, true)
		w.must(w.rules.Remove(w.Context(), id, "tester"))
		w.pass(2 * second)
		kept, err := w.b.Settings(w.Context(), "rescue/")
		w.must(err)
		w.equal(len(kept), 0)
		if _, err := w.rules.Rule(id); !errors.Is(err, rescue.ErrNoRule) {
			w.Errorf("a rule that is gone: %v", err)
		}
		w.equal(w.add(rescue.Rule{Name: "next", When: rescue.Expired}), id+1)
	})
}

func TestForesee(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{DeadLetteringOnMessageExpiration: true})
		for i := range 700 {
			w.send("q", minute, fmt.Sprint("m", i))
		}
		w.send("q", 2*minute, "late")
		f, err := w.rules.Foresee(w.Context(), rescue.Rule{When: rescue.RunningOut, Within: minute, Query: "-id:m7"})
		w.must(err)
		w.equal([]any{f.Known, f.Count, f.More, len(f.Sample)}, "[true 699 false 5]")
		f, err = w.rules.Foresee(w.Context(), rescue.Rule{When: rescue.DeadOver, Over: 0})
		w.must(err)
		w.equal([]any{f.Known, f.Count}, "[true 0]")
		f, err = w.rules.Foresee(w.Context(), rescue.Rule{When: rescue.Expired})
		w.must(err)
		w.equal(f.Known, false)
	})
}

// TestRememberedAsLongAsItTakes has somebody give a message much more time than the
// rule did.
func TestRememberedAsLongAsItTakes(t *testing.T) {
	for name, again := range map[string]func(*world){"by the same server": func(*world) {}, "by another": (*world).restart} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.queue("q", engine.Config{})
				w.send("q", 20*second, "a")
				id := w.add(rescue.Rule{Name: "once", When: rescue.RunningOut, Within: 10 * second, Then: rescue.Extend, By: minute, Times: 1})
				w.pass(11 * second)
				w.equal(w.status(id).Done, 1)
				w.must(w.b.Extend(w.Context(), w.rows("q")[0].Message.Key, w.b.Clock().Add(30*minute), "somebody"))
				w.pass(20 * minute)
				again(w)
				w.pass(10*minute - 5*second)
				s := w.status(id)
				w.equal([]int64{s.Fired, s.Done}, "[2 1]")
			})
		})
	}
}

// What a rule cannot look at, because a body cannot be read or has gone, is counted
// and said, and is no alert.
func TestUnreadableBodies(t *testing.T) {
	bubble(t, func(w *world) {
		w.queue("q", engine.Config{})
		id := w.add(rescue.Rule{Name: "late", When: rescue.DeadLettered, Query: `body:"body of"`})
		plain := w.add(rescue.Rule{Name: "any", When: rescue.DeadLettered})
		kill := func(name string) {
			long := strings.Repeat("-", 70<<10) + "body of " + name // more than is kept at hand
			_, err := w.b.Send(w.Context(), "q", []broker.Outgoing{{Content: engine.Content{MessageID: name}, Body: []byte(long)}}, "test")
			w.must(err)
			rows := w.rows("q")
			w.must(w.b.DeadLetterOne(w.Context(), rows[len(rows)-1].Message.Key, "unpaid", "", "test"))
			w.pass(3 * time.Second)
		}
		blind := func(err error) {
			w.store.mu.Lock()
			defer w.store.mu.Unlock()
			w.store.blind = err
		}
		kill("a")
		w.wantFired(id, 1)
		blind(errors.New("the disk is broken"))
		kill("b")
		if s := w.status(id); s.Fired != 1 || s.Missed != 1 || !strings.Contains(s.Trouble, "could not be read") {
			t.Errorf("it cannot be read: %+v", s.State)
		}
		blind(engine.ErrMessageNotFound) // somebody was quicker
		kill("c")
		if s := w.status(id); s.Fired != 1 || s.Missed != 2 || !strings.Contains(s.Trouble, "could not be read") {
			t.Errorf("it has gone: %+v", s.State)
		}
		blind(nil)
		kill("d")
		if s := w.status(id); s.Fired != 2 || s.Missed != 2 || s.Trouble != "" {
			t.Errorf("it can be read again: %+v", s.State)
		}
		if s := w.status(plain); s.Fired != 4 || s.Missed != 0 || s.Trouble != "" {
			t.Errorf("a rule that asks for no body: %+v", s.State)
		}
		w.restart()
		if s := w.status(id); s.Missed != 2 {
			t.Errorf("after a restart: %+v", s.State)
		}
	})
}

// A secret does not go to another host.
func TestSecretStaysBehind(t *testing.T) {
	bubble(t, func(w *world) {
		base := rescue.Rule{Name: "soon", When: rescue.RunningOut, Within: time.Second, URL: "https://one.example/a", Secret: "correct horse"}
		id := w.add(base)
		for _, tc := range []struct {
			url, secret string
			want        string // the secret then; empty: it is refused
		}{
			{"https://one.example/b?c", "", "correct horse"},
			{"HTTPS://ONE.example:443/", "", "correct horse"},
			{" https://one.example/a ", "", "correct horse"},
			{"https://two.example/a", "", ""},
			{"http://one.example/a", "", ""},
			{"https://one.example:444/a", "", ""},
			{"https://one.example.evil/a", "", ""},
			{"https://two.example/a", "battery staple", "battery staple"},
			{"https://one.example/a", "correct horse", "correct horse"},
		} {
			rule := base
			rule.URL, rule.Secret = tc.url, tc.secret
			before := w.status(id)
			_, err := w.rules.Replace(w.Context(), id, rule, "tester")
			is := w.status(id)
			wrong, field := errors.AsType[*rescue.FieldError](err)
			switch {
			case tc.want == "" && (!field || wrong.Field != "secret" || !errors.Is(err, engine.ErrArgument) || is.URL != before.URL || is.Secret != before.Secret):
				t.Errorf("%s: %v, and the rule is %+v", tc.url, err, is.Rule)
			case tc.want != "" && (err != nil || is.Secret != tc.want || is.URL != strings.TrimSpace(tc.url)):
				t.Errorf("%s: %v, and the rule is %+v", tc.url, err, is.Rule)
			}
		}
		rule := base
		rule.URL, rule.Secret = "", ""
		_, err := w.rules.Replace(w.Context(), id, rule, "tester")
		w.must(err)
		w.equal(w.status(id).Secret, "")
		rule.URL = "https://two.example/" // of one without a webhook nothing is left behind
		_, err = w.rules.Replace(w.Context(), id, rule, "tester")
		w.must(err)
	})
}
