package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/sample"
)

func TestWhatASwitchAsksAbout(t *testing.T) {
	for name, tc := range map[string]struct {
		kind     Kind
		from, to Status
		asks     bool
		verb     string
	}{
		"closing stops something":                {Queue, Open, Disabled, true, "Disable…"},
		"half of it, too":                        {Queue, Open, ReceiveDisabled, true, "Stop receiving…"},
		"the other half instead, too":            {Queue, SendDisabled, ReceiveDisabled, true, "Stop receiving…"},
		"opening stops nothing":                  {Queue, Disabled, Open, false, "Open again"},
		"opening half stops nothing":             {Queue, Disabled, SendDisabled, false, "Open for receiving"},
		"or the other half":                      {Queue, Disabled, ReceiveDisabled, false, "Open for sending"},
		"of a topic only sends":                  {Topic, Open, SendDisabled, true, "Stop sending…"},
		"rules of a topic are stopped, too":      {Topic, SendDisabled, Disabled, true, "Disable…"},
		"rules of a topic can change again":      {Topic, Disabled, SendDisabled, false, "Let rules change"},
		"of a subscription only receives":        {Subscription, Open, ReceiveDisabled, true, "Stop receiving…"},
		"rules of a subscription are stopped":    {Subscription, ReceiveDisabled, Disabled, true, "Disable…"},
		"rules of a subscription change again":   {Subscription, Disabled, ReceiveDisabled, false, "Let rules change"},
		"a queue has no rules that could change": {Queue, Disabled, Disabled, false, "Let rules change"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.from.asks(tc.to, tc.kind); got != tc.asks {
				t.Errorf("asks: %v, want %v", got, tc.asks)
			}
			if got := tc.from.verb(t.Context(), tc.to, tc.kind); got != tc.verb {
				t.Errorf("%q, want %q", got, tc.verb)
			}
		})
	}
}

