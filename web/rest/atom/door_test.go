package atom_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/rest/atom"
)

// Addresses have no case but that of names, and may end with a slash.
func TestAddresses(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.want(201, "PUT", "/Orders/In?api-version=2017-04", queue(""))
	w.want(201, "PUT", "/topic", topic(""))
	w.want(201, "PUT", "/TOPIC/subscriptions/Sub?api-version=2021-05", subscription(""))
	w.want(201, "PUT", "/topic/Subscriptions/sub/rules/R", rule(""))
	w.want(201, "PUT", "/health?api-version=2024-05", queue(""))
	w.want(201, "PUT", "/q/messages?api-version=2024-05", queue(""))
	for path, want := range map[string]string{
		"/orders/in":                              "Orders/In",
		"/ORDERS%2FIN/":                           "Orders/In",
		"/Orders/In?api-version=2099-01&enrich":   "Orders/In",
		"/topic?enrich=True":                      "topic",
		"/topic/SUBSCRIPTIONS/sub/":               "Sub",
		"/topic/subscriptions/SUB/RULES/r/":       "R",
		"/topic/Subscriptions/Sub/Rules/$default": "$Default",
		"/$NamespaceInfo":                         "default",
		"/health?api-version=2024-05":             "health",
		"/q/messages?api-version=2024-05":         "q/messages",
	} {
		a := w.want(200, "GET", path, "")
		if got := a.element(`title type="text"`); got != want || a.header.Get("Content-Type") != "application/atom+xml;type=entry;charset=utf-8" {
			t.Errorf("%s is %q, %v", path, got, a.header)
		}
	}
	if a := w.want(200, "GET", "/health", ""); !strings.Contains(a.body, "healthy") {
		t.Errorf("health is %s", a.body)
	}
	for _, path := range []string{"/topic/Subscriptions/Sub/Rules/R", "/topic/Subscriptions/Sub"} {
		if a := w.want(200, "GET", strings.ToLower(path)+"?api-version=2021-05", ""); a.element("id") != w.server.URL+path+"?api-version=2021-05" {
			t.Errorf("the id is %q", a.element("id"))
		}
	}
	if a := w.want(200, "DELETE", "/topic/subscriptions/sub/", ""); a.body != "" {
		t.Errorf("a deletion says %q", a.body)
	}
}

