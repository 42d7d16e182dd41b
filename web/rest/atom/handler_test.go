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
	"mayfly/web/webtest"
)

// Keywords in addresses are not case-sensitive, names keep their case, and an address may end with
// a slash.
func TestAddresses(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/Orders/In?api-version=2017-04", queue(""))
	w.Want(201, "PUT", "/topic", topic(""))
	w.Want(201, "PUT", "/TOPIC/subscriptions/Sub?api-version=2021-05", subscription(""))
	w.Want(201, "PUT", "/topic/Subscriptions/sub/rules/R", rule(""))
	w.Want(201, "PUT", "/health?api-version=2024-05", queue(""))
	w.Want(201, "PUT", "/q/messages?api-version=2024-05", queue(""))
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
		a := w.Want(200, "GET", path, "")
		if got := element(a, `title type="text"`); got != want || a.Header.Get("Content-Type") != "application/atom+xml;type=entry;charset=utf-8" {
			t.Errorf("%s is %q, %v", path, got, a.Header)
		}
	}
	if a := w.Want(200, "GET", "/health", ""); !strings.Contains(a.Body, "healthy") {
		t.Errorf("the health check returned %s", a.Body)
	}
	for path, want := range map[string]string{ // an id has names as they are stored, and keywords as in the request
		"/topic/subscriptions/sub":          "/topic/subscriptions/Sub",
		"/TOPIC/Subscriptions/sub":          "/topic/Subscriptions/Sub",
		"/topic/subscriptions/SUB/Rules/r":  "/topic/subscriptions/Sub/Rules/R",
		"/topic/Subscriptions/SUB/rules/r/": "/topic/Subscriptions/Sub/rules/R",
	} {
		if a := w.Want(200, "GET", path+"?api-version=2021-05", ""); element(a, "id") != w.URL+want+"?api-version=2021-05" {
			t.Errorf("the id is %q", element(a, "id"))
		}
	}
	for path, want := range map[string]string{
		"/topic/subscriptions/":          "/topic/subscriptions/Sub",
		"/topic/Subscriptions/sub/rules": "/topic/Subscriptions/Sub/rules/R",
	} {
		if a := w.Want(200, "GET", path, ""); !strings.Contains(a.Body, "<id>"+w.URL+want+"</id>") {
			t.Errorf("%s has no id that ends with %s: %s", path, want, a.Body)
		}
	}
	if a := w.Want(200, "DELETE", "/topic/subscriptions/sub/", ""); a.Body != "" {
		t.Errorf("the deletion returned %q", a.Body)
	}
}

// An entity may forward to itself, from its creation on and by an update (PROP-9).
func TestForwardToItself(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	for _, to := range []string{"q", w.URL + "/Q"} {
		a := w.Want(201, "PUT", "/q", queue("<ForwardTo>"+to+"</ForwardTo><ForwardDeadLetteredMessagesTo>"+to+"</ForwardDeadLetteredMessagesTo>"))
		if element(a, "ForwardTo") != to {
			t.Errorf("the entity forwards to %q, want %q", element(a, "ForwardTo"), to)
		}
		w.Want(200, "DELETE", "/q", "")
		w.Want(201, "PUT", "/q", queue(""))
		w.Want(200, "PUT", "/q", queue("<ForwardTo>"+to+"</ForwardTo>"), "If-Match", "*")
		w.Want(201, "POST", "/q/messages", "once")
		if a := w.Want(200, "DELETE", "/q/$DeadLetterQueue/messages/head?timeout=5", ""); a.Body != "once" || !strings.Contains(a.Header.Get("DeadLetterReason"), "MaxTransferHopCountExceeded") {
			t.Errorf("received %q, %v", a.Body, a.Header)
		}
		w.Want(200, "DELETE", "/q", "")
	}
}

