package route_test

import (
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/value"
	"mayfly/storage/memory"
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/lab"
	"mayfly/views/page/message"
	"mayfly/views/view"
)

// A rule that the broker would refuse now, because an older version stored it, is marked with the
// error. One that still works is marked as such.
func TestRulesThatTheEngineWouldRefuse(t *testing.T) {
	w := &world{}
	spoil := engine.SubqueueID(0)
	w.wrap = func(s *memory.Store) engine.Store {
		if spoil != 0 {
			at := engine.Instant(1_700_000_000_000)
			if err := s.Commit(t.Context(), &engine.Batch{Rules: []engine.Rule{
				{Subscription: spoil, Name: "broken", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "amount >> 1"}, CreatedAt: at},
				{Subscription: spoil, Name: "empty", Filter: engine.Filter{Kind: engine.CorrelationFilter, Text: "{}"}, CreatedAt: at},
				{Subscription: spoil, Name: "long", Filter: engine.Filter{Kind: engine.SQLFilter, Text: strings.Repeat(" ", 1024) + "a = 1"}, CreatedAt: at},
				{Subscription: spoil, Name: "odd", Filter: engine.Filter{Kind: 99, Text: "?"}, CreatedAt: at},
				{Subscription: spoil, Name: "lines", Filter: engine.Filter{Kind: engine.CorrelationFilter, Text: `{"Label":"a\nb"}`}, CreatedAt: at},
			}}); err != nil {
				t.Fatal(err)
			}
		}
		return s
	}
	inside(t, w, func(w *world) {
		w.create(engine.Topic, "prices", engine.Config{})
		w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		e := w.b.State("prices/Subscriptions/eu")
		spoil = e.ID
		w.restart()
		got, inert := map[string]string{}, ""
		m := as[entity.Entity](w, "/n/default/t/prices/s/eu?tab=rules")
		for _, r := range m.Rules {
			if got[r.Name] = r.Wrong; r.Inert {
				inert += " " + r.Name
			}
			if (r.Name == "$Default") == (r.Wrong != "") && r.Name != "lines" {
				w.Errorf("%s has the error %q", r.Name, r.Wrong)
			}
		}
		if len(m.Rules) != 6 || m.NewRule == "" || m.Lab == "" {
			t.Errorf("the tab is %+v", m.Rules)
		}
		w.said("broken", got["broken"], "The filter of rule 'broken' is not valid: Expected a value at character 9, not >.")
		w.said("those that select nothing", inert, " broken empty odd")
		w.said("long", got["long"], "The filter of rule 'long' is not valid: it has 1029 characters; the maximum is 1024.")
		for _, name := range []string{"broken", "empty", "long", "odd", "lines"} {
			w.sound("/n/default/t/prices/s/eu/rules/edit?rule=" + name)
		}
		w.sound("/n/default/t/prices/s/eu?tab=rules")
		form := as[lab.RuleForm](w, "/n/default/t/prices/s/eu/rules/edit?rule=broken")
		if want := (component.SyntaxError{Text: "amount >> 1", At: 8, Found: ">", Want: "a value"}); form.Rule.SQLFault != want {
			t.Errorf("the error is %+v", form.Rule.SQLFault)
		}
		if c := as[lab.RuleForm](w, "/n/default/t/prices/s/eu/rules/edit?rule=lines").Rule.Conditions; len(c) != 1 || !strings.Contains(c[0].Error.S, "line breaks") {
			t.Errorf("the conditions are %+v", c)
		}
		w.send("prices", engine.Content{Subject: "price"})
		shown := as[lab.FilterLab](w, "/n/default/lab?from="+as[entity.Entity](w, "/n/default/t/prices/s/eu").Rows[0].Key)
		if o := shown.Outcome; o.Matching != 1 || o.Copies != 1 || len(o.Subscriptions[0].Rules) != 6 || o.Subscriptions[0].Rules[1].Result != component.Failed {
			t.Errorf("in the lab the rule is %+v", o)
		}
		_, err := w.b.CreateWithRules(w.Context(), engine.Subscription, "prices/Subscriptions/ask", engine.Config{}, []engine.Rule{{Name: "no", Filter: engine.Filter{Kind: engine.FalseFilter}}}, "test")
		w.must(err)
		w.must(w.b.RemoveRule(w.Context(), "prices/Subscriptions/eu", "$Default", "test"))
		shown = as[lab.FilterLab](w, "/n/default/lab?from="+as[entity.Entity](w, "/n/default/t/prices/s/eu").Rows[0].Key)
		if o := shown.Outcome; o.Matching != 0 || o.Subscriptions[0].Name != "eu" || o.Subscriptions[1].Name != "ask" {
			t.Errorf("failing subscriptions are not last in the lab: %+v", o)
		}
	})
}

