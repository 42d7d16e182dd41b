package dashboard_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
)

// ruled creates a subscription of prices with these rules only.
func (w *world) ruled(name string, c engine.Config, rules ...engine.Rule) {
	w.Helper()
	_, err := w.b.CreateWithRules(w.Context(), engine.Subscription, engine.SubscriptionPath("prices", name), c, rules, "test")
	w.must(err)
}

func sql(name, text, action string) engine.Rule {
	return engine.Rule{Name: name, Filter: engine.Filter{Kind: engine.SQLFilter, Text: text}, Action: action}
}

// says returns the text that a selector finds.
func (a answer) says(selector string) string {
	return strings.Join(strings.Fields(a.Find(selector).Text()), " ")
}

// TestLab: the lab predicts the result of sending the message (FILT-4 … FILT-6, FILT-31).
func TestLab(t *testing.T) {
	within(t, func(w *world) {
		w.see("/n/default/lab").wants(200, "Create a topic first")
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Topic, "other", engine.Config{})
		w.see("/n/default/lab").wants(200, "Nothing was tried yet", "Every message found a subscription")
		message := []string{"topic", "prices", "subject", "price.changed", "property-0-name", "amount", "property-0-type", "int", "property-0-value", "1200"}
		w.post("/n/default/lab", message...).wants(200, "The topic has no subscription.", "accepted and discarded")
		w.ruled("all", engine.Config{}, engine.Rule{Name: "$Default"}, sql("large", "amount > 1000", "SET amount = amount * 2"))
		w.ruled("audit", engine.Config{}, sql("per", "amount / 0 > 1", ""))
		w.ruled("z-dropped", engine.Config{IgnoreFilterExceptions: true}, sql("per", "amount / 0 > 1", ""))
		w.ruled("eu", engine.Config{}, sql("eu", "region = 'eu'", ""), engine.Rule{Name: "no", Filter: engine.Filter{Kind: engine.FalseFilter}})
		w.ruled("silent", engine.Config{})
		a := w.post("/n/default/lab", message...)
		a.wants(200, "2 of 5 subscriptions take it.", "3 copies are made.")
		var got []string
		for i := range a.Find(".taking").Nodes {
			sub := a.Find(".taking").Eq(i)
			got = append(got, sub.Find("summary b").Text()+": "+sub.Find("summary .says").Text())
		}
		want := []string{"all: 2 copies", "audit: 1 dead letter", "z-dropped: a filter cannot be evaluated", "eu: not taken", "silent: not taken: it has no rule"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		for _, s := range []string{"2400", "RuleName", "missing", "by zero"} {
			if !strings.Contains(a.says("[data-tried=outcome]"), s) {
				t.Errorf("%q is missing: %s", s, a.says("[data-tried=outcome]"))
			}
		}
		if href := a.Find(`.taking a[href*="rules/edit"]`).First().AttrOr("href", ""); href != "/n/default/t/prices/s/all/rules/edit?rule=%24Default" {
			t.Errorf("a rule links to %s", href)
		}
		if w.b.State("prices").NextSeq != 1 || w.b.State("prices/Subscriptions/all").Counts.Active != 0 {
			t.Error("a trial sent the message")
		}
		w.fill("prices", engine.Content{Subject: "price.changed", Properties: value.Properties{{Name: "amount", Value: value.OfInt(1200)}}})
		for sub, want := range map[engine.Path]engine.Counts{
			"all": {Active: 2}, "audit": {DeadLetter: 1}, "z-dropped": {}, "eu": {}, "silent": {},
		} {
			if got := w.b.State(engine.SubscriptionPath("prices", string(sub))).Counts; got != want {
				t.Errorf("%s got %+v, want %+v", sub, got, want)
			}
		}
		w.post("/n/default/lab", "topic", "gone", "subject", "x").wants(200, "There is no topic called gone")
		a = w.post("/n/default/lab", "topic", "prices", "property-0-name", "n", "property-0-type", "int", "property-0-value", "three")
		a.wants(200, "The message cannot be read", "Nothing was tried yet")
		if !strings.HasPrefix(a.says("[data-tried=refused]"), "The message cannot be read n: ") || a.Find(".err").Length() != 1 {
			t.Errorf("got %q", a.says("[data-tried=refused]"))
		}
		a = w.post("/n/default/lab", append(message, "add-property", "1")...)
		if n := a.Find("input[name^=property-][name$=-value]").Length(); n < 5 || a.Find(".taking").Length() != 0 {
			t.Errorf("got %d rows", n)
		}
		for _, to := range []string{"/n/default/t/prices", "/n/default/t/prices/s/eu?tab=rules", "/n/default/topics"} {
			if n := w.see(to).Find(`a[href^="/n/default/lab"]`).Length(); n == 0 {
				t.Errorf("%s has no link to the lab", to)
			}
		}
	})
}