// Every error has a body with its code and, if it has one, its sub-code.
func TestErrors(t *testing.T) {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic, l.SQLFiltersPerTopic, l.OtherFiltersPerTopic = 5, 2, 1, 3
	w := start(t, broker.Options{Limits: &l}, nil)
	w.Want(201, "PUT", "/q", queue(""))
	w.Want(201, "PUT", "/t", topic(""))
	w.Want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	w.Want(201, "PUT", "/off", topic(""))
	w.Want(201, "PUT", "/off/Subscriptions/s", subscription("<Status>Disabled</Status>"))
	w.Want(201, "PUT", "/t/Subscriptions/s/Rules/sql", rule(`<Filter i:type="SqlFilter"><SqlExpression>a=1</SqlExpression></Filter>`))
	correlation := rule(`<Filter i:type="CorrelationFilter"><To>x</To></Filter>`)
	w.Want(201, "PUT", "/t/Subscriptions/s/Rules/c", correlation)
	w.Want(201, "PUT", "/t/Subscriptions/s/Rules/c2", correlation) // the third rule, with $Default
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
		"a missing rule":            {"GET", "/t/Subscriptions/s/Rules/x", "", false, 404, 40400, "The messaging entity 'default:Topic:t|s|x' could not be found."},
		"a rule to replace":         {"PUT", "/t/Subscriptions/s/Rules/x", rule(""), true, 404, 40400, "default:Topic:t|s|x' could not be found."},
		"a rule to delete":          {"DELETE", "/t/Subscriptions/s/Rules/x", "", false, 404, 40400, "default:Topic:t|s|x' could not be found."},
		"update of nothing":         {"PUT", "/nowhere", queue(""), true, 404, 40400, "could not be found"},
		"update of another kind":    {"PUT", "/q", topic(""), true, 404, 40400, "it is a queue"},
		"deletion of nothing":       {"DELETE", "/nowhere", "", false, 404, 40400, "could not be found"},
		"the root":                  {"GET", "/", "", false, 404, 0, "Nothing is served at this address"},
		"a list there is not":       {"GET", "/$Resources/Things", "", false, 404, 0, "Nothing is served at this address"},
		"below a rule":              {"GET", "/t/Subscriptions/s/Rules/r/x", "", false, 404, 0, "Nothing is served at this address"},
		"twice":                     {"PUT", "/Q", queue(""), false, 409, 40900, "already exists"},
		"a rule twice":              {"PUT", "/t/Subscriptions/s/Rules/SQL", rule(""), false, 409, 40900, "The messaging entity 'default:Topic:t|s|SQL' already exists."},
		"no name":                   {"PUT", "/", queue(""), false, 404, 0, ""},
		"no subscription's name":    {"PUT", "/t/Subscriptions/", subscription(""), false, 405, 0, "accepts GET"},
		"no rule's name":            {"PUT", "/t/Subscriptions/s/Rules/", rule(""), false, 405, 0, "accepts GET"},
		"a bad name":                {"PUT", "/a%20b", queue(""), false, 400, 40000, "must not contain ' '"},
		"a name too long":           {"PUT", "/t/Subscriptions/" + strings.Repeat("s", 51), subscription(""), false, 400, 40000, "1 to 50 characters"},
		"a rule's name too long":    {"PUT", "/t/Subscriptions/s/Rules/" + strings.Repeat("s", 51), rule(""), false, 400, 40000, "1 to 50 characters"},
		"a method":                  {"PATCH", "/q", "", false, 405, 0, "accepts DELETE, GET, PUT, not PATCH"},
		"a method of lists":         {"DELETE", "/$Resources/Queues", "", false, 405, 0, "accepts GET, not DELETE"},
		"a condition":               {"PUT", "/q", queue(""), false, 412, 0, "If-Match must be '*'"},
		"NAME-9":                    {"GET", "/q/$deadletterqueue", "", false, 400, 40000, "The specified HTTP verb (GET) is not valid."},
		"NAME-9 of a subscription":  {"GET", "/t/Subscriptions/s/$DeadLetterQueue", "", false, 400, 40000, "The specified HTTP verb (GET) is not valid."},
		"NAME-9 of transfers":       {"DELETE", "/q/$Transfer/$DeadLetterQueue", "", false, 400, 40000, "The specified HTTP verb (DELETE) is not valid."},
		"no body":                   {"PUT", "/new", "", false, 400, 40000, "needs a body"},
		"no XML":                    {"PUT", "/new", "{}", false, 400, 40000, "needs a body"},
		"half of a body":            {"PUT", "/new", "<entry><content>", false, 400, 40000, "is not XML"},
		"no content":                {"PUT", "/new", "<entry/>", false, 400, 40000, "has no content"},
		"another description":       {"PUT", "/new", rule(""), false, 400, 40000, "cannot be put at this address"},
		"no description":            {"PUT", "/new", in("NamespaceInfo", ""), false, 400, 40000, "is not a description"},
		"a queue as a subscription": {"PUT", "/t/Subscriptions/new", queue(""), false, 400, 40000, "cannot be put at this address"},
		"a queue as a rule":         {"PUT", "/t/Subscriptions/s/Rules/new", queue(""), false, 400, 40000, "cannot be put at this address"},
		"an element twice":          {"PUT", "/new", queue("<Status>Active</Status><Status>Active</Status>"), false, 400, 40000, "'Status' occurs twice"},
		"a lock too long":           {"PUT", "/new", queue("<LockDuration>PT5M1S</LockDuration>"), false, 400, 40000, "maximum of '5' minutes."},
		"no duration":               {"PUT", "/new", queue("<LockDuration>long</LockDuration>"), false, 400, 40000, "is not a duration"},
		"no number":                 {"PUT", "/new", queue("<MaxDeliveryCount>x</MaxDeliveryCount>"), false, 400, 40000, "whole number"},
		"a message size":            {"PUT", "/new?api-version=2017-04", queue("<MaxMessageSizeInKilobytes>1024</MaxMessageSizeInKilobytes>"), false, 400, 40000, "cannot be set"},
		"forward to nothing":        {"PUT", "/new", queue("<ForwardTo>sb://host/nowhere</ForwardTo>"), false, 400, 40401, "does not exist"},
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
		"a page that is none":       {"GET", "/$Resources/Queues?$top=-1", "", false, 400, 40000, "'$top' must be a whole number from 0, not '-1'"},
		"a page by a word":          {"GET", "/t/Subscriptions/s/Rules?%24skip=x", "", false, 400, 40000, "'$skip' must be a whole number from 0, not 'x'"},
	} {
		t.Run(name, func(t *testing.T) {
			headers := []string{}
			if tc.update {
				headers = []string{"If-Match", "*"}
			}
			if name == "a condition" {
				headers = []string{"If-Match", `"tag"`}
			}
			w := w.For(t)
			wants(t, w.Want(tc.status, tc.method, tc.path, tc.body, headers...), tc.status, tc.sub, tc.text)
		})
	}
}

