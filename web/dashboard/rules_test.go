package dashboard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
)

const (
	hostileName = "<script>alert(1)</script>\u202egnorw"
	eu          = "prices/Subscriptions/eu"
	euRules     = "/n/default/t/prices/s/eu/rules/"
)

// prices creates a topic with a subscription.
func prices(w *world) {
	w.b.CreateEntity(engine.Topic, "prices", engine.Config{})
	w.b.CreateEntity(engine.Subscription, eu, engine.Config{})
}

// rulesOf returns the rules of a subscription, without their times of creation.
func (w *world) rulesOf(sub engine.Path) (rules []engine.Rule) {
	w.Helper()
	for _, r := range w.b.State(sub).Rules {
		r.Subscription, r.CreatedAt = 0, 0
		rules = append(rules, r)
	}
	return rules
}

// TestRuleForms: the rule is saved as filled in, and the form shows it again unchanged (FILT-7,
// FILT-8, FILT-13, FILT-17, FILT-25).
func TestRuleForms(t *testing.T) {
	within(t, func(w *world) {
		prices(w)
		says, at := w.done(euRules+"new", "rule-name", " large ", "rule-kind", "sql",
			"rule-sql", "amount > @limit\r\n AND region = 'eu'", "rule-action", "SET sys.Label = 'large'",
			"parameter-rows", "2", "parameter-0-name", "limit", "parameter-0-type", "long", "parameter-0-value", "1000",
			"parameter-1-name", "", "parameter-1-type", "string", "parameter-1-value", "",
			"condition-0-of", "Label", "condition-0-name", "", "condition-0-value", "not of this kind")
		if !strings.Contains(says, "prices/eu got the rule large") || at != "/n/default/t/prices/s/eu?tab=rules" {
			t.Errorf("the notice is %q at %s", says, at)
		}
		w.done(euRules+"new", "rule-name", "vip", "rule-kind", "correlation", "rule-sql", "not ( of this kind", "rule-action", " \r\n",
			"condition-0-of", "Label", "condition-0-name", "", "condition-0-type", "string", "condition-0-value", "price.changed",
			"condition-1-of", "", "condition-1-name", "tier", "condition-1-type", "int", "condition-1-value", "1",
			"condition-2-of", "", "condition-2-name", "区域", "condition-2-type", "string", "condition-2-value", "",
			"condition-3-of", "To", "condition-3-name", "x", "condition-3-type", "string", "condition-3-value", "",
			"condition-5-of", "", "condition-5-name", "void", "condition-5-type", "null", "condition-5-value", "",
			"condition-4-of", "", "condition-4-name", hostileName, "condition-4-type", "string", "condition-4-value", hostileName,
			"parameter-0-name", "@a", "parameter-0-type", "int", "parameter-0-value", "not of this kind")
		w.done(euRules+"new", "rule-name", "none", "rule-kind", "false")
		w.done(euRules+"new", "rule-name", "all", "rule-kind", "true", "rule-action", "SET n = @n", "parameter-0-name", "@n", "parameter-0-type", "int", "parameter-0-value", "5")
		correlation := `{"Label":"price.changed","Properties":{"\u003cscript\u003ealert(1)\u003c/script\u003e` + "\u202egnorw" + `":"\u003cscript\u003ealert(1)\u003c/script\u003e` + "\u202egnorw" + `","tier":{"type":"int","value":"1"},"void":{"type":"null"},"区域":""}}`
		want := []engine.Rule{
			{Name: "$Default"},
			{Name: "all", Filter: engine.Filter{Parameters: value.Properties{{Name: "@n", Value: value.OfInt(5)}}}, Action: "SET n = @n"},
			{
				Name: "large", Action: "SET sys.Label = 'large'",
				Filter: engine.Filter{Kind: engine.SQLFilter, Text: "amount > @limit\n AND region = 'eu'", Parameters: value.Properties{{Name: "@limit", Value: value.OfLong(1000)}}},
			},
			{Name: "none", Filter: engine.Filter{Kind: engine.FalseFilter}},
			{Name: "vip", Filter: engine.Filter{Kind: engine.CorrelationFilter, Text: correlation}},
		}
		if d := cmp.Diff(want, w.rulesOf(eu)); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
		tab := w.see("/n/default/t/prices/s/eu?tab=rules")
		tab.wants(200, "amount > @limit", "@limit", "1000", "SET sys.Label = 'large'", "sys.Label = ", "price.changed", "tier = ", "int", "takes nothing", "takes every message")
		if tab.Find("main script").Length() != 0 {
			t.Error("a property's name was not escaped")
		}
		form := w.see(euRules + "edit?rule=VIP")
		for selector, want := range map[string]string{
			"#f-rule-name": "vip", "[name=rule-kind][checked]": "correlation", "[name=condition-0-value]": "price.changed", "[name=condition-0-of] [selected]": "Label",
			"[name=condition-1-name]": hostileName, "[name=condition-2-name]": "tier", "[name=condition-2-value]": "1", "[name=condition-2-type] [selected]": "int",
		} {
			if got := form.Find(selector).AttrOr("value", ""); got != want {
				t.Errorf("%s is %q, want %q", selector, got, want)
			}
		}
		// Sending the form back unchanged changes nothing.
		for _, name := range []string{"vip", "large", "none", "all", "$Default"} {
			w.resend(euRules + "edit?rule=" + url.QueryEscape(name))
		}
		if d := cmp.Diff(want, w.rulesOf(eu)); d != "" {
			t.Errorf("sent unchanged (-want +got):\n%s", d)
		}
		says, _ = w.done(euRules+"edit?rule=large", "rule-name", "other", "rule-kind", "sql", "rule-sql", "a = 1")
		if !strings.Contains(says, "Saved the rule large") {
			t.Errorf("the notice is %q", says)
		}
		want[2] = engine.Rule{Name: "large", Filter: engine.Filter{Kind: engine.SQLFilter, Text: "a = 1"}}
		if d := cmp.Diff(want, w.rulesOf(eu)); d != "" {
			t.Errorf("edited (-want +got):\n%s", d)
		}
		w.done(euRules+"remove?rule=large", "back", "/n/default/t/prices/s/eu?tab=rules")
		if n := len(w.rulesOf(eu)); n != 4 {
			t.Errorf("%d rules are left", n)
		}
	})
}