// TestLabKnowsWhatTheBrokerSets: the lab sets the properties that the broker sets on acceptance
// (FILT-21).
func TestLabKnowsWhatTheBrokerSets(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.ruled("first", engine.Config{}, sql("r", "sys.SequenceNumber = 1 AND EXISTS(sys.EnqueuedTimeUtc) AND sys.PartitionKey = 'k'", ""))
		w.post("/n/default/lab", "topic", "PRICES", "partition-key", "k").wants(200, "1 of 1 subscriptions takes it.")
		w.fill("prices", engine.Content{PartitionKey: "k"})
		if n := w.b.State("prices/Subscriptions/first").Counts.Active; n != 1 {
			t.Errorf("received %d messages", n)
		}
		w.post("/n/default/lab", "topic", "prices", "partition-key", "k").wants(200, "No subscription takes it.")
	})
}

// TestLabOfThousands: every subscription of the largest topic is evaluated; all that match are
// shown, and of the others as many as there is room for.
func TestLabOfThousands(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		const all = 2000
		for i := range all {
			r := sql("r", fmt.Sprintf("n %% %d = 7", all), "")
			if i%50 == 49 {
				r = engine.Rule{Name: "r", Filter: engine.Filter{Kind: engine.CorrelationFilter, Text: `{"Label":"x"}`}}
			}
			w.ruled(fmt.Sprintf("s%04d", i), engine.Config{}, r)
		}
		a := w.post("/n/default/lab", "topic", "prices", "subject", "x", "property-0-name", "n", "property-0-type", "int", "property-0-value", "8")
		a.wants(200, "40 of 2,000 subscriptions take it.", "1,950 more subscriptions are not shown")
		if n := a.Find(".taking").Length(); n != 50 || a.Find(".taking").Eq(39).Find("summary b").Text() != "s1999" || a.Find(".taking").Eq(40).Find("summary b").Text() != "s0000" {
			t.Errorf("%d are shown: %s", n, a.says(".taking summary b"))
		}
		a = w.post("/n/default/lab", "topic", "prices", "subject", "y", "property-0-name", "n", "property-0-type", "int", "property-0-value", "7")
		a.wants(200, "1,960 of 2,000 subscriptions take it.", "1,950 more")
	})
}

// TestLabOfManyRules: of a subscription with 250 rules, the lab shows 25, among them the one that
// matches, and each page of the tab of rules shows 100.
func TestLabOfManyRules(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		var rules []engine.Rule
		for i := range 250 {
			rules = append(rules, sql(fmt.Sprintf("r%03d", i), fmt.Sprintf("n = %d", i), ""))
		}
		w.ruled("many", engine.Config{}, rules...)
		a := w.post("/n/default/lab", "topic", "prices", "property-0-name", "n", "property-0-type", "int", "property-0-value", "200")
		a.wants(200, "1 of 1 subscriptions takes it.", "225 more rules are not shown")
		if n := a.Find(".taking li > .row").Length(); n != 25 || !strings.Contains(a.says(".taking"), "r200 Selected") || a.says(".taking li:last-child > .row strong") != "r200" {
			t.Errorf("%d rules are shown in the lab", n)
		}
		tab := w.see("/n/default/t/prices/s/many?tab=rules")
		if n := tab.Find(".rules > li").Length(); n != 100 {
			t.Errorf("%d rules are on the tab", n)
		}
		tab.wants(200, "100 of 250 shown")
		if n := w.see("/n/default/t/prices/s/many?page=3&tab=rules").Find(".rules > li").Length(); n != 50 {
			t.Errorf("%d rules are on the last page", n)
		}
	})
}