func TestWhoCanReceiveOne(t *testing.T) {
	on, dead := Flow{Out: []Arrow{{Name: "archive"}}}, Flow{Out: []Arrow{{Name: "graves", Dead: true}}}
	for name, tc := range map[string]struct {
		m    Entity
		want bool
	}{
		"a queue":                             {Entity{Kind: Queue}, true},
		"a topic has none":                    {Entity{Kind: Topic}, false},
		"what forwards has none (FWD-5)":      {Entity{Kind: Queue, Flow: on}, false},
		"its dead letters can be":             {Entity{Kind: Queue, Flow: on, Tab: DeadLetters}, true},
		"unless they go on, too (DLQ-13)":     {Entity{Kind: Queue, Flow: dead, Tab: DeadLetters}, false},
		"then the rest still can":             {Entity{Kind: Queue, Flow: dead}, true},
		"sessions are taken whole (SES-13)":   {Entity{Kind: Queue, RequiresSession: true}, false},
		"dead letters have none (DLQ-7)":      {Entity{Kind: Queue, RequiresSession: true, Tab: DeadLetters}, true},
		"nor have transfers that failed":      {Entity{Kind: Queue, RequiresSession: true, Tab: Transfers}, true},
		"where others forward to can be, too": {Entity{Kind: Queue, Flow: Flow{In: []Arrow{{Name: "checkout"}}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.m.receives(); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTabsThatAreThereOnlyWhenNeeded(t *testing.T) {
	names := func(m Entity) string {
		var s []string
		for _, t := range m.tabs() {
			s = append(s, string(t.tab))
		}
		return strings.Join(s, " ")
	}
	for name, tc := range map[string]struct {
		m    Entity
		want string
	}{
		"a plain queue":              {Entity{Kind: Queue}, "messages scheduled deferred locked dead-letter metrics settings"},
		"with sessions":              {Entity{Kind: Queue, RequiresSession: true}, "messages scheduled deferred locked dead-letter sessions metrics settings"},
		"with a failed transfer":     {Entity{Kind: Queue, Transfer: Transfer{Failed: 1}}, "messages scheduled deferred locked dead-letter transfer metrics settings"},
		"one that is on its way":     {Entity{Kind: Queue, Transfer: Transfer{Waiting: 1}}, "messages scheduled deferred locked dead-letter metrics settings"},
		"the last one was taken out": {Entity{Kind: Queue, Tab: Transfers}, "messages scheduled deferred locked dead-letter transfer metrics settings"},
		"a subscription":             {Entity{Kind: Subscription, RequiresSession: true}, "messages deferred locked dead-letter sessions rules metrics settings"},
		"a topic":                    {Entity{Kind: Topic, RequiresSession: true}, "subscriptions scheduled metrics settings"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(tc.m); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestWhatAnArrowSays(t *testing.T) {
	for want, a := range map[string]Arrow{
		"moves at once":         {},
		"moving, 12 still here": {Waiting: 12},
		"archive is full. What cannot move becomes a dead letter.":                                            {Stuck: Full, Waiting: 3},
		"archive is full. 1 waits, and moves when that changes.":                                              {Stuck: Full, Dead: true, Waiting: 1},
		"archive takes no sends. What comes waits, and moves when that changes.":                              {Stuck: Closed, Dead: true},
		"archive is not there any more. What cannot move becomes a dead letter.":                              {Stuck: Absent},
		"archive refuses it. What cannot move becomes a dead letter.":                                         {Stuck: Barred},
		"It stops here: what has been forwarded as often as is allowed becomes a dead letter, and stays one.": {Stuck: Hops, Dead: true, Waiting: 2},
	} {
		if got := a.says(t.Context(), "archive"); strings.TrimSpace(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestASubscriptionsOutcome(t *testing.T) {
	yes, no, bad := Judgement{Result: component.True}, Judgement{Result: component.False}, Judgement{Result: component.Failed}
	for name, tc := range map[string]struct {
		t     Taking
		truth component.Truth
		says  string
	}{
		"a copy":                        {Taking{Rules: []Judgement{no, yes}, Copies: 1}, component.True, "1 copy"},
		"one for each action":           {Taking{Rules: []Judgement{yes, yes}, Copies: 2}, component.True, "2 copies"},
		"nothing":                       {Taking{Rules: []Judgement{no}}, component.False, "not taken"},
		"no rule":                       {Taking{}, component.False, "not taken: it has no rule"},
		"a dead letter only":            {Taking{Rules: []Judgement{bad}, Copies: 1, Dead: 1}, component.Failed, "1 dead letter"},
		"a copy and a dead letter":      {Taking{Rules: []Judgement{bad, yes}, Copies: 2, Dead: 1}, component.Failed, "1 copy, 1 dead letter"},
		"a failure that leaves nothing": {Taking{Rules: []Judgement{bad, no}}, component.Failed, "a filter cannot be evaluated"},
		"a failure beside a copy":       {Taking{Rules: []Judgement{bad, yes}, Copies: 1}, component.True, "1 copy"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.t.truth(); got != tc.truth {
				t.Errorf("%s, want %s", got, tc.truth)
			}
			if got := tc.t.says(t.Context()); got != tc.says {
				t.Errorf("%q, want %q", got, tc.says)
			}
		})
	}
}

func TestConditionsOfferOneEmptyRow(t *testing.T) {
	empty := Condition{Kind: "int"}
	full := Condition{Name: "a", Kind: "int"}
	for name, tc := range map[string]struct{ rows, want []Condition }{
		"none yet":             {nil, []Condition{{}}},
		"one is filled in":     {[]Condition{full}, []Condition{full, {}}},
		"one is empty already": {[]Condition{empty, full}, []Condition{empty, full}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, RuleFields{Conditions: tc.rows}.rows()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestAStateIsFilledIn(t *testing.T) {
	body := func(s string) Body { return Body{Content: []byte(s), Size: int64(len(s))} }
	sixteen := "\x00" + strings.Repeat("a", 16)
	for name, tc := range map[string]struct {
		m    Session
		want StateForm
	}{
		"text":                   {Session{State: body("{\n\t\"订\": 1}")}, StateForm{Text: "{\n\t\"订\": 1}", As: StateText}},
		"no text":                {Session{State: body("\x00\xffab")}, StateForm{Text: "00 ff 61 62", As: StateHex}},
		"lines of sixteen bytes": {Session{State: body(sixteen)}, StateForm{Text: "00" + strings.Repeat(" 61", 15) + "\n61", As: StateHex}},
		"a form would change it": {Session{State: body("a\r\nb")}, StateForm{Text: "61 0d 0a 62", As: StateHex}},
		"none":                   {Session{}, StateForm{As: StateText}},
		"more than is shown":     {Session{State: Body{Content: []byte("a"), Size: 2}}, StateForm{As: StateText}},
		"too large for a form":   {Session{State: body(strings.Repeat("a", stateInForm+1))}, StateForm{As: StateText}},
		"what was typed":         {Session{State: body("a"), Typed: StateForm{Text: "0", As: StateHex, Error: component.Said("no")}}, StateForm{Text: "0", As: StateHex, Error: component.Said("no")}},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, tc.m.form()); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestAnyTextCanBeASession holds addresses and lines of programs to what a
// session id may be.
func TestAnyTextCanBeASession(t *testing.T) {
	m := Session{In: Place{Href: "/n/shop/q/a%2Fb"}, Name: "a/b", ID: "x/..&y=1#\" \n"}
	if got, want := m.do("break"), "/n/shop/q/a%2Fb/session/break?id=x%2F..%26y%3D1%23%22+%0A"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, l := range sample.Accepting(m.task()) {
		if !strings.Contains(l.Code, `"x/..&y=1#\" \n"`) {
			t.Errorf("%s: %s", l.Language, l.Code)
		}
	}
	m.Topic = "prices"
	for _, l := range sample.Accepting(m.task()) {
		if !strings.Contains(l.Code, `"prices"`) || !strings.Contains(l.Code, `"a/b"`) {
			t.Errorf("%s names not both: %s", l.Language, l.Code)
		}
	}
}

// TestNothingIsOfferedThatCannotBeDone: what has no address has no button.
func TestNothingIsOfferedThatCannotBeDone(t *testing.T) {
	m := Entity{Shell: layout.Shell{Home: "/n/shop"}, Kind: Subscription, Name: "eu", Href: "/n/shop/t/prices/s/eu", Tab: Settled}
	with := m
	with.StatusTo, with.Lab, with.NewRule = m.Href+"/status", "/n/shop/lab", m.Href+"/rules/new"
	for _, tab := range []Tab{Settled, Ruling} {
		m.Tab, with.Tab = tab, tab
		for i, m := range []Entity{m, with} {
			var b strings.Builder
			if err := m.Full().Render(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			for _, address := range []string{with.StatusTo, with.Lab, with.NewRule} {
				offered := strings.Contains(b.String(), fmt.Sprintf("%q", address)) || strings.Contains(b.String(), address+"?")
				here := (address == with.StatusTo) == (tab == Settled)
				if offered != (here && i == 1) {
					t.Errorf("%s: %s is offered: %v", tab, address, offered)
				}
			}
		}
	}
}