// Every error has a body with its code, and its sub-code where it has one.
func TestErrors(t *testing.T) {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic, l.SQLFiltersPerTopic, l.OtherFiltersPerTopic = 5, 2, 1, 3
	w := start(t, broker.Options{Limits: &l}, nil)
	w.want(201, "PUT", "/q", queue(""))
	w.want(201, "PUT", "/t", topic(""))
	w.want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	w.want(201, "PUT", "/off", topic(""))
	w.want(201, "PUT", "/off/Subscriptions/s", subscription("<Status>Disabled</Status>"))
	w.want(201, "PUT", "/t/Subscriptions/s/Rules/sql", rule(`<Filter i:type="SqlFilter"><SqlExpression>a=1</SqlExpression></Filter>`))
	correlation := rule(`<Filter i:type="CorrelationFilter"><To>x</To></Filter>`)
	w.want(201, "PUT", "/t/Subscriptions/s/Rules/c", correlation)
	w.want(201, "PUT", "/t/Subscriptions/s/Rules/c2", correlation) // the third, with $Default
	for name, tc := range map[string]struct {
		method, path, body string
		update             bool
		status, sub        int
		text               string
	}{
		"missing":                   {"GET", "/nowhere", "", false, 404, 40400, "could not be found"},
		"a missing subscription":    {"GET", "/t/Subscriptions/x", "", false, 404, 40400, "could not be found"},
		"of a missing topic":        {"GET", "/x/Subscriptions", "", false, 404, 40400, "could not be found"},
		"of a queue":                {"GET", "/q/Subscriptions", "", false, 404, 40400, "could not be found"},
		"rules of a missing one":    {"GET", "/t/Subscriptions/x/Rules", "", false, 404, 40400, "could not be found"},
		"a missing rule":            {"GET", "/t/Subscriptions/s/Rules/x", "", false, 404, 40400, "has no rule 'x'"},
		"a rule to replace":         {"PUT", "/t/Subscriptions/s/Rules/x", rule(""), true, 404, 40400, "has no rule"},
		"a rule to delete":          {"DELETE", "/t/Subscriptions/s/Rules/x", "", false, 404, 40400, "has no rule"},
		"update of nothing":         {"PUT", "/nowhere", queue(""), true, 404, 40400, "could not be found"},
		"update of another kind":    {"PUT", "/q", topic(""), true, 404, 40400, "it is a queue"},
		"deletion of nothing":       {"DELETE", "/nowhere", "", false, 404, 40400, "could not be found"},
		"the root":                  {"GET", "/", "", false, 404, 0, "nothing at this address"},
		"a list there is not":       {"GET", "/$Resources/Things", "", false, 404, 0, "nothing at this address"},
		"below a rule":              {"GET", "/t/Subscriptions/s/Rules/r/x", "", false, 404, 0, "nothing at this address"},
		"twice":                     {"PUT", "/Q", queue(""), false, 409, 40900, "exists already"},
		"a rule twice":              {"PUT", "/t/Subscriptions/s/Rules/SQL", rule(""), false, 409, 40900, "has a rule 'SQL' already"},
		"no name":                   {"PUT", "/", queue(""), false, 404, 0, ""},
		"no subscription's name":    {"PUT", "/t/Subscriptions/", subscription(""), false, 405, 0, "takes GET"},
		"no rule's name":            {"PUT", "/t/Subscriptions/s/Rules/", rule(""), false, 405, 0, "takes GET"},
		"a bad name":                {"PUT", "/a%20b", queue(""), false, 400, 40000, "must not contain ' '"},
		"a name too long":           {"PUT", "/t/Subscriptions/" + strings.Repeat("s", 51), subscription(""), false, 400, 40000, "1 to 50 characters"},
		"a rule's name too long":    {"PUT", "/t/Subscriptions/s/Rules/" + strings.Repeat("s", 51), rule(""), false, 400, 40000, "1 to 50 characters"},
		"a method":                  {"PATCH", "/q", "", false, 405, 0, "takes DELETE, GET, PUT, not PATCH"},
		"a method of lists":         {"DELETE", "/$Resources/Queues", "", false, 405, 0, "takes GET, not DELETE"},
		"a condition":               {"PUT", "/q", queue(""), false, 412, 0, "If-Match takes nothing but '*'"},
		"NAME-9":                    {"GET", "/q/$deadletterqueue", "", false, 400, 40000, "The specified HTTP verb (GET) is not valid."},
		"NAME-9 of a subscription":  {"GET", "/t/Subscriptions/s/$DeadLetterQueue", "", false, 400, 40000, "The specified HTTP verb (GET) is not valid."},
		"NAME-9 of transfers":       {"DELETE", "/q/$Transfer/$DeadLetterQueue", "", false, 400, 40000, "The specified HTTP verb (DELETE) is not valid."},
		"no body":                   {"PUT", "/new", "", false, 400, 40000, "needs a body"},
		"no XML":                    {"PUT", "/new", "{}", false, 400, 40000, "needs a body"},
		"half of a body":            {"PUT", "/new", "<entry><content>", false, 400, 40000, "is no XML"},
		"no content":                {"PUT", "/new", "<entry/>", false, 400, 40000, "has no content"},
		"another description":       {"PUT", "/new", rule(""), false, 400, 40000, "cannot be put at this address"},
		"no description":            {"PUT", "/new", in("NamespaceInfo", ""), false, 400, 40000, "is no description"},
		"a queue as a subscription": {"PUT", "/t/Subscriptions/new", queue(""), false, 400, 40000, "cannot be put at this address"},
		"a queue as a rule":         {"PUT", "/t/Subscriptions/s/Rules/new", queue(""), false, 400, 40000, "cannot be put at this address"},
		"an element twice":          {"PUT", "/new", queue("<Status>Active</Status><Status>Active</Status>"), false, 400, 40000, "'Status' is given twice"},
		"a lock too long":           {"PUT", "/new", queue("<LockDuration>PT5M1S</LockDuration>"), false, 400, 40000, "maximum of '5' minutes."},
		"no duration":               {"PUT", "/new", queue("<LockDuration>long</LockDuration>"), false, 400, 40000, "is not a duration"},
		"no number":                 {"PUT", "/new", queue("<MaxDeliveryCount>x</MaxDeliveryCount>"), false, 400, 40000, "whole number"},
		"a message size":            {"PUT", "/new?api-version=2017-04", queue("<MaxMessageSizeInKilobytes>1024</MaxMessageSizeInKilobytes>"), false, 400, 40000, "cannot be set"},
		"forward to nothing":        {"PUT", "/new", queue("<ForwardTo>sb://host/nowhere</ForwardTo>"), false, 400, 40401, "does not exist"},
		"forward to itself":         {"PUT", "/new", queue("<ForwardTo>new</ForwardTo>"), false, 400, 40000, "policy to itself. SubCode=40000."},
		"sessions are fixed":        {"PUT", "/q", queue("<RequiresSession>true</RequiresSession>"), true, 400, 40000, "The value for the RequiresSession property of an existing Queue cannot be changed."},
		"a subscription's too":      {"PUT", "/t/Subscriptions/s", subscription("<RequiresSession>true</RequiresSession>"), true, 400, 40000, "The value for the RequiresSession property of an existing Subscription cannot be changed."},
		"partitions are fixed":      {"PUT", "/t", topic("<EnablePartitioning>true</EnablePartitioning>"), true, 400, 40000, "Partitioning cannot be changed for Topic. "},
		"too many SQL filters":      {"PUT", "/t/Subscriptions/s/Rules/sql2", rule(`<Filter i:type="SqlFilter"><SqlExpression>a=1</SqlExpression></Filter>`), false, 403, 40501, "SQL filters"},
		"too many other filters":    {"PUT", "/t/Subscriptions/s/Rules/c3", correlation, false, 403, 40502, "correlation filters"},
		"an empty filter":           {"PUT", "/t/Subscriptions/s/Rules/new", rule(`<Filter i:type="CorrelationFilter"/>`), false, 400, 40000, "at least one condition"},
		"a filter there is not":     {"PUT", "/t/Subscriptions/s/Rules/new", rule(`<Filter i:type="DateFilter"/>`), false, 400, 40000, "not 'DateFilter'"},
		"an action there is not":    {"PUT", "/t/Subscriptions/s/Rules/new", rule(`<Action i:type="Nuke"/>`), false, 400, 40000, "not 'Nuke'"},
		"SQL that is none":          {"PUT", "/t/Subscriptions/s/Rules/new", rule(`<Filter i:type="SqlFilter"><SqlExpression>a ==</SqlExpression></Filter>`), false, 400, 40000, ""},
		"rules of a disabled one":   {"PUT", "/off/Subscriptions/s/Rules/new", rule(""), false, 400, 40000, "while it or its topic is disabled"},
		"a page that is none":       {"GET", "/$Resources/Queues?$top=-1", "", false, 400, 40000, "'$top' is a whole number from 0, not '-1'"},
		"a page by a word":          {"GET", "/t/Subscriptions/s/Rules?%24skip=x", "", false, 400, 40000, "'$skip' is a whole number from 0, not 'x'"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := []string{}
			if tc.update {
				headers = []string{"If-Match", "*"}
			}
			if name == "a condition" {
				headers = []string{"If-Match", `"tag"`}
			}
			w := &world{t, w.broker, w.server}
			wants(t, w.want(tc.status, tc.method, tc.path, tc.body, headers...), tc.status, tc.sub, tc.text)
		})
	}
}

