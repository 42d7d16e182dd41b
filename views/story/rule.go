package story

import (
	"strings"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/lab"
	"mayfly/views/page/send"
)

const hostileText = "<script>alert(1)</script>\u202egnorw"

func pricesRef() page.EntityRef {
	return page.EntityRef{Kind: page.Topic, Name: "prices", Href: home + "/t/prices"}
}

// subscriptionRules is the tab of a subscription with a rule of each kind and an unreadable
// one.
func subscriptionRules() entity.Entity {
	m := subscription(page.TabRules)
	at := func(do, rule string) string { return m.Href + "/rules/" + do + "?rule=" + rule }
	rule := func(name string, kind lab.RuleKind, ago time.Duration) lab.Rule {
		return lab.Rule{Name: name, Kind: kind, Created: now.Add(-ago), Now: now, Edit: at("edit", name), Remove: at("remove", name)}
	}
	large := rule("large", lab.FilterSQL, 3*time.Hour)
	large.Filter, large.Action = "amount > @limit AND region IN ('eu', 'uk')\n  AND sys.Label LIKE 'price.%'", "SET sys.Label = 'large'; SET seen = TRUE"
	large.Parameters = []send.Property{{Name: "@limit", Kind: "long", Value: "1000"}}
	vip := rule("vip", lab.FilterCorrelation, 26*time.Hour)
	vip.Conditions = []lab.Condition{
		{Of: "Label", Value: "price.changed"}, {Name: "tier", Kind: "int", Value: "1"},
		{Name: "区域", Value: ""}, {Name: "customer", Value: hostileText},
	}
	bad := rule("from-the-old-broker", lab.FilterSQL, 400*24*time.Hour)
	bad.Filter, bad.Wrong = "amount >> 1000", "Expected a value at character 9, not “>”. It selects nothing."
	long := rule(longName[:50], lab.FilterSQL, time.Minute)
	long.Filter = strings.Repeat("customer_"+strings.Repeat("x", 40)+" = 'a' OR ", 6) + "1 = 0"
	m.Rules = []lab.Rule{rule("$Default", lab.FilterTrue, 40*24*time.Hour), large, vip, bad, long, rule("paused", lab.FilterFalse, 12*time.Second)}
	m.NewRule, m.Lab = m.Href+"/rules/new", home+"/lab?topic=prices"
	return m
}

func subscriptionRulesEmpty() entity.Entity {
	m := subscriptionRules()
	m.Rules = nil
	return m
}

func trialMessage() lab.MessageFields {
	return lab.MessageFields{
		Kinds: kinds(), Values: map[string]string{send.SendSubject: "price.changed", send.SendMessageID: "p-5521"},
		Properties: []send.Property{
			{Name: "amount", Kind: "int", Value: "1200"}, {Name: "region", Kind: "string", Value: "us"},
		},
	}
}

func ruleForm() lab.RuleForm {
	in := page.EntityRef{Kind: page.Subscription, Name: "eu", Href: home + "/t/prices/s/eu"}
	return lab.RuleForm{
		Shell: staticShell("New rule", layout.Topics, "/t/prices/s/eu/rules/new"), In: in, Topic: pricesRef(), New: true,
		To: in.Href + "/rules/new", Try: in.Href + "/rules/try", Rule: lab.RuleFields{Kind: lab.FilterSQL, Kinds: kinds(), Most: 1024},
		Message: lab.MessageFields{Kinds: kinds()}, Dead: "prices/eu/$DLQ",
		Recent: []lab.Sample{
			{Key: "3048271", Subject: "price.changed", ID: "p-5521", At: now.Add(-2 * time.Second), Now: now},
			{Key: "3048270", Subject: hostileText, ID: longName, At: now.Add(-11 * time.Second), Now: now},
			{Key: "3048269", ID: "p-5519", At: now.Add(-3 * time.Minute), Now: now},
			{Key: "3048268", At: now.Add(-19 * time.Hour), Now: now},
		},
	}
}

func clause(text, part string, is component.Truth, reads ...component.Reading) component.Clause {
	from := len([]rune(text[:strings.Index(text, part)]))
	return component.Clause{From: from, To: from + len([]rune(part)), Text: part, Result: is, Reads: reads}
}

func presentReading(name, kind, value string) component.Reading {
	return component.Reading{Name: name, Type: kind, Value: value}
}

func missingReading(name string) component.Reading {
	return component.Reading{Name: name, Missing: true}
}

const largeText = "amount > 1000 AND region = 'eu'\n  AND (priority <> 'low' OR NOT EXISTS(hold)) AND sys.Label LIKE 'price.%'"

// notSelected is a result with a clause of each truth except an error.
func notSelected() lab.RuleResult {
	return lab.RuleResult{
		Rule: "large", Href: home + "/t/prices/s/eu/rules/edit?rule=large", Kind: lab.FilterSQL, Text: largeText, Result: component.False,
		Clauses: []component.Clause{
			clause(largeText, "amount > 1000", component.True, presentReading("amount", "int", "1200")),
			clause(largeText, "region = 'eu'", component.False, presentReading("region", "string", "us")),
			clause(largeText, "priority <> 'low'", component.Unknown, missingReading("priority")),
			clause(largeText, "EXISTS(hold)", component.False, missingReading("hold")),
			clause(largeText, "sys.Label LIKE 'price.%'", component.True, presentReading("sys.Label", "string", "price.changed")),
		},
	}
}

