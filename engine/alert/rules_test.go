package alert_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/alert"
	"mayfly/engine/broker"
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
	extends := alert.Rule{Condition: alert.ExpiringSoon, Within: minute, Action: alert.Extend, MaxExtensions: 2}
	kills := alert.Rule{Condition: alert.ExpiringSoon, Within: minute, Action: alert.DeadLetter}
	for name, tc := range map[string]struct {
		rule alert.Rule
		row  engine.Row
		was  alert.FireRecord
		want alert.Decision
	}{
		"a moment early":                       {extends, row(minute+time.Millisecond, nil), alert.FireRecord{}, alert.TooEarly},
		"on the dot":                           {extends, row(minute, nil), alert.FireRecord{}, alert.Fire},
		"a moment before its end":              {extends, row(time.Millisecond, nil), alert.FireRecord{}, alert.Fire},
		"at its end":                           {extends, row(0, nil), alert.FireRecord{}, alert.NotApplicable},
		"at its end, locked":                   {extends, row(0, locked), alert.FireRecord{}, alert.Fire},
		"after its end, locked":                {extends, row(-minute, locked), alert.FireRecord{}, alert.Fire},
		"never":                                {extends, row(0, func(r *engine.Row) { r.Expires = 0 }), alert.FireRecord{}, alert.NotApplicable},
		"deferred":                             {extends, row(second, func(r *engine.Row) { r.Message.State = engine.Deferred }), alert.FireRecord{}, alert.NotApplicable},
		"it was told already":                  {extends, row(second, nil), alert.FireRecord{Expires: now.Add(second)}, alert.AlreadyFired},
		"it was for another end":               {extends, row(second, nil), alert.FireRecord{Expires: now, Extensions: 1}, alert.Fire},
		"as often as it may":                   {extends, row(second, nil), alert.FireRecord{Expires: now, Extensions: 2}, alert.LimitReached},
		"telling is never too often":           {alert.Rule{Condition: alert.ExpiringSoon, Within: minute, Action: alert.Notify}, row(second, nil), alert.FireRecord{Expires: now, Extensions: 2}, alert.Fire},
		"a locked one cannot be a dead letter": {kills, row(second, locked), alert.FireRecord{}, alert.TooEarly},
		"a free one can":                       {kills, row(second, nil), alert.FireRecord{}, alert.Fire},
	} {
		if got := tc.rule.Decide(tc.row, tc.was, now); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

func TestRunningOut(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("orders", engine.Config{})
		w.b.CreateQueue("other", engine.Config{})
		id := w.add(alert.Rule{Name: "soon", Condition: alert.ExpiringSoon, Scope: "ord*", Query: "-subject:sb", Within: 10 * second})
		w.send("orders", minute, "a", "b")
		w.send("other", minute, "c")
		w.pass(50*second - 100*time.Millisecond)
		w.wantFired(id, 0)
		w.pass(200 * time.Millisecond)
		w.wantFired(id, 1)
		w.send("orders", 5*second, "late") // its time to live is below the rule's 10 s from the start
		w.pass(1500 * time.Millisecond)
		w.wantFired(id, 2)
		w.pass(minute)
		w.wantFired(id, 2)
		all := w.rules.Alerts()
		w.equal(len(all), 2)
		w.equal(all[1].Items[0].Subject, "sa")
		w.equal(all[1].Condition, alert.ExpiringSoon)
		if all[0].ID <= all[1].ID {
			w.Errorf("alerts are numbered %d and %d", all[1].ID, all[0].ID)
		}
	})
}

// While a rule goes through many messages that expire at one instant, a message with the same
// expiry time arrives in a subqueue that the rule has already examined: the rule also fires for it.
func TestTheSameInstant(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("a", engine.Config{})
		w.b.CreateQueue("m", engine.Config{})
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
		id := w.add(alert.Rule{Name: "soon", Condition: alert.ExpiringSoon, Within: minute})
		w.pass(5 * second)
		w.wantFired(id, 601)
	})
}