// wants compares an error's answer.
func wants(t *testing.T, got answer, status, sub int, text string) {
	t.Helper()
	code := fmt.Sprintf("<Error><Code>%d</Code><Detail>", status)
	tail := " TrackingId:an-id, SystemTracker:default, Timestamp:" + time.Now().UTC().Format("2006-01")
	if sub != 0 {
		tail = fmt.Sprintf(" SubCode=%d.", sub) + tail
	}
	if !strings.HasPrefix(got.body, code) || !strings.Contains(got.body, text) || !strings.Contains(got.body, tail) || sub == 0 && strings.Contains(got.body, "SubCode") ||
		!strings.HasPrefix(got.header.Get("Content-Type"), "application/xml") {
		t.Errorf("got %q, want %q … %q … %q", got.body, code, text, tail)
	}
}

// What a namespace may have no more of.
func TestQuotas(t *testing.T) {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic = 2, 1
	w := start(t, broker.Options{Limits: &l}, nil)
	w.want(201, "PUT", "/q", queue(""))
	w.want(201, "PUT", "/t", topic(""))
	w.want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	wants(t, w.want(403, "PUT", "/r", queue("")), 403, 40300, "2 queues and topics")
	wants(t, w.want(403, "PUT", "/t/Subscriptions/r", subscription("")), 403, 40503, "1 subscriptions")
}