// wants checks an error response.
func wants(t *testing.T, got webtest.Answer, status, sub int, text string) {
	t.Helper()
	code := fmt.Sprintf("<Error><Code>%d</Code><Detail>", status)
	tail := " TrackingId:an-id, SystemTracker:default, Timestamp:" + time.Now().UTC().Format("2006-01")
	if sub != 0 {
		tail = fmt.Sprintf(" SubCode=%d.", sub) + tail
	}
	if !strings.HasPrefix(got.Body, code) || !strings.Contains(got.Body, text) || !strings.Contains(got.Body, tail) || sub == 0 && strings.Contains(got.Body, "SubCode") ||
		!strings.HasPrefix(got.Header.Get("Content-Type"), "application/xml") {
		t.Errorf("got %q, want %q … %q … %q", got.Body, code, text, tail)
	}
}

// TestQuotas checks that creating an entity beyond a limit of the namespace is refused with 403.
func TestQuotas(t *testing.T) {
	l := engine.DefaultLimits()
	l.Entities, l.SubscriptionsPerTopic = 2, 1
	w := start(t, broker.Options{Limits: &l}, nil)
	w.Want(201, "PUT", "/q", queue(""))
	w.Want(201, "PUT", "/t", topic(""))
	w.Want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	wants(t, w.Want(403, "PUT", "/r", queue("")), 403, 40300, "2 queues and topics")
	wants(t, w.Want(403, "PUT", "/t/Subscriptions/r", subscription("")), 403, 40503, "1 subscriptions")
}

