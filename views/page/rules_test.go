package page_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/views/page/entity"
	"mayfly/views/page/lab"
	"mayfly/views/page/send"
)

func TestWhatASwitchAsksAbout(t *testing.T) {
	for name, tc := range map[string]struct {
		kind     page.EntityKind
		from, to entity.Status
		asks     bool
		verb     string
	}{
		"closing stops something":                {page.Queue, entity.StatusActive, entity.StatusDisabled, true, "Disable…"},
		"half of it, too":                        {page.Queue, entity.StatusActive, entity.StatusReceiveDisabled, true, "Stop receiving…"},
		"the other half instead, too":            {page.Queue, entity.StatusSendDisabled, entity.StatusReceiveDisabled, true, "Stop receiving…"},
		"opening stops nothing":                  {page.Queue, entity.StatusDisabled, entity.StatusActive, false, "Open again"},
		"opening half stops nothing":             {page.Queue, entity.StatusDisabled, entity.StatusSendDisabled, false, "Open for receiving"},
		"or the other half":                      {page.Queue, entity.StatusDisabled, entity.StatusReceiveDisabled, false, "Open for sending"},
		"of a topic only sends":                  {page.Topic, entity.StatusActive, entity.StatusSendDisabled, true, "Stop sending…"},
		"rules of a topic are stopped, too":      {page.Topic, entity.StatusSendDisabled, entity.StatusDisabled, true, "Disable…"},
		"rules of a topic can change again":      {page.Topic, entity.StatusDisabled, entity.StatusSendDisabled, false, "Let rules change"},
		"of a subscription only receives":        {page.Subscription, entity.StatusActive, entity.StatusReceiveDisabled, true, "Stop receiving…"},
		"rules of a subscription are stopped":    {page.Subscription, entity.StatusReceiveDisabled, entity.StatusDisabled, true, "Disable…"},
		"rules of a subscription change again":   {page.Subscription, entity.StatusDisabled, entity.StatusReceiveDisabled, false, "Let rules change"},
		"a queue has no rules that could change": {page.Queue, entity.StatusDisabled, entity.StatusDisabled, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := entity.Entity{Kind: tc.kind, Status: tc.from, StatusTo: "/status", Tab: page.TabSettings}
			offered := readSlot(t, m, "settings").Find("#status")
			asks, does := offered.Find(`a[href="/status?to=`+string(tc.to)+`"]`), offered.Find(`button[value="`+string(tc.to)+`"]`)
			if got := asks.Length() == 1; got != tc.asks {
				t.Errorf("asks: %v, want %v", got, tc.asks)
			}
			if got := strings.TrimSpace(asks.Text() + does.Text()); got != tc.verb {
				t.Errorf("%q, want %q", got, tc.verb)
			}
		})
	}
}