func TestExtendAsOftenAsItMay(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", 30*second, "a")
		id := w.add(alert.Rule{Name: "more time", Condition: alert.ExpiringSoon, Within: 10 * second, Action: alert.Extend, ExtendBy: minute, MaxExtensions: 2})
		w.pass(21 * second)
		w.equal(w.left("q"), "[1m9s]")
		w.wantFired(id, 1)
		w.restart() // the count survives
		w.pass(60 * second)
		w.equal(w.left("q"), "[1m9s]")
		w.equal(w.status(id).Done, 2)
		w.pass(60 * second) // now the rule only alerts
		w.equal(w.left("q"), "[9s]")
		w.pass(10 * second)
		w.equal(w.left("q"), "[]")
		s := w.status(id)
		w.equal([]int64{s.Fired, s.Done}, "[3 2]")
		last := w.rules.Alerts()[0]
		w.equal(last.Failed, 1)
		if !strings.Contains(last.Items[0].Reason, "2 times") {
			w.Errorf("the alert's reason is %q", last.Items[0].Reason)
		}
	})
}

func TestExtendAfterAnOperatorExtended(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", 30*second, "a")
		id := w.add(alert.Rule{Name: "tell", Condition: alert.ExpiringSoon, Within: 10 * second})
		w.pass(21 * second)
		w.wantFired(id, 1)
		w.must(w.b.Extend(w.Context(), w.b.Rows("q")[0].Message.Key, w.b.ClockTime().Add(5*second), "somebody"))
		w.pass(2 * second)
		w.wantFired(id, 2) // it fires again for another expiry time
	})
}

func TestActorAndHistory(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.add(alert.Rule{Name: "kill", Condition: alert.ExpiringSoon, Within: 10 * second, Action: alert.DeadLetter})
		w.send("q", 20*second, "a")
		w.pass(11 * second)
		w.equal(len(w.b.Rows("q")), 0)
		dead := w.b.Rows("q/$DeadLetterQueue")
		w.equal(len(dead), 1)
		w.equal(dead[0].Message.Extra.Reason, "RescuedByRule")
		var alerts []string
		for _, e := range w.b.Events().Recent(100) {
			if e.Audit {
				alerts = append(alerts, e.Kind.String()+" by "+e.Actor)
			}
		}
		w.equal(alerts[len(alerts)-2:], "[settings-changed by tester dead-lettered by rule kill]")
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
		w.b.CreateQueue("q", engine.Config{LockDuration: minute})
		w.send("q", 40*second, "a")
		rule := alert.Rule{Name: "more time", Condition: alert.ExpiringSoon, Within: 20 * second, Action: alert.Extend, ExtendBy: minute, MaxExtensions: 1}
		id := alert.ID(1)
		if !late {
			w.add(rule)
		}
		w.pass(second)
		_, err := w.b.Receive(w.Context(), broker.ReceiveRequest{Path: "q", Max: 1})
		w.must(err)
		if late {
			w.add(rule)
		}
		w.pass(18 * second)
		w.wantFired(id, 0)
		w.pass(3 * second)
		w.wantFired(id, 1)
		w.pass(minute)
		w.equal(w.left("q"), "[18s]") // it would have expired with its lock (TTL-20)
	})
}

func TestConditionsOfEvents(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("lost", engine.Config{})
		w.b.CreateQueue("kept", engine.Config{DeadLetteringOnMessageExpiration: true})
		w.b.CreateQueue("brief", engine.Config{AutoDeleteOnIdle: 5 * minute})
		ids := map[string]alert.ID{}
		for name, r := range map[string]alert.Rule{
			"lost":      {Condition: alert.Expired},
			"elsewhere": {Condition: alert.Expired, Scope: "kept"},
			"dead":      {Condition: alert.DeadLettered, Reason: "ttl*"},
			"one body":  {Condition: alert.DeadLettered, Query: `body:"of b"`},
			"unpaid":    {Condition: alert.DeadLettered, Reason: "unpaid"},
			"many":      {Condition: alert.DeadLettersAbove, Threshold: 1},
			"more":      {Condition: alert.DeadLettersAbove, Threshold: 2},
			"leaving":   {Condition: alert.DeletingSoon, Within: minute},
			"left":      {Condition: alert.Deleted},
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
		w.restart() // this puts the idle time back a little
		w.pass(80 * second)
		want(map[string]int64{"leaving": 1, "left": 1, "many": 1})
	})
}