type denied struct{}

func (denied) Error() string { return "401 SubCode=40100: Unauthorized access for 'GetSubscription'" }
func (denied) Status() int   { return http.StatusUnauthorized }

// TestAuthorize checks that Authorize gets the parsed request before the body is read or an entity
// is looked up, and that its error is the response.
func TestAuthorize(t *testing.T) {
	var asked atom.Request
	refuse := true
	w := start(t, broker.Options{}, func(_ *http.Request, request atom.Request) error {
		if asked = request; refuse {
			return denied{}
		}
		return nil
	})
	for request, want := range map[string]atom.Request{
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
		a := w.Want(401, method, path, "not even XML")
		if asked != want || !strings.Contains(a.Body, "<Detail>401 SubCode=40100: Unauthorized access for 'GetSubscription' TrackingId:") {
			t.Errorf("%s requests %+v and returned %s", request, asked, a.Body)
		}
	}
	refuse = false
	w.Want(201, "PUT", "/q", queue(""))
}

// A rule in a subscription's description is its first rule. Its name is $Default and it
// selects every message, unless the description says otherwise.
func TestFirstRules(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/t", topic(""))
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
		if a := w.Want(201, "PUT", at, subscription(tc.description)); strings.Contains(a.Body, "DefaultRule") {
			t.Errorf("the response has the description: %s", a.Body)
		}
		if a := w.Want(200, "GET", at+"/Rules/"+tc.rule, ""); !strings.Contains(a.Body, tc.want) {
			t.Errorf("%s is %s", tc.description, a.Body)
		}
		if n := len(w.broker.State(engine.Path(at[1:])).Rules); n != 1 {
			t.Errorf("%s creates %d rules", tc.description, n)
		}
	}
	w.update(200, "/t/Subscriptions/s0/Rules/$default", rule(`<Filter i:type="SqlFilter"><SqlExpression>a = 1</SqlExpression></Filter>`))
	if a := w.Want(200, "GET", "/t/Subscriptions/s0/Rules/$Default", ""); !strings.Contains(a.Body, "SqlFilter") {
		t.Errorf("got %s", a.Body)
	}
}

// TestParameters checks that a rule is refused if a parameter has two values in it, or occurs twice
// in its filter.
func TestParameters(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/t", topic(""))
	w.Want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	both := func(inFilter, inAction string) string {
		return rule(`<Filter i:type="SqlFilter"><SqlExpression>a = @a</SqlExpression><Parameters>` + parameter("@a", "int", inFilter) + `</Parameters></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET b = @A</SqlExpression><Parameters>` +
			parameter("@A", "int", inAction) + `</Parameters></Action>`)
	}
	a := w.Want(201, "PUT", "/t/Subscriptions/s/Rules/same", both("1", "1"))
	if n := strings.Count(a.Body, "<Key>@a</Key>"); n != 2 {
		t.Errorf("the parameter occurs %d times in %s", n, a.Body)
	}
	wants(t, w.Want(400, "PUT", "/t/Subscriptions/s/Rules/else", both("1", "2")), 400, 40000, "one value in the filter and another in the action")
	wants(t, w.Want(400, "PUT", "/t/Subscriptions/s/Rules/twice", rule(`<Filter i:type="SqlFilter"><SqlExpression>a = @a</SqlExpression><Parameters>`+parameter("@a", "int", "1")+parameter("@a", "int", "1")+
		`</Parameters></Filter>`)), 400, 40000, "needs a unique name")
}