func selected() lab.RuleResult {
	j := notSelected()
	j.Result = component.True
	j.Clauses[1].Result, j.Clauses[1].Reads = component.True, []component.Reading{presentReading("region", "string", "eu")}
	j.Action = "SET sys.Label = 'large'; SET amount = amount * 2; SET seen = TRUE; REMOVE draft"
	j.Changes = []lab.Change{
		{Name: "sys.Label", Before: presentReading("", "string", "price.changed"), After: presentReading("", "string", "large")},
		{Name: "amount", Before: presentReading("", "int", "1200"), After: presentReading("", "int", "2400")},
		{Name: "seen", Before: component.Reading{Missing: true}, After: presentReading("", "boolean", "true")},
		{Name: "draft", Before: presentReading("", "string", ""), After: component.Reading{Missing: true}},
	}
	return j
}

func ruleNot() lab.RuleForm {
	m := ruleForm()
	m.New, m.To, m.Rule.Name, m.Rule.SQL = false, m.In.Href+"/rules/edit?rule=large", "large", largeText
	m.Rule.Parameters = []send.Property{{Name: "@limit", Kind: "long", Value: "many", Error: component.ServerText("“many” is not a long.")}}
	m.Message, m.Tried = trialMessage(), notSelected()
	return m
}

func ruleSelected() lab.RuleForm {
	m := ruleNot()
	m.Rule.Parameters, m.Tried = nil, selected()
	m.Rule.Action = m.Tried.Action
	m.Message.Properties[1].Value = "eu"
	return m
}

func ruleFault() lab.RuleForm {
	m := ruleForm()
	m.Rule.Name, m.Rule.SQL, m.Rule.Action = "large", "region = 'eu'\n  AND 订单 >> 1000", "SET sys.SequenceNumber = 1"
	m.Rule.SQLFault = component.SyntaxError{Text: m.Rule.SQL, At: 24, Found: ">", Want: "a value"}
	m.Rule.ActionFault = component.SyntaxError{Text: m.Rule.Action, At: 4, Found: "sys.SequenceNumber", Message: "The broker sets SequenceNumber; an action cannot."}
	m.Rule.Errors = map[string]component.Text{lab.RuleName: component.ServerText("There is already a rule called large.")}
	m.Refused = component.Notice{Tone: component.Critical, Title: "The rule was not added", Detail: "Three fields say what is wrong."}
	return m
}

func ruleCorrelation() lab.RuleForm {
	m := ruleForm()
	m.Rule.Kind, m.Rule.Name = lab.FilterCorrelation, "vip"
	m.Rule.Conditions = []lab.Condition{
		{Of: "Label", Value: "price.changed"}, {Name: "tier", Kind: "int", Value: "one", Error: component.ServerText("“one” is not an int.")}, {Name: "区域", Kind: "string", Value: ""},
	}
	m.Message = trialMessage()
	m.Tried = lab.RuleResult{
		Rule: "vip", Kind: lab.FilterCorrelation, Result: component.False,
		Clauses: []component.Clause{
			{Text: "sys.Label = 'price.changed'", Result: component.True, Reads: []component.Reading{presentReading("sys.Label", "string", "price.changed")}},
			{Text: "tier = 1", Result: component.False, Reads: []component.Reading{presentReading("tier", "string", "1")}},
			{Text: "区域 = ''", Result: component.False, Reads: []component.Reading{presentReading("区域", "string", hostileText)}},
		},
	}
	return m
}

func ruleFailed() lab.RuleForm {
	m := ruleNot()
	m.Rule.SQL, m.Rule.Parameters = "amount / parts > 10", nil
	c := clause(m.Rule.SQL, m.Rule.SQL, component.Failed, presentReading("amount", "int", "1200"), presentReading("parts", "int", "0"))
	c.Error = "The filter divides by zero."
	m.Tried = lab.RuleResult{Rule: "large", Kind: lab.FilterSQL, Text: m.Rule.SQL, Result: component.Failed, Clauses: []component.Clause{c}}
	return m
}

func createCaught() entity.Form {
	m := createSubscription()
	m.FirstRule.Kind, m.SuggestedFrom = lab.FilterCorrelation, []string{"price.changed p-5521", "price.changed p-5520", hostileText}
	m.FirstRule.Conditions = []lab.Condition{{Of: "Label", Value: "price.changed"}, {Name: "region", Kind: "string", Value: "us"}, {Name: "tier", Kind: "int", Value: "3"}}
	return m
}

func createSubscription() entity.Form {
	m := createQueue()
	m.Shell, m.Kind, m.Topic, m.TopicHref = staticShell("New subscription", layout.Topics, "/t/prices/new"), page.Subscription, "prices", home+"/t/prices"
	m.Href, m.To = home+"/t/prices", home+"/t/prices/new"
	m.Fields = append(m.Fields[:6:6], m.Fields[6], m.Fields[9], m.Fields[10],
		entity.PropertyField{Name: "DeadLetteringOnFilterEvaluationExceptions", Type: entity.SwitchField, Value: "true", Default: "on"})
	m.FirstRule = &lab.RuleFields{Kinds: kinds(), Most: 1024}
	return m
}

// ruleStories returns the pages about rules and the filter lab.
func ruleStories() []Story {
	return []Story{
		{Name: "subscription-rules", Page: subscriptionRules()},
		{Name: "subscription-rules-empty", Page: subscriptionRulesEmpty()},
		{Name: "rule", Page: ruleForm()},
		{Name: "rule-not", Page: ruleNot()},
		{Name: "rule-selected", Page: ruleSelected()},
		{Name: "rule-fault", Page: ruleFault()},
		{Name: "rule-correlation", Page: ruleCorrelation()},
		{Name: "rule-failed", Page: ruleFailed()},
		{Name: "form-subscription", Page: createSubscription()},
		{Name: "form-subscription-caught", Page: createCaught()},
		{Name: "lab", Page: labEmpty()},
		{Name: "lab-tried", Page: labTried()},
		{Name: "lab-nobody", Page: labNobody()},
		{Name: "lab-none", Page: labNone()},
	}
}