func TestDeadOverAgain(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{DeadLetteringOnMessageExpiration: true})
		id := w.add(alert.Rule{Name: "many", Condition: alert.DeadLettersAbove, Threshold: 0})
		w.send("q", second, "a")
		w.pass(3 * second)
		w.send("q", second, "b")
		w.pass(3 * second)
		w.wantFired(id, 1) // the count of dead letters is still over the threshold
		for _, r := range w.b.Rows("q/$DeadLetterQueue") {
			w.must(w.b.DeleteMessage(w.Context(), r.Message.Key, "test"))
		}
		w.pass(3 * second)
		w.send("q", second, "c")
		w.pass(3 * second)
		w.wantFired(id, 2)
	})
}

func TestStoreThatTakesNothing(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		w.send("q", minute, "a")
		id := w.add(alert.Rule{Name: "more time", Condition: alert.ExpiringSoon, Within: 30 * second, Action: alert.Extend, ExtendBy: minute, MaxExtensions: 3})
		w.store.breaks(engine.ErrUnwritable)
		w.pass(33 * second)
		w.equal(w.left("q"), "[27s]")
		if s := w.status(id); s.Trouble == "" {
			w.Error("the status does not report that the message cannot be extended")
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
		good := alert.Rule{Name: "r", Condition: alert.ExpiringSoon, Within: second}
		w.add(good)
		for field, change := range map[string]func(*alert.Rule){
			"name":          func(r *alert.Rule) { r.Name = "a\nb" },
			"name ":         func(r *alert.Rule) { r.Name = strings.Repeat("x", alert.MaxNameLength+1) },
			"name  ":        func(r *alert.Rule) { r.Name = "R" },
			"when":          func(r *alert.Rule) { r.Condition = "now" },
			"then":          func(r *alert.Rule) { r.Action = "pray" },
			"within":        func(r *alert.Rule) { r.Within = second - 1 },
			"within ":       func(r *alert.Rule) { r.Within = alert.MaxWithin + 1 },
			"extendBy":      func(r *alert.Rule) { r.Action, r.MaxExtensions = alert.Extend, 1 },
			"maxExtensions": func(r *alert.Rule) { r.Action, r.ExtendBy = alert.Extend, second },
			"maxExtensions ": func(r *alert.Rule) {
				r.Action, r.ExtendBy, r.MaxExtensions = alert.Extend, second, alert.MaxExtensions+1
			},
			"query":     func(r *alert.Rule) { r.Query = "nonsense:1" },
			"threshold": func(r *alert.Rule) { r.Condition, r.Threshold = alert.DeadLettersAbove, -1 },
			"secret":    func(r *alert.Rule) { r.URL, r.Secret = "http://x", "short" },
		} {
			r := good
			r.Name = "another"
			change(&r)
			_, err := w.rules.Add(w.Context(), r, "tester")
			e, ok := errors.AsType[*alert.FieldError](err)
			if !ok || e.Field != strings.TrimSpace(field) {
				w.Errorf("%s: %v", field, err)
			}
		}
		w.equal(len(w.rules.List()), 1)
		for i := 1; i < alert.MaxRules; i++ {
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
		w.b.CreateQueue("q", engine.Config{})
		id := w.add(alert.Rule{Name: "soon", Condition: alert.ExpiringSoon, Within: 10 * second, URL: "http://x/", Secret: "12345678"})
		_, err := w.rules.SetPower(w.Context(), id, alert.Off, "tester")
		w.must(err)
		w.send("q", 30*second, "a", "b")
		w.pass(21 * second)
		w.wantFired(id, 0)
		_, err = w.rules.SetPower(w.Context(), id, alert.On, "tester")
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
		w.pass(5 * second) // these were alerted before
		w.wantFired(id, 2)
		for n := range 2 { // the second waits until alerts are sent again
			w.must(w.rules.Test(w.Context(), id))
			w.equal(w.rules.Alerts()[0].Test, true)
			w.equal(w.rules.Alerts()[1].Test, n > 0)
		}
		w.wantFired(id, 2)
		w.must(w.rules.Remove(w.Context(), id, "tester"))
		w.pass(2 * second)
		kept, err := w.b.Settings(w.Context(), "rescue/")
		w.must(err)
		w.equal(len(kept), 0)
		if _, err := w.rules.Rule(id); !errors.Is(err, alert.ErrNoRule) {
			w.Errorf("a removed rule: %v", err)
		}
		w.equal(w.add(alert.Rule{Name: "next", Condition: alert.Expired}), id+1)
	})
}