func TestWhoCanReceiveOne(t *testing.T) {
	on, dead := entity.Forwarding{Out: []entity.ForwardingArrow{{Name: "archive"}}}, entity.Forwarding{Out: []entity.ForwardingArrow{{Name: "graves", Dead: true}}}
	for name, tc := range map[string]struct {
		m    entity.Entity
		want bool
	}{
		"a queue":                             {entity.Entity{Kind: page.Queue}, true},
		"a topic has none":                    {entity.Entity{Kind: page.Topic}, false},
		"what forwards has none (FWD-5)":      {entity.Entity{Kind: page.Queue, Forwarding: on}, false},
		"its dead letters can be":             {entity.Entity{Kind: page.Queue, Forwarding: on, Tab: page.TabDeadLetters}, true},
		"unless they go on, too (DLQ-13)":     {entity.Entity{Kind: page.Queue, Forwarding: dead, Tab: page.TabDeadLetters}, false},
		"then the rest still can":             {entity.Entity{Kind: page.Queue, Forwarding: dead}, true},
		"sessions are taken whole (SES-13)":   {entity.Entity{Kind: page.Queue, RequiresSession: true}, false},
		"dead letters have none (DLQ-7)":      {entity.Entity{Kind: page.Queue, RequiresSession: true, Tab: page.TabDeadLetters}, true},
		"nor have transfers that failed":      {entity.Entity{Kind: page.Queue, RequiresSession: true, Tab: page.TabTransfers}, true},
		"where others forward to can be, too": {entity.Entity{Kind: page.Queue, Forwarding: entity.Forwarding{In: []entity.ForwardingArrow{{Name: "checkout"}}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			button := read(t, tc.m.Full()).Find(`button[formaction="/receive"]`)
			if got := strings.TrimSpace(button.Text()) == "Receive one"; got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTabsThatAreThereOnlyWhenNeeded(t *testing.T) {
	for name, tc := range map[string]struct {
		m    entity.Entity
		want string
	}{
		"a plain queue":              {entity.Entity{Kind: page.Queue}, "messages scheduled deferred locked dead-letter metrics settings"},
		"with sessions":              {entity.Entity{Kind: page.Queue, RequiresSession: true}, "messages scheduled deferred locked dead-letter sessions metrics settings"},
		"with a failed transfer":     {entity.Entity{Kind: page.Queue, Transfer: entity.Transfer{Failed: 1}}, "messages scheduled deferred locked dead-letter transfer metrics settings"},
		"one that is on its way":     {entity.Entity{Kind: page.Queue, Transfer: entity.Transfer{Waiting: 1}}, "messages scheduled deferred locked dead-letter metrics settings"},
		"the last one was taken out": {entity.Entity{Kind: page.Queue, Tab: page.TabTransfers}, "messages scheduled deferred locked dead-letter transfer metrics settings"},
		"a subscription":             {entity.Entity{Kind: page.Subscription, RequiresSession: true}, "messages deferred locked dead-letter sessions rules metrics settings"},
		"a topic":                    {entity.Entity{Kind: page.Topic, RequiresSession: true}, "subscriptions scheduled metrics settings"},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			for _, tab := range read(t, tc.m.Full()).Find(".tabs a").EachIter() {
				names = append(names, strings.TrimPrefix(attr(tab, "href"), "?tab="))
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestWhatAnArrowSays(t *testing.T) {
	for want, a := range map[string]entity.ForwardingArrow{
		"moves at once":         {},
		"moving, 12 still here": {Waiting: 12},
		"archive is full. What cannot move becomes a dead letter.":                                            {Blocked: entity.BlockTargetFull, Waiting: 3},
		"archive is full. 1 waits, and moves when that changes.":                                              {Blocked: entity.BlockTargetFull, Dead: true, Waiting: 1},
		"archive takes no sends. What comes waits, and moves when that changes.":                              {Blocked: entity.BlockTargetDisabled, Dead: true},
		"archive is not there any more. What cannot move becomes a dead letter.":                              {Blocked: entity.BlockTargetMissing},
		"archive refuses it. What cannot move becomes a dead letter.":                                         {Blocked: entity.BlockRefused},
		"It stops here: what has been forwarded as often as is allowed becomes a dead letter, and stays one.": {Blocked: entity.BlockHopLimit, Dead: true, Waiting: 2},
	} {
		a.Name = "archive"
		said := readSlot(t, entity.Entity{Forwarding: entity.Forwarding{Out: []entity.ForwardingArrow{a}}}, "flow").Find(".outs small")
		said.Find("b").Remove() // the mark of dead letters
		if got := strings.Trim(said.Text(), " ·\n"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestASubscriptionsOutcome(t *testing.T) {
	yes, no, bad := lab.RuleResult{Result: component.True}, lab.RuleResult{Result: component.False}, lab.RuleResult{Result: component.Failed}
	for name, tc := range map[string]struct {
		t     lab.SubscriptionResult
		truth component.Truth
		says  string
	}{
		"a copy":                        {lab.SubscriptionResult{Rules: []lab.RuleResult{no, yes}, Copies: 1}, component.True, "1 copy"},
		"one for each action":           {lab.SubscriptionResult{Rules: []lab.RuleResult{yes, yes}, Copies: 2}, component.True, "2 copies"},
		"nothing":                       {lab.SubscriptionResult{Rules: []lab.RuleResult{no}}, component.False, "not taken"},
		"no rule":                       {lab.SubscriptionResult{}, component.False, "not taken: it has no rule"},
		"a dead letter only":            {lab.SubscriptionResult{Rules: []lab.RuleResult{bad}, Copies: 1, Dead: 1}, component.Failed, "1 dead letter"},
		"a copy and a dead letter":      {lab.SubscriptionResult{Rules: []lab.RuleResult{bad, yes}, Copies: 2, Dead: 1}, component.Failed, "1 copy, 1 dead letter"},
		"a failure that leaves nothing": {lab.SubscriptionResult{Rules: []lab.RuleResult{bad, no}}, component.Failed, "a filter cannot be evaluated"},
		"a failure beside a copy":       {lab.SubscriptionResult{Rules: []lab.RuleResult{bad, yes}, Copies: 1}, component.True, "1 copy"},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, lab.FilterLab{Topics: []string{"prices"}, Outcome: lab.Outcome{Tried: true, Subscriptions: []lab.SubscriptionResult{tc.t}}}.Full())
			if got, want := attr(doc.Find(".taking summary .truth"), "title"), locale.T(t.Context(), "truth."+string(tc.truth)); got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if got, want := attr(doc.Find(".taking"), "data-tone"), string(tc.truth.Tone()); got != want {
				t.Errorf("in the tone %s, want %s", got, want)
			}
			if got := doc.Find(".taking .says").Text(); got != tc.says {
				t.Errorf("%q, want %q", got, tc.says)
			}
		})
	}
}

func TestConditionsOfferOneEmptyRow(t *testing.T) {
	empty := lab.Condition{Kind: "int"}
	full := lab.Condition{Name: "a", Kind: "int"}
	last := lab.Condition{Kind: "string"}
	for name, tc := range map[string]struct{ rows, want []lab.Condition }{
		"none yet":             {nil, []lab.Condition{last}},
		"one is filled in":     {[]lab.Condition{full}, []lab.Condition{full, last}},
		"one is empty already": {[]lab.Condition{empty, full}, []lab.Condition{empty, full}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := read(t, lab.RuleForm{Rule: lab.RuleFields{Conditions: tc.rows, Kinds: []string{"string", "int"}}}.Full())
			var got []lab.Condition
			for i := range doc.Find(".entry.four tbody tr").Length() {
				f := fields(doc, lab.RuleConditionPrefix, i, lab.RuleConditionOf, send.SendPropertyName, send.SendPropertyKind, send.SendPropertyValue)
				got = append(got, lab.Condition{Of: f[0], Name: f[1], Kind: f[2], Value: f[3]})
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
			if n := attr(doc.Find(`[name="`+lab.RuleConditionRows+`"]`), "value"); n != strconv.Itoa(len(tc.want)) {
				t.Errorf("the form has %s rows", n)
			}
		})
	}
}

// TestAnyTextCanBeASession checks that a session's page escapes unusual ids in its addresses and
// sample programs.
func TestAnyTextCanBeASession(t *testing.T) {
	m := entity.Session{In: page.EntityRef{Href: "/n/shop/q/a%2Fb"}, Name: "a/b", ID: "x/..&y=1#\" \n"}
	m.Hold.Until = time.Unix(60, 0)
	if got, want := attr(readSlot(t, m, "lock").Find(`button[formaction*="break"]`), "formaction"), "/n/shop/q/a%2Fb/session/break?id=x%2F..%26y%3D1%23%22+%0A"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	// names fails the test for each program of the page that lacks one of the names.
	names := func(m entity.Session, all ...string) {
		t.Helper()
		programs := read(t, m.Full()).Find(".sample [data-text]")
		if programs.Length() < 2 {
			t.Errorf("the page has %d programs", programs.Length())
		}
		for _, p := range programs.EachIter() {
			code := attr(p, "data-text")
			for _, name := range all {
				if !strings.Contains(code, name) {
					t.Errorf("%s is not in %s", name, code)
				}
			}
		}
	}
	names(m, `"x/..&y=1#\" \n"`)
	m.Topic = "prices"
	names(m, `"prices"`, `"a/b"`)
}

// TestNothingIsOfferedThatCannotBeDone checks that actions without an address have no button.
func TestNothingIsOfferedThatCannotBeDone(t *testing.T) {
	m := entity.Entity{Shell: layout.Shell{Home: "/n/shop"}, Kind: page.Subscription, Name: "eu", Href: "/n/shop/t/prices/s/eu", Tab: page.TabSettings}
	with := m
	with.StatusTo, with.Lab, with.NewRule = m.Href+"/status", "/n/shop/lab", m.Href+"/rules/new"
	for _, tab := range []page.Tab{page.TabSettings, page.TabRules} {
		m.Tab, with.Tab = tab, tab
		for i, m := range []entity.Entity{m, with} {
			var b strings.Builder
			if err := m.Full().Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			for _, address := range []string{with.StatusTo, with.Lab, with.NewRule} {
				offered := strings.Contains(b.String(), fmt.Sprintf("%q", address)) || strings.Contains(b.String(), address+"?")
				here := (address == with.StatusTo) == (tab == page.TabSettings)
				if offered != (here && i == 1) {
					t.Errorf("%s: %s has a button: %v", tab, address, offered)
				}
			}
		}
	}
}
