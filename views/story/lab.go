package story

import (
	"strconv"
	"strings"
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page"
	"mayfly/views/page/lab"
	"mayfly/views/page/list"
	"mayfly/views/page/send"
)

func unmatched() []lab.UnmatchedMessage {
	p := func(k, v string) list.Pill { return list.Pill{Key: k, Value: v} }
	row := func(key, subject, id string, ago time.Duration, pills ...list.Pill) lab.UnmatchedMessage {
		return lab.UnmatchedMessage{Key: key, At: now.Add(-ago), Now: now, Topic: pricesRef(), Subject: subject, ID: id, Pills: pills}
	}
	out := []lab.UnmatchedMessage{
		row("3048271", "price.changed", "p-5521", 2*time.Second, p("amount", "1200"), p("region", "us"), p("tier", "3")),
		row("3048270", "price.changed", "p-5520", 9*time.Second, p("amount", "80"), p("region", "us"), p("tier", "3"), p("a-property-with-a-long-name", longName)),
		row("3048266", hostileText, longName, 48*time.Second, p("\u202eregion", "<us>")),
		row("3048260", "", "p-5502", 4*time.Minute),
		row("3048211", "", "", 3*time.Hour, p("数量", "12")),
	}
	out[2].Topic = page.EntityRef{Kind: page.Topic, Name: longName, Href: topicURL(longName)}
	return out
}

func labEmpty() lab.FilterLab {
	return lab.FilterLab{
		Shell: shell("Filter lab", layout.Topics, "/lab"), Topics: []string{"inventory/changes", "prices", longName}, Topic: pricesRef(),
		Message: lab.MessageFields{Kinds: kinds()}, Unmatched: unmatched(), UnmatchedCount: 1204, MaxUnmatched: 200,
	}
}

func labTried() lab.FilterLab {
	m := labEmpty()
	m.Message = trialMessage()
	m.From = lab.Sample{Key: "3048271", Subject: "price.changed", ID: "p-5521", At: now.Add(-2 * time.Second), Now: now}
	sub := func(name string, copies int, rules ...lab.RuleResult) lab.SubscriptionResult {
		href := home + "/t/prices/s/" + name
		return lab.SubscriptionResult{Name: name, Href: href, Rules: rules, Copies: copies, NewRule: href + "/rules/new"}
	}
	always := lab.RuleResult{Rule: "$Default", Kind: lab.FilterTrue, Result: component.True}
	never := lab.RuleResult{Rule: "paused", Kind: lab.FilterFalse, Result: component.False}
	failed := ruleFailed().Tried
	failed.Rule = "per-part"
	broken := selected()
	broken.Rule, broken.Error, broken.Changes = "mark", "RuleActionException: amount is no number.", nil
	tier := ruleCorrelation().Tried
	tier.Rule = "vip"
	dead := sub("audit", 1, failed)
	dead.Dead = 1
	both := sub(longName[:50], 2, always, broken)
	both.Dead = 1
	m.Outcome = lab.Outcome{
		Tried: true, Matching: 4, Copies: 5, More: 1_994,
		Subscriptions: []lab.SubscriptionResult{
			sub("all", 2, always, selected()), both, dead,
			sub("eu", 0, notSelected(), never), sub("vip", 0, tier), sub("silent", 0),
		},
	}
	return m
}

func labNobody() lab.FilterLab {
	m := labTried()
	m.Outcome = lab.Outcome{Tried: true}
	for i := range 8 {
		j := notSelected()
		j.Rule = "rule-" + strings.Repeat("n", i+1)
		name := "sub-" + strconv.Itoa(i)
		m.Outcome.Subscriptions = append(m.Outcome.Subscriptions, lab.SubscriptionResult{Name: name, Href: home + "/t/prices/s/" + name, Rules: []lab.RuleResult{j}})
	}
	m.From, m.Unmatched, m.UnmatchedCount = lab.Sample{}, nil, 0
	m.Message.Errors = map[string]component.Text{send.SendMessageID: component.ServerText("129 characters are too many: at most 128.")}
	m.Message.Properties = append(m.Message.Properties, send.Property{Name: "tier", Kind: "int", Value: "three", Error: component.ServerText("“three” is not an int.")})
	m.Refused = component.Notice{Tone: component.Critical, Title: "The message cannot be read", Detail: "Two fields say what is wrong."}
	return m
}

func labNone() lab.FilterLab {
	m := labEmpty()
	m.Topics, m.Topic, m.Unmatched, m.UnmatchedCount = nil, page.EntityRef{}, nil, 0
	return m
}