func TestPreview(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{DeadLetteringOnMessageExpiration: true})
		for i := range 700 {
			w.send("q", minute, fmt.Sprint("m", i))
		}
		w.send("q", 2*minute, "late")
		f, err := w.rules.Preview(w.Context(), alert.Rule{Condition: alert.ExpiringSoon, Within: minute, Query: "-id:m7"})
		w.must(err)
		w.equal([]any{f.Known, f.Count, f.Incomplete, len(f.Sample)}, "[true 699 false 5]")
		f, err = w.rules.Preview(w.Context(), alert.Rule{Condition: alert.DeadLettersAbove, Threshold: 0})
		w.must(err)
		w.equal([]any{f.Known, f.Count}, "[true 0]")
		f, err = w.rules.Preview(w.Context(), alert.Rule{Condition: alert.Expired})
		w.must(err)
		w.equal(f.Known, false)
	})
}

// TestRememberedAsLongAsItTakes checks that a rule still counts its own extension of a message, and
// does not extend it again, after a user has extended the message by much more.
func TestRememberedAsLongAsItTakes(t *testing.T) {
	for name, again := range map[string]func(*world){"by the same server": func(*world) {}, "by another": (*world).restart} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(w *world) {
				w.b.CreateQueue("q", engine.Config{})
				w.send("q", 20*second, "a")
				id := w.add(alert.Rule{Name: "once", Condition: alert.ExpiringSoon, Within: 10 * second, Action: alert.Extend, ExtendBy: minute, MaxExtensions: 1})
				w.pass(11 * second)
				w.equal(w.status(id).Done, 1)
				w.must(w.b.Extend(w.Context(), w.b.Rows("q")[0].Message.Key, w.b.ClockTime().Add(30*minute), "somebody"))
				w.pass(20 * minute)
				again(w)
				w.pass(10*minute - 5*second)
				s := w.status(id)
				w.equal([]int64{s.Fired, s.Done}, "[2 1]")
			})
		})
	}
}

// A message that a rule cannot check, because its body cannot be read or no longer exists, is
// counted and reported, and causes no alert.
func TestUnreadableBodies(t *testing.T) {
	bubble(t, func(w *world) {
		w.b.CreateQueue("q", engine.Config{})
		id := w.add(alert.Rule{Name: "late", Condition: alert.DeadLettered, Query: `body:"body of"`})
		plain := w.add(alert.Rule{Name: "any", Condition: alert.DeadLettered})
		kill := func(name string) {
			long := strings.Repeat("-", 70<<10) + "body of " + name // more than is kept in memory
			w.b.SendMessages("q", broker.Outgoing{Content: engine.Content{MessageID: name}, Body: []byte(long)})
			rows := w.b.Rows("q")
			w.must(w.b.DeadLetterMessage(w.Context(), rows[len(rows)-1].Message.Key, "unpaid", "", "test"))
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
			t.Errorf("after a body that cannot be read: %+v", s.State)
		}
		blind(engine.ErrMessageNotFound) // another caller was quicker
		kill("c")
		if s := w.status(id); s.Fired != 1 || s.Missed != 2 || !strings.Contains(s.Trouble, "could not be read") {
			t.Errorf("after a message that no longer exists: %+v", s.State)
		}
		blind(nil)
		kill("d")
		if s := w.status(id); s.Fired != 2 || s.Missed != 2 || s.Trouble != "" {
			t.Errorf("after a body that can be read again: %+v", s.State)
		}
		if s := w.status(plain); s.Fired != 4 || s.Missed != 0 || s.Trouble != "" {
			t.Errorf("a rule whose query needs no body: %+v", s.State)
		}
		w.restart()
		if s := w.status(id); s.Missed != 2 {
			t.Errorf("after a restart: %+v", s.State)
		}
	})
}

// If a change of a rule's URL keeps the scheme, host and port, the rule keeps its secret. A change
// to another origin is refused unless it states the secret again.
func TestSecretStaysBehind(t *testing.T) {
	bubble(t, func(w *world) {
		base := alert.Rule{Name: "soon", Condition: alert.ExpiringSoon, Within: time.Second, URL: "https://one.example/a", Secret: "correct horse"}
		id := w.add(base)
		for _, tc := range []struct {
			url, secret string
			want        string // the secret afterwards; empty means that the change is refused
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
			wrong, field := errors.AsType[*alert.FieldError](err)
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
		rule.URL = "https://two.example/" // without a webhook the secret is dropped
		_, err = w.rules.Replace(w.Context(), id, rule, "tester")
		w.must(err)
	})
}