// TestKeys checks that a key that the description of an access rule omits is generated when the
// rule is created, and kept by an update. Invalid rules are refused.
func TestKeys(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	access := func(more string) string {
		return queue(`<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><Rights><AccessRights>Send</AccessRights></Rights><KeyName>own</KeyName>` + more + `</AuthorizationRule></AuthorizationRules>`)
	}
	a := w.Want(201, "PUT", "/q", access("<PrimaryKey>mine</PrimaryKey>"))
	second := element(a, "SecondaryKey")
	if element(a, "PrimaryKey") != "mine" || len(second) < 32 {
		t.Errorf("the keys are %q and %q", element(a, "PrimaryKey"), second)
	}
	if a = w.update(200, "/q", access("")); element(a, "PrimaryKey") != "mine" || element(a, "SecondaryKey") != second {
		t.Errorf("the keys became %q and %q", element(a, "PrimaryKey"), element(a, "SecondaryKey"))
	}
	wants(t, w.Want(400, "PUT", "/r", strings.Replace(access(""), ">Send<", ">Read<", 1)), 400, 40000, "The right 'Read' does not exist")
	wants(t, w.Want(400, "PUT", "/r", access("<CreatedTime>noon</CreatedTime>")), 400, 40000, "CreatedTime of the authorization rule 'own' is not a time")
	if a = w.update(200, "/q", queue("")); strings.Contains(a.Body, "KeyName") {
		t.Errorf("the access rules were not removed: %s", a.Body)
	}
}

// Entities whose names begin and end with punctuation can be managed, sent to and
// received from (NAME-5).
func TestNamesWithSigns(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	for _, name := range []string{"a-", "a_", "a.", "a~", "_a", "-", "...", "MassTransit/Fault--Shop/Order--"} {
		sub := strings.ReplaceAll(name, "/", "-")
		w.Want(201, "PUT", "/"+name+"?api-version=2021-05", topic(""))
		w.Want(201, "PUT", "/"+name+"/Subscriptions/"+sub, subscription("<ForwardTo></ForwardTo>"))
		w.Want(201, "PUT", "/"+name+"/Subscriptions/"+sub+"/Rules/r"+sub[len(sub)-1:], rule(""))
		w.Want(200, "GET", "/"+name+"/Subscriptions/"+sub+"/Rules/r"+sub[len(sub)-1:], "")
		w.Want(201, "PUT", "/to"+name, queue("<ForwardTo>http://localhost/"+name+"</ForwardTo>"))
		w.Want(201, "POST", "/to"+name+"/messages", "hello")
		if a := w.Want(200, "DELETE", "/"+name+"/subscriptions/"+sub+"/messages/head?timeout=5", ""); a.Body != "hello" {
			t.Errorf("%s: received %q", name, a.Body)
		}
		w.Want(200, "GET", "/"+name, "")
		w.Want(200, "DELETE", "/"+name, "")
	}
	for body, want := range map[string]string{topic(""): "queue or topic", queue(""): "queue or topic"} {
		if a := w.Want(400, "PUT", "/a/%2E%2E", body); !strings.Contains(a.Body, want) {
			t.Errorf("%s", a.Body)
		}
	}
}

// §1.2: SupportOrdering defaults to true for a topic and to false for a queue, and keeps
// the value that was sent, for partitioned entities too.
func TestSupportOrdering(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	for name, of := range map[string]func(string) string{"queue": queue, "topic": topic} {
		for i, partitioned := range []string{"false", "true"} {
			for text, want := range map[string]string{
				"": fmt.Sprint(name == "topic"), "<SupportOrdering>true</SupportOrdering>": "true", "<SupportOrdering>false</SupportOrdering>": "false",
			} {
				path := fmt.Sprintf("/%s%d%d", name, i, len(text))
				elements := text + "<EnablePartitioning>" + partitioned + "</EnablePartitioning>"
				for _, a := range []webtest.Answer{w.Want(201, "PUT", path, of(elements)), w.Want(200, "GET", path, ""), w.Want(200, "PUT", path, of(elements), "If-Match", "*")} {
					if got := element(a, "SupportOrdering"); got != want {
						t.Errorf("%s with %q, partitioned %s: %q, want %q", name, text, partitioned, got, want)
					}
				}
			}
		}
	}
}