// A message that no subscription received has a page that shows this, for as long as it is kept
// (FILT-6).
func TestStoryOfAnUnmatchedMessage(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Topic, "prices", engine.Config{})
		w.send("prices", engine.Content{Subject: "at once", MessageID: "m-1", Properties: value.Properties{{Name: "tier", Value: value.OfInt(3)}}},
			engine.Content{Subject: "later", ScheduledFor: w.now().Add(time.Minute)})
		w.pass(2 * time.Minute)
		look := func() {
			shown := as[lab.FilterLab](w, "/n/default/lab")
			if len(shown.Unmatched) != 2 || shown.UnmatchedCount != 2 || shown.Unmatched[0].Subject != "later" || shown.Unmatched[1].Topic.Href != "/n/default/t/prices" {
				w.Fatalf("the tray is %+v", shown.Unmatched)
			}
			for i, want := range []string{
				"Matched no subscription (accepted by prices and discarded)",
				"Matched no subscription (accepted by prices and discarded · by test)",
			} {
				m := as[message.Message](w, "/n/default/m/"+shown.Unmatched[i].Key)
				var lines []string
				for _, e := range m.Timeline {
					lines = append(lines, e.Title+" ("+text(e.Detail)+")")
				}
				w.said("its life", strings.Join(lines, "; "), want)
				w.said("its end", m.Ended.Title, "Matched no subscription")
				if m.Entity != (page.EntityRef{Kind: page.Topic, Name: "prices", Href: "/n/default/t/prices"}) || m.HeadersMissing || m.Lab != "/n/default/lab?from="+shown.Unmatched[i].Key {
					w.Errorf("the page is %+v", m)
				}
				w.sound("/n/default/m/" + shown.Unmatched[i].Key)
			}
			m := as[message.Message](w, "/n/default/m/"+shown.Unmatched[1].Key)
			if m.ID != "m-1" || len(m.Application) != 1 {
				w.Errorf("the properties are %+v", m.Application)
			}
			url := "/n/default/lab?from=" + shown.Unmatched[1].Key
			w.sound(url)
			if p, _, err := w.pages.Open(view.WithFrozenClocks(w.Context()), url); err != nil || p.(lab.FilterLab).Outcome.Tried {
				w.Errorf("a rendering of live parts evaluates the rules again: %v", err)
			}
		}
		look()
		w.pass(2 * time.Second)
		w.restart()
		look()
	})
}

// FILT-5: the text about a subscription's rules gives the right number of copies: a single
// rule makes one, with or without an action.
func TestRulesSayHowManyCopies(t *testing.T) {
	isConfined(t, func(w *world) {
		const sub = engine.Path("prices/Subscriptions/eu")
		w.create(engine.Topic, "prices", engine.Config{})
		w.create(engine.Subscription, sub, engine.Config{})
		says := func(want string) {
			w.Helper()
			w.said("the lede", text(as[entity.Entity](w, "/n/default/t/prices/s/eu?tab=rules").Lede), want)
		}
		large := engine.Rule{Name: "large", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "amount > 1"}, Action: "SET large = 1"}
		w.must(w.b.AddRule(w.Context(), sub, large, "test"))
		says("2 rules decide what arrives: one of them is enough. One of them has an action, and makes a copy of its own.")
		w.must(w.b.RemoveRule(w.Context(), sub, "$Default", "test"))
		says("One rule decides what arrives. It has an action, which changes the copy that arrives.")
	})
}