// resend loads a page and sends its form unchanged, which has to succeed.
func (w *world) resend(to string) {
	w.Helper()
	a := w.see(to)
	if a := w.send(a.Find("#f").AttrOr("action", ""), sent(a)); a.status != http.StatusSeeOther {
		w.Errorf("%s sent unchanged: %d %s", to, a.status, a.Find(".err").Text())
	}
}

// sent returns what a browser sends of a form.
func sent(a answer) url.Values {
	form := url.Values{}
	for i := range a.Find("#f [name]").Nodes {
		el := a.Find("#f [name]").Eq(i)
		name, kind := el.AttrOr("name", ""), el.AttrOr("type", "")
		_, checked := el.Attr("checked")
		_, disabled := el.Attr("disabled")
		switch {
		case disabled, kind == "submit", (kind == "radio" || kind == "checkbox") && !checked:
		case el.Is("select"):
			form.Add(name, el.Find("[selected]").First().AttrOr("value", ""))
		case el.Is("textarea"):
			form.Add(name, strings.ReplaceAll(strings.TrimPrefix(el.Text(), "\n"), "\n", "\r\n"))
		default:
			form.Add(name, el.AttrOr("value", ""))
		}
	}
	return form
}

// TestBadRules sends invalid values for each field: the form is shown again with the engine's
// error at the field, and nothing is changed (FILT-16, FILT-21, FILT-28, ACT-3 … ACT-5,
// NAME-2).
func TestBadRules(t *testing.T) {
	within(t, func(w *world) {
		prices(w)
		w.done(euRules+"new", "rule-name", "taken", "rule-kind", "sql", "rule-sql", "a = 1")
		before := w.rulesOf(eu)
		condition := func(i, of, name, kind, text string) []string {
			field := "condition-" + i + "-"
			return []string{field + "of", of, field + "name", name, field + "type", kind, field + "value", text}
		}
		for name, tc := range map[string]struct {
			set    []string
			status int
			says   string // the text of an error
		}{
			"no name":                   {[]string{"rule-name", ""}, 422, "1 to 50 characters"},
			"name too long":             {[]string{"rule-name", strings.Repeat("a", 51)}, 422, "51"},
			"name with a slash":         {[]string{"rule-name", "a/b"}, 422, "'a/b'"},
			"name that is taken":        {[]string{"rule-name", "TAKEN"}, 409, "|TAKEN' already exists"},
			"kind unknown":              {[]string{"rule-kind", "magic"}, 422, "Choose one of these"},
			"SQL empty":                 {[]string{"rule-sql", ""}, 422, "at character 1, where the text ends"},
			"SQL malformed":             {[]string{"rule-sql", "region = 'eu'\r\n AND >> 1"}, 422, "at character 20, not “>”"},
			"SQL not ended":             {[]string{"rule-sql", "订单 ="}, 422, "at character 5, where the text ends"},
			"SQL too long":              {[]string{"rule-sql", "a = '" + strings.Repeat("é", 1019) + "'"}, 422, "It has 1025 characters; the maximum is 1024."},
			"system property unknown":   {[]string{"rule-sql", "sys.Foo = 'x'"}, 422, "Foo"},
			"parameter of a wrong type": {[]string{"parameter-0-name", "@a", "parameter-0-type", "int", "parameter-0-value", "many"}, 422, "many"},
			"parameter of no type":      {[]string{"parameter-0-name", "@a", "parameter-0-type", "magic", "parameter-0-value", "1"}, 422, "magic"},
			"parameter without a name":  {[]string{"parameter-0-name", "", "parameter-0-type", "int", "parameter-0-value", "1"}, 422, "needs a name"},
			"parameter twice":           {[]string{"parameter-0-name", "@a", "parameter-0-value", "1", "parameter-1-name", "A", "parameter-1-value", "2"}, 422, "@A is there twice"},
			"action malformed":          {[]string{"rule-action", "SET a = 1; PUT b = 2"}, 422, "at character 12, not “PUT”"},
			"action too long":           {[]string{"rule-action", "SET a = '" + strings.Repeat("b", 1015) + "'"}, 422, "It has 1025 characters; the maximum is 1024."},
			"action on what is set":     {[]string{"rule-action", "SET sys.SequenceNumber = 1"}, 422, "SequenceNumber"},
			"action of 33 expressions":  {[]string{"rule-action", strings.Repeat("SET a = 1;", 33)}, 422, "32"},
			"no condition":              {append([]string{"rule-kind", "correlation"}, condition("0", "", "", "string", "")...), 422, "needs at least one condition"},
			"a condition on nothing":    {append([]string{"rule-kind", "correlation"}, condition("0", "", "", "string", "x")...), 422, "needs a name"},
			"condition of a wrong type": {append([]string{"rule-kind", "correlation"}, condition("0", "", "n", "int", "three")...), 422, "three"},
			"condition on no property":  {append([]string{"rule-kind", "correlation"}, condition("0", "Size", "", "string", "1")...), 422, "no condition on this property"},
			"condition twice":           {append(append([]string{"rule-kind", "correlation"}, condition("0", "To", "", "", "a")...), condition("1", "To", "", "", "b")...), 422, "To is there twice"},
			"property twice":            {append(append([]string{"rule-kind", "correlation"}, condition("0", "", "n", "", "a")...), condition("1", "", "n", "int", "1")...), 422, "n is there twice"},
		} {
			form := url.Values{"csrf": {w.token()}, "rule-name": {"new"}, "rule-kind": {"sql"}, "rule-sql": {"a = @a"}}
			for i := 0; i < len(tc.set); i += 2 {
				form.Set(tc.set[i], tc.set[i+1])
			}
			for _, to := range []string{euRules + "new", euRules + "edit?rule=taken"} {
				if strings.HasPrefix(tc.set[0], "rule-name") && !strings.HasSuffix(to, "new") {
					continue
				}
				a := w.send(to, form)
				says := strings.Join(strings.Fields(a.Find(".err").Text()), " ")
				if a.status != tc.status || a.Find(".err").Length() != 1 || !strings.Contains(says, tc.says) {
					t.Errorf("%s, %s: %d with %d errors: %q", name, to, a.status, a.Find(".err").Length(), says)
				}
				for _, field := range []string{"rule-sql", "rule-action"} {
					want := strings.ReplaceAll(form.Get(field), "\r\n", "\n")
					if got := strings.TrimPrefix(a.Find("textarea[name="+field+"]").Text(), "\n"); got != want {
						t.Errorf("%s, %s: %s was returned as %q, want %q", name, to, field, got, want)
					}
				}
			}
		}
		// One error does not hide another.
		a := w.post(euRules+"new", "rule-name", "", "rule-kind", "sql", "rule-sql", "a >", "rule-action", "SET", "parameter-0-name", "@x", "parameter-0-type", "int", "parameter-0-value", "y")
		if n := a.Find(".err").Length(); n != 4 {
			t.Errorf("four mistakes show %d errors: %s", n, a.Find(".err").Text())
		}
		if d := cmp.Diff(before, w.rulesOf(eu)); d != "" {
			t.Errorf("something changed (-want +got):\n%s", d)
		}
		// Values at the limits are accepted.
		w.done(euRules+"new", "rule-name", strings.Repeat("a", 50), "rule-kind", "sql", "rule-sql", "a = '"+strings.Repeat("é", 1018)+"'", "rule-action", strings.Repeat("SET a = 1;", 32))
	})
}