type denied struct{}

func (denied) Error() string { return "401 SubCode=40100: Unauthorized access for 'GetSubscription'" }
func (denied) Status() int   { return http.StatusUnauthorized }

// Who may do what is asked before anything is looked at.
func TestAuthorize(t *testing.T) {
	var asked atom.Wish
	refuse := true
	w := start(t, broker.Options{}, func(_ *http.Request, wish atom.Wish) error {
		if asked = wish; refuse {
			return denied{}
		}
		return nil
	})
	for request, want := range map[string]atom.Wish{
		"GET /$namespaceinfo":                  {Action: atom.Get, Kind: atom.Namespace},
		"GET /$Resources/Queues":               {Action: atom.List, Kind: atom.Queues},
		"GET /$Resources/topics":               {Action: atom.List, Kind: atom.Topics},
		"GET /a/B":                             {Action: atom.Get, Kind: atom.Entity, Entity: "a/B"},
		"PUT /a":                               {Action: atom.Create, Kind: atom.Entity, Entity: "a"},
		"DELETE /a":                            {Action: atom.Delete, Kind: atom.Entity, Entity: "a"},
		"GET /t/Subscriptions":                 {Action: atom.List, Kind: atom.Subscription, Entity: "t"},
		"GET /t/Subscriptions/s":               {Action: atom.Get, Kind: atom.Subscription, Entity: "t", Subscription: "s"},
		"GET /t/subscriptions/s/rules":         {Action: atom.List, Kind: atom.Rule, Entity: "t", Subscription: "s"},
		"DELETE /t/Subscriptions/s/Rules/r":    {Action: atom.Delete, Kind: atom.Rule, Entity: "t", Subscription: "s", Rule: "r"},
		"GET /not%20a%20name/$DeadLetterQueue": {Action: atom.Get, Kind: atom.Entity, Entity: "not a name/$DeadLetterQueue"},
	} {
		method, path, _ := strings.Cut(request, " ")
		a := w.want(401, method, path, "not even XML")
		if asked != want || !strings.Contains(a.body, "<Detail>401 SubCode=40100: Unauthorized access for 'GetSubscription' TrackingId:") {
			t.Errorf("%s asks for %+v and says %s", request, asked, a.body)
		}
	}
	refuse = false
	w.want(201, "PUT", "/q", queue(""))
}