// unmatched sends messages that no subscription matches to a topic, one a second.
func (w *world) unmatched(topic engine.Path, all ...engine.Content) {
	w.Helper()
	for _, c := range all {
		w.fill(topic, c)
		w.pass(time.Second)
	}
}

// keys returns the keys of the messages in the tray, latest first.
func (w *world) keys() (keys []string) {
	w.Helper()
	rows := w.see("/n/default/lab").Find("[data-list=tray] [data-key]")
	for i := range rows.Nodes {
		keys = append(keys, rows.Eq(i).AttrOr("data-key", ""))
	}
	return keys
}

func region(name string) value.Property {
	return value.Property{Name: "region", Value: value.OfString(name)}
}

func TestTray(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.unmatched("prices",
			engine.Content{Subject: "price.changed", MessageID: "p-1", CorrelationID: "c", Properties: value.Properties{region("us"), {Name: "tier", Value: value.OfInt(3)}, {Name: "n", Value: value.OfInt(1)}}},
			engine.Content{Subject: "price.changed", MessageID: "p-2", CorrelationID: "c", Properties: value.Properties{{Name: "tier", Value: value.OfInt(3)}, region("us"), {Name: "n", Value: value.OfLong(2)}}},
			engine.Content{Subject: hostileName, Properties: value.Properties{{Name: hostileName, Value: value.OfString(hostileName)}}},
			engine.Content{})
		a := w.see("/n/default/lab")
		a.wants(200, "4 messages were accepted and discarded", "the latest 100 are kept", "region", "us", "alert(1)", "sys.CorrelationId")
		if a.Find("main script").Length() != 0 {
			t.Error("a subject was not escaped")
		}
		keys := w.keys()
		if len(keys) != 4 {
			t.Fatalf("the tray has %v", keys)
		}
		w.ruled("eu", engine.Config{}, sql("r", "region = 'eu'", ""))
		a = w.see("/n/default/lab?from=" + keys[3])
		a.wants(200, "From price.changed", "No subscription takes it.", "start afresh")
		if v := a.Find("[name=property-1-name]").AttrOr("value", ""); v != "tier" || a.Find("[name=message-id]").AttrOr("value", "") != "p-1" {
			t.Errorf("the filled-in filter is %q", v)
		}
		if href := a.Find(`.taking a[href*="rules/edit"]`).AttrOr("href", ""); !strings.HasSuffix(href, "rules/edit?from="+keys[3]+"&rule=r") {
			t.Errorf("the rule links to %s", href)
		}
		w.see("/n/default/lab?from=424242").wants(200, "no longer known")
		w.see("/n/default/m/"+keys[3]).wants(200, "Matched no subscription")

		// The proposed filter contains all properties that the messages have in common, and no
		// others.
		catch := w.get("/n/default/lab/new?key=" + keys[3] + "&key=" + keys[2])
		if catch.status != http.StatusSeeOther {
			t.Fatalf("creating the subscription returned %d", catch.status)
		}
		form := w.see(catch.to)
		form.wants(200, "Proposed from 2 messages", "price.changed")
		w.must2(form.Find("[name=rule-kind][checked]").AttrOr("value", ""), "correlation")
		var got []string
		for i := range 5 {
			field := fmt.Sprintf("[name=condition-%d-", i)
			got = append(got, form.Find(field+"of] [selected]").AttrOr("value", "")+"|"+form.Find(field+"name]").AttrOr("value", "")+"|"+form.Find(field+"value]").AttrOr("value", ""))
		}
		want := []string{"Label||price.changed", "CorrelationId||c", "|region|us", "|tier|3", "||"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		w.fillForm(form, "name", "us")
		wantRule := []engine.Rule{{Name: "$Default", Filter: engine.Filter{Kind: engine.CorrelationFilter, Text: `{"CorrelationId":"c","Label":"price.changed","Properties":{"region":"us","tier":{"type":"int","value":"3"}}}`}}}
		if d := cmp.Diff(wantRule, w.rulesOf("prices/Subscriptions/us")); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		w.fill("prices", engine.Content{Subject: "price.changed", CorrelationID: "c", Properties: value.Properties{region("us"), {Name: "tier", Value: value.OfLong(3)}}})
		if n := w.b.State("prices/Subscriptions/us").Counts.Active; n != 1 {
			t.Errorf("the next message arrived %d times", n)
		}
		if n := len(w.keys()); n != 4 {
			t.Errorf("the tray has %d messages", n)
		}
	})
}