func TestRulesThatAreNotThere(t *testing.T) {
	within(t, func(w *world) {
		prices(w)
		w.b.CreateQueue("orders", engine.Config{})
		for _, to := range []string{
			euRules + "edit", euRules + "edit?rule=none", euRules + "try?rule=none", "/n/default/t/prices/s/none/rules/new", "/n/default/t/prices/rules/new",
			"/n/default/q/orders/rules/new", "/n/default/q/orders/rules/try", "/n/default/lab/old",
		} {
			if a := w.get(to); a.status != http.StatusNotFound {
				t.Errorf("GET %s: %d", to, a.status)
			}
			if a := w.post(to, "rule-name", "x", "rule-kind", "true"); a.status != http.StatusNotFound && a.status != http.StatusConflict {
				t.Errorf("POST %s: %d", to, a.status)
			}
		}
		w.see(euRules+"try").wants(200, "New rule for eu") // the user reloads the answer
		c := w.b.State(eu).Config
		c.Status = engine.StatusDisabled
		_, err := w.b.Update(w.Context(), eu, c, "test")
		w.must(err)
		w.post(euRules+"new", "rule-name", "x", "rule-kind", "true").wants(http.StatusConflict, "cannot change while it or its topic is disabled") // STAT-9
	})
}

// TestRuleRows: rows are added to each table, and typed values stay.
func TestRuleRows(t *testing.T) {
	within(t, func(w *world) {
		prices(w)
		for button, table := range map[string]string{"add-condition": "condition-", "add-parameter": "parameter-", "add-property": "property-"} {
			for _, to := range []string{euRules + "new", euRules + "edit?rule=$Default"} {
				a := w.post(to, button, "1", "rule-name", "large", "rule-kind", "correlation", table+"0-name", "kept", table+"0-value", "x")
				a.wants(http.StatusOK)
				if n := a.Find("input[name^=" + table + "][name$=-value]").Length(); n < 5 || a.Find("input[name="+table+"0-name]").AttrOr("value", "") != "kept" || a.Find(".err").Length() != 0 {
					t.Errorf("%s of %s: %d rows, %s", button, to, n, a.Find(".err").Text())
				}
			}
		}
		a := w.post("/n/default/t/prices/new", "add-condition", "1", "name", "", "rule-kind", "correlation", "condition-0-name", "kept", "condition-0-value", "x")
		if n := a.Find("input[name^=condition-][name$=-value]").Length(); a.status != 200 || n < 5 || a.Find(".err").Length() != 0 {
			t.Errorf("%d: %d rows, %s", a.status, n, a.Find(".err").Text())
		}
	})
}

