package atom

import (
	"encoding/xml"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
)

// known reports whether err is an error for clients.
func known(err error) bool {
	code, _ := status(err)
	return code < http.StatusInternalServerError
}

// Any body is parsed within bounds, or refused with an error for clients.
func FuzzRead(f *testing.F) {
	for _, s := range []string{
		"", "<a", "<entry><content><QueueDescription><LockDuration>PT1M</LockDuration></QueueDescription></content></entry>",
		`<x:entry xmlns:x="http://www.w3.org/2005/Atom"><x:content><SubscriptionDescription><DefaultRuleDescription><Filter i:type="SqlFilter"><SqlExpression>a=@b</SqlExpression></Filter></DefaultRuleDescription></SubscriptionDescription></x:content></x:entry>`,
		`<RuleDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Filter i:type="CorrelationFilter"><Properties><KeyValueOfstringanyType><Key>n</Key><Value i:type="d6p1:int">5</Value></KeyValueOfstringanyType></Properties></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET a = 1</SqlExpression></Action></RuleDescription>`,
		`<TopicDescription><AuthorizationRules><AuthorizationRule><Rights><AccessRights>Send</AccessRights></Rights><CreatedTime>0001-01-01T00:00:00</CreatedTime><KeyName>k</KeyName></AuthorizationRule></AuthorizationRules></TopicDescription>`,
		"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", strings.Repeat("<a>", 40),
	} {
		f.Add(s)
	}
	l := engine.DefaultLimits()
	f.Fuzz(func(t *testing.T, s string) {
		body, err := parse([]byte(s))
		var desc *node
		if err == nil {
			desc, err = body.described()
		}
		if err == nil {
			for _, kind := range []engine.EntityKind{engine.Queue, engine.Topic, engine.Subscription} {
				if _, err := readDescription(nil, kind, desc, l); err != nil && !known(err) {
					t.Fatalf("%v is not an error for clients", err)
				}
				if _, err := firstRules(kind, desc); err != nil && !known(err) {
					t.Fatalf("%v is not an error for clients", err)
				}
			}
			r, e := readRule(desc)
			if e == nil {
				roundTrip(t, r)
			}
			err = e
		}
		if err != nil && !known(err) {
			t.Fatalf("%v is not an error for clients", err)
		}
	})
}

// roundTrip checks that a rule is read as it was written.
func roundTrip(t *testing.T, r engine.Rule) {
	t.Helper()
	var b strings.Builder
	a := &answer{root: "http://host"}
	a.rule("t/Subscriptions/s", r).content.write(&b)
	if err := xml.Unmarshal([]byte(b.String()), new(struct{})); err != nil {
		t.Fatalf("the rule is written as %s: %v", b.String(), err)
	}
	n, err := parse([]byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	again, err := readRule(n)
	if err != nil || again.Filter.Kind != r.Filter.Kind || r.Filter.Kind == engine.SQLFilter && again.Filter.Text != r.Filter.Text {
		t.Fatalf("%+v is written as %s and read as %+v, %v", r, b.String(), again, err)
	}
}

// FuzzAddress checks that any address is parsed as that of one kind of resource, or refused with an
// error for clients.
func FuzzAddress(f *testing.F) {
	for _, s := range []string{"/", "/q", "/a%2Fb/", "/t/Subscriptions/s/Rules/r", "/$Resources/Queues", "/$namespaceinfo", "/%zz", "/t/subscriptions//rules", "/Subscriptions/a"} {
		f.Add(s)
	}
	l := engine.DefaultLimits()
	f.Fuzz(func(t *testing.T, s string) {
		w, err := parseRequest(http.MethodGet, s)
		if err == nil {
			if w.Action != Get && w.Action != List || w.Kind == 0 {
				t.Fatalf("%q is %+v", s, w)
			}
			err = w.check(l)
		}
		if _, plain := errors.AsType[*echo.HTTPError](err); err != nil && !plain && !known(err) {
			t.Fatalf("%v is not an error for clients", err)
		}
	})
}