func (w *world) must2(got, want string) {
	w.Helper()
	if got != want {
		w.Errorf("got %q, want %q", got, want)
	}
}

// fillForm sends the form of a page, with one field changed. The response has to be a redirect.
func (w *world) fillForm(a answer, name, text string) {
	w.Helper()
	form := sent(a)
	form.Set(name, text)
	if got := w.send(a.Find("#f").AttrOr("action", ""), form); got.status != http.StatusSeeOther {
		w.Errorf("%d: %s", got.status, got.says(".err"))
	}
}

func TestWhatCannotBeCaught(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.b.CreateEntity(engine.Topic, "other", engine.Config{})
		w.unmatched("prices", engine.Content{MessageID: "a", Subject: "one"}, engine.Content{MessageID: "b", Subject: "two"}, engine.Content{MessageID: "alone", SessionID: "s"},
			engine.Content{Subject: "line\nbreak", Properties: value.Properties{{Name: "n", Value: value.OfInt(1)}, {Name: "N", Value: value.OfInt(2)}}})
		w.unmatched("other", engine.Content{Subject: "one"})
		keys := w.keys()
		other, odd, alone, two, one := keys[0], keys[1], keys[2], keys[3], keys[4]
		w.must2(w.see("/n/default/lab").Find("[name=topic] [selected]").AttrOr("value", ""), "other")
		w.must2(w.see("/n/default/lab?from="+one).Find("[name=topic] [selected]").AttrOr("value", ""), "prices")
		for query, says := range map[string]string{
			"":                              "Choose the messages first.",
			"?key=424242":                   "no longer kept",
			"?key=x&key=-1&key=0":           "no longer kept",
			"?key=" + one + "&key=" + other: "sent to several topics",
		} {
			w.get("/n/default/lab/new"+query).wants(http.StatusUnprocessableEntity, says, "Matched nothing")
		}
		for query, says := range map[string]string{
			"?key=" + one + "&key=" + two: "The 2 messages have no property in common",
			"?key=" + alone:               "The message has no property to propose a filter from",
		} {
			form := w.see(w.get("/n/default/lab/new" + query).to)
			form.wants(200, says)
			form.lacks("Proposed from")
			w.must2(form.Find("[name=rule-kind][checked]").AttrOr("value", ""), "true")
		}
		form := w.see(w.get("/n/default/lab/new?key=" + odd + "&key=" + odd).to)
		form.wants(200, "Proposed from 1 message")
		w.must2(form.Find("[name=condition-0-name]").AttrOr("value", "")+form.Find("[name=condition-1-name]").AttrOr("value", ""), "n")
		// An error in the form keeps the proposal, and its source.
		typed := sent(form)
		typed.Set("name", "a b")
		typed.Set("condition-0-value", "many")
		a := w.send(form.Find("#f").AttrOr("action", ""), typed)
		a.wants(http.StatusUnprocessableEntity, "Proposed from 1 message")
		if n := a.Find(".err").Length(); n != 2 {
			t.Errorf("%d errors: %s", n, a.says(".err"))
		}
		if _, err := w.b.Create(w.Context(), engine.Subscription, "prices/Subscriptions/a", engine.Config{}, "test"); err != nil {
			t.Error(err)
		}
		a = w.post("/n/default/t/prices/new", "name", "b", "rule-kind", "sql", "rule-sql", "a = ")
		if a.wants(http.StatusUnprocessableEntity, "at character 5, where the text ends"); a.Find(".fault").Length() != 1 || a.Find(".notice").Length() != 0 {
			t.Error("the error is not at the field")
		}
		w.post("/n/default/t/prices/new", "name", "A", "rule-kind", "sql", "rule-sql", "a = 1").wants(http.StatusConflict, "already")
	})
}