// TestTryRule: trying a rule on a message shows whether the rule selects it and why. Neither the
// rule nor the message is saved.
func TestTryRule(t *testing.T) {
	within(t, func(w *world) {
		prices(w)
		before := w.rulesOf(eu)
		message := []string{
			"subject", "price.changed", "property-0-name", "amount", "property-0-type", "int", "property-0-value", "1200",
			"property-1-name", "region", "property-1-type", "string", "property-1-value", hostileName,
			"property-2-name", "void", "property-2-type", "string", "property-2-value", "",
		}
		for name, tc := range map[string]struct {
			rule []string
			says []string
		}{
			"true":         {[]string{"rule-kind", "true"}, []string{"Selected", "takes every message"}},
			"false":        {[]string{"rule-kind", "false"}, []string{"Not selected"}},
			"selected":     {[]string{"rule-kind", "sql", "rule-sql", "amount >= @least", "parameter-0-name", "@least", "parameter-0-type", "int", "parameter-0-value", "1200"}, []string{"Selected", "amount", "int", "1200"}},
			"not selected": {[]string{"rule-kind", "sql", "rule-sql", "amount > 1200 OR sys.Label = 'x'"}, []string{"Not selected: it is false", "price.changed"}},
			"unknown":      {[]string{"rule-kind", "sql", "rule-sql", "colour = 'red'"}, []string{"it is unknown", "missing"}},
			"empty":        {[]string{"rule-kind", "sql", "rule-sql", "EXISTS(void) AND void = ''"}, []string{"Selected"}},
			"fails":        {[]string{"rule-kind", "sql", "rule-sql", "amount / 0 = 1"}, []string{"Cannot be evaluated", "prices/eu/$DLQ"}},
			"correlation":  {[]string{"rule-kind", "correlation", "condition-0-of", "Label", "condition-0-name", "", "condition-0-value", "price.changed", "condition-1-name", "amount", "condition-1-type", "string", "condition-1-value", "1200"}, []string{"1 of 2 clauses", "sys.Label"}},
			"time to live": {[]string{"rule-kind", "true", "rule-name", "mark", "rule-action", "SET sys.TimeToLive = '0:2:0'"}, []string{"Selected", "sys.TimeToLive", "00:02:00"}},
			"action":       {[]string{"rule-kind", "true", "rule-name", "mark", "rule-action", "SET amount = amount * 2; REMOVE region; SET sys.To = 'eu'"}, []string{"Selected", "2400", "removed", "sys.To", "RuleName"}},
			"action fails": {[]string{"rule-kind", "true", "rule-action", "SET amount = amount / 0"}, []string{"Selected, but its action fails", "prices/eu/$DLQ"}},
		} {
			for _, to := range []string{euRules + "try", euRules + "try?rule=%24Default"} {
				a := w.post(to, append(tc.rule, message...)...)
				a.wants(http.StatusOK)
				got := strings.Join(strings.Fields(a.Find("[data-tried=result]").Text()), " ")
				for _, s := range tc.says {
					if !strings.Contains(got, s) {
						t.Errorf("%s, %s: %q is missing: %s", name, to, s, got)
					}
				}
				if a.Find("main script").Length() != 0 {
					t.Errorf("%s: a property's value was not escaped", name)
				}
				if v := a.Find("[name=property-1-value]").AttrOr("value", ""); v != hostileName {
					t.Errorf("%s: typed text was returned as %q", name, v)
				}
				if save := a.Find("#f").AttrOr("action", ""); strings.Contains(to, "?") != strings.Contains(save, "edit?rule=") {
					t.Errorf("%s, %s: the rule is saved at %s", name, to, save)
				}
			}
		}
		// The message is invalid: the notice reports it, because only part of the page may be
		// replaced, and so does the row.
		a := w.post(euRules+"try", "rule-kind", "true", "property-0-name", "n", "property-0-type", "int", "property-0-value", "three", "message-id", strings.Repeat("a", 129))
		a.wants(http.StatusOK, "The message cannot be read")
		if n := a.Find(".err").Length(); n != 2 || a.Find("[data-tried=refused] .notice").Length() != 1 || !strings.Contains(a.Find("[data-tried=result]").Text(), "Describe a message") {
			t.Errorf("%d errors: %s", n, a.Find("main").Text())
		}
		w.post(euRules+"try", "rule-kind", "true", "property-0-name", "n", "property-0-value", strings.Repeat("a", 64<<10)).wants(200, "The message cannot be read", "longer than the") // as in Submit
		// The rule is invalid: the error is at the field.
		a = w.post(euRules+"try", append([]string{"rule-kind", "sql", "rule-sql", "amount >> 1"}, message...)...)
		a.wants(http.StatusOK, "at character 9", "Describe a message")
		if a.Find("[data-tried=rule-sql] .fault").Length() != 1 || a.Find("#f-rule-sql[aria-invalid=true]").Length() != 1 {
			t.Error("the error is not at the field")
		}
		if d := cmp.Diff(before, w.rulesOf(eu)); d != "" || w.b.State(eu).Counts.Active != 0 {
			t.Errorf("something was saved: %s", d)
		}
	})
}