// A rule that stands in a subscription's description is the one it starts with:
// $Default unless it has a name, and everything's unless it has a filter.
func TestFirstRules(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.want(201, "PUT", "/t", topic(""))
	for i, tc := range []struct{ description, rule, want string }{
		{"", "$Default", `<Filter i:type="TrueFilter">`},
		{"<DefaultRuleDescription/>", "$Default", `<Filter i:type="TrueFilter">`},
		{`<DefaultRuleDescription><Filter i:type="FalseFilter"/><Name>none</Name></DefaultRuleDescription>`, "none", `<Filter i:type="FalseFilter">`},
		{`<DefaultRuleDescription><Action i:type="SqlRuleAction"><SqlExpression>SET a = 1</SqlExpression></Action></DefaultRuleDescription>`, "$Default",
			`<Filter i:type="TrueFilter"><SqlExpression>1=1</SqlExpression><CompatibilityLevel>20</CompatibilityLevel></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET a = 1<`},
		{`<DefaultRuleDescription><Filter i:type="SqlFilter"><SqlExpression>a = @a</SqlExpression><Parameters><KeyValueOfstringanyType><Key>@a</Key>` +
			`<Value i:type="d6p1:int">5</Value></KeyValueOfstringanyType></Parameters></Filter></DefaultRuleDescription>`, "$Default", `i:type="d6p1:int">5</Value>`},
	} {
		at := fmt.Sprint("/t/Subscriptions/s", i)
		if a := w.want(201, "PUT", at, subscription(tc.description)); strings.Contains(a.body, "DefaultRule") {
			t.Errorf("the description is told back: %s", a.body)
		}
		if a := w.want(200, "GET", at+"/Rules/"+tc.rule, ""); !strings.Contains(a.body, tc.want) {
			t.Errorf("%s is %s", tc.description, a.body)
		}
		if n := len(w.state(engine.Path(at[1:])).Rules); n != 1 {
			t.Errorf("%s makes %d rules", tc.description, n)
		}
	}
	w.update(200, "/t/Subscriptions/s0/Rules/$default", rule(`<Filter i:type="SqlFilter"><SqlExpression>a = 1</SqlExpression></Filter>`))
	if a := w.want(200, "GET", "/t/Subscriptions/s0/Rules/$Default", ""); !strings.Contains(a.body, "SqlFilter") {
		t.Errorf("it is %s", a.body)
	}
}

// A parameter has one value in a rule.
func TestParameters(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.want(201, "PUT", "/t", topic(""))
	w.want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	both := func(inFilter, inAction string) string {
		return rule(`<Filter i:type="SqlFilter"><SqlExpression>a = @a</SqlExpression><Parameters>` + parameter("@a", "int", inFilter) + `</Parameters></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET b = @A</SqlExpression><Parameters>` +
			parameter("@A", "int", inAction) + `</Parameters></Action>`)
	}
	a := w.want(201, "PUT", "/t/Subscriptions/s/Rules/same", both("1", "1"))
	if n := strings.Count(a.body, "<Key>@a</Key>"); n != 2 {
		t.Errorf("it is told %d times in %s", n, a.body)
	}
	wants(t, w.want(400, "PUT", "/t/Subscriptions/s/Rules/else", both("1", "2")), 400, 40000, "one value in the filter and another in the action")
	wants(t, w.want(400, "PUT", "/t/Subscriptions/s/Rules/twice", rule(`<Filter i:type="SqlFilter"><SqlExpression>a = @a</SqlExpression><Parameters>`+parameter("@a", "int", "1")+parameter("@a", "int", "1")+
		`</Parameters></Filter>`)), 400, 40000, "needs a name, which no other has")
}

// A key that a description does not give stays, or is made.
func TestKeys(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	access := func(more string) string {
		return queue(`<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>Send</AccessRights></Rights><KeyName>own</KeyName>` + more + `</AuthorizationRule></AuthorizationRules>`)
	}
	a := w.want(201, "PUT", "/q", access("<PrimaryKey>mine</PrimaryKey>"))
	second := a.element("SecondaryKey")
	if a.element("PrimaryKey") != "mine" || len(second) < 32 {
		t.Errorf("the keys are %q and %q", a.element("PrimaryKey"), second)
	}
	if a = w.update(200, "/q", access("")); a.element("PrimaryKey") != "mine" || a.element("SecondaryKey") != second {
		t.Errorf("the keys became %q and %q", a.element("PrimaryKey"), a.element("SecondaryKey"))
	}
	wants(t, w.want(400, "PUT", "/r", strings.Replace(access(""), ">Send<", ">Read<", 1)), 400, 40000, "no right called 'Read'")
	wants(t, w.want(400, "PUT", "/r", access("<CreatedTime>noon</CreatedTime>")), 400, 40000, "CreatedTime of the authorization rule 'own' is no time")
	if a = w.update(200, "/q", queue("")); strings.Contains(a.body, "KeyName") {
		t.Errorf("it is still there: %s", a.body)
	}
}