// TestTrayIsBounded: the tray keeps the latest 100 messages, or fewer if they are large, and the
// page shows how many were discarded in all.
func TestTrayIsBounded(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		for i := range 150 {
			w.fill("prices", engine.Content{Subject: fmt.Sprintf("m%03d", i)})
		}
		a := w.see("/n/default/lab")
		a.wants(200, "150 messages were accepted and discarded", "m149", "m050")
		a.lacks("m049")
		keys := w.keys()
		var all []string
		for _, k := range keys {
			all = append(all, "key="+k)
		}
		w.see(w.get("/n/default/lab/new?"+strings.Join(all, "&")).to).wants(200, "The 100 messages have no property in common")
		for range 50 {
			w.fill("prices", engine.Content{Subject: "large", Properties: value.Properties{{Name: "x", Value: value.OfString(strings.Repeat("x", 30<<10))}, {Name: "y", Value: value.OfString(strings.Repeat("y", 30<<10))}}})
		}
		a = w.see("/n/default/lab")
		if n := a.Find("[data-list=tray] [data-key]").Length(); n != 34 {
			t.Errorf("%d messages of 60 KB are kept", n)
		}
		a.wants(200, "200 messages were accepted and discarded")
	})
}

func TestTrayAfterRestart(t *testing.T) {
	within(t, func(w *world) {
		w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
		w.unmatched("prices", engine.Content{Subject: "before", MessageID: "b-1", To: "x"})
		w.pass(2 * time.Second)
		w.restart()
		w.unmatched("prices", engine.Content{Subject: "after"})
		keys := w.keys()
		if len(keys) != 2 {
			t.Fatalf("the tray has %d messages", len(keys))
		}
		w.see("/n/default/lab").wants(200, "2 messages were accepted and discarded", "before", "after")
		w.see("/n/default/m/"+keys[1]).wants(200, "before", "b-1", "Matched no subscription", "accepted by prices and discarded", "Filter lab")
		w.see(w.get("/n/default/lab/new?key="+keys[0]+"&key="+keys[1]).to).wants(200, "no property in common")
	})
}

// TestForgedRuleForms: a form without a valid token tries and saves nothing.
func TestForgedRuleForms(t *testing.T) {
	within(t, func(w *world) {
		prices(w)
		before := w.rulesOf(eu)
		for name, form := range map[string]url.Values{
			"no token":      {"rule-name": {"forged"}, "rule-kind": {"true"}, "name": {"forged"}, "topic": {"prices"}},
			"a wrong token": {"rule-name": {"forged"}, "rule-kind": {"true"}, "name": {"forged"}, "topic": {"prices"}, "csrf": {w.token() + "x"}},
		} {
			for _, to := range []string{euRules + "new", euRules + "edit?rule=%24Default", euRules + "try", euRules + "remove?rule=%24Default", "/n/default/lab", "/n/default/t/prices/new"} {
				if a := w.send(to, form); a.status != http.StatusForbidden {
					t.Errorf("%s to %s: %d", name, to, a.status)
				}
			}
		}
		if d := cmp.Diff(before, w.rulesOf(eu)); d != "" || w.b.State("prices").Subscriptions != 1 {
			t.Errorf("something was changed: %s", d)
		}
	})
}