// TestTryRuleOnWhatWasSent: a test starts from a stored message, or from one that no
// subscription matched.
func TestTryRuleOnWhatWasSent(t *testing.T) {
	within(t, func(w *world) {
		prices(w)
		w.b.CreateEntity(engine.Subscription, "prices/Subscriptions/us", engine.Config{})
		w.fill("prices", engine.Content{Subject: "taken", To: "x", Properties: value.Properties{{Name: "id", Value: value.OfUUID([16]byte{1})}, {Name: "at", Value: value.OfTimestamp(1)}}})
		w.done(euRules + "remove?rule=%24Default")
		w.done("/n/default/t/prices/s/us/rules/remove?rule=%24Default")
		w.pass(time.Second)
		w.fill("prices", engine.Content{Subject: hostileName})
		w.pass(time.Second)
		w.done(euRules+"new", "rule-name", "act", "rule-kind", "sql", "rule-sql", "sys.Label = 'acted'", "rule-action", "SET sys.Label = 'made up'")
		w.fill("prices", engine.Content{Subject: "acted"})
		a := w.see(euRules + "new")
		offered := a.Find(".takes button[name=take]")
		if offered.Length() != 2 || !strings.Contains(a.Find(".takes li").First().Text(), "alert(1)") {
			t.Fatalf("the offered messages are %s", a.Find(".takes").Text())
		}
		key := offered.Eq(1).AttrOr("value", "")
		a = w.post(euRules+"try", "take", key, "rule-kind", "sql", "rule-sql", "sys.Label = 'taken' AND EXISTS(id)", "property-0-name", "old", "property-0-value", "old", "property-5-name", "old")
		a.wants(200, "Selected", "01000000-0000-0000-0000-000000000000")
		for selector, want := range map[string]string{
			"[name=subject]": "taken", "[name=to]": "x", "[name=property-0-name]": "id", "[name=property-1-name]": "at", "[name=property-1-type] [selected]": "timestamp",
		} {
			if got := a.Find(selector).AttrOr("value", ""); got != want {
				t.Errorf("%s is %q, want %q", selector, got, want)
			}
		}
		for range 10 {
			w.fill("prices", engine.Content{Subject: "more"})
		}
		if n := w.see(euRules + "new").Find(".takes button").Length(); n != 6 {
			t.Errorf("%d messages are offered", n)
		}
		w.see(euRules+"new?from="+key).wants(200, "New rule for eu")
		w.post(euRules+"try", "take", "424242", "rule-kind", "true").wants(200, "no longer known", "Selected")
		w.post(euRules+"try", "take", "x", "rule-kind", "true").wants(200, "Selected")
		// A rule that is opened from the lab is tried at once.
		w.done(euRules+"new", "rule-name", "r", "rule-kind", "sql", "rule-sql", "sys.Label = 'taken'")
		w.see(euRules+"edit?rule=r&from="+key).wants(200, "Selected")
	})
}
