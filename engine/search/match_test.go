package search_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/search"
	"mayfly/engine/value"
)

const now = engine.Instant(1_800_000_000_000) // 2027-01-15T08:00:00Z

// A message is the row and the body of a message to search.
type message struct {
	row  engine.Row
	body string
}

func made(change ...func(*engine.Row, *engine.Content)) message {
	return with(`{"customer":{"id":42,"name":"Ada"}}`, change...)
}

func with(body string, change ...func(*engine.Row, *engine.Content)) message {
	c := engine.Content{
		MessageID: "Message-17", Subject: "New Order", SessionID: "Abc", CorrelationID: "c-1", To: "billing",
		ReplyTo: "answers", ContentType: "application/json", BodySize: int64(len(body)),
	}
	r := engine.Row{Path: "orders", Message: engine.Message{Seq: 17, EnqueuedAt: now - 600_000, DeliveryCount: 2}}
	for _, do := range change {
		do(&r, &c)
	}
	r.Content = c.Pack()
	return message{r, body}
}

func prop(name string, v value.Value) func(*engine.Row, *engine.Content) {
	return func(_ *engine.Row, c *engine.Content) {
		c.Properties = append(c.Properties, value.Property{Name: name, Value: v})
	}
}

func row(do func(*engine.Row)) func(*engine.Row, *engine.Content) {
	return func(r *engine.Row, _ *engine.Content) { do(r) }
}

func dead(x engine.Extra) func(*engine.Row, *engine.Content) {
	return row(func(r *engine.Row) { r.Path, r.Message.Extra = "orders/$DeadLetterQueue", &x })
}

func parsed(t *testing.T, text string) *search.Query {
	t.Helper()
	q, err := search.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return q
}

// matches compares as a scan does: by the row first, and by the body if needed.
func matches(q *search.Query, m message) bool {
	switch q.Match(m.row, now) {
	case search.Yes:
		return true
	case search.No:
		return false
	default:
		return q.MatchBody(m.row, now, []byte(m.body))
	}
}

func check(t *testing.T, m message, yes, no []string) {
	t.Helper()
	for want, texts := range map[bool][]string{true: yes, false: no} {
		for _, text := range texts {
			if got := matches(parsed(t, text), m); got != want {
				t.Errorf("%s: %v, not %v", text, got, want)
			}
			if got := matches(parsed(t, "-"+text), m); got == want {
				t.Errorf("-%s: %v as well", text, got)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	check(t, made(), []string{
		"order", "ORDER", "message-17", "ada", `"new order"`, "n*order", "cust*ada", "body:CUSTOMER", `body:"\"id\":42"`, "body:*", "*",
		`subject:"new order"`, "subject:new*", "subject:*order", "subject:n*w*r", "subject:*", "subject:x,new*",
		"id:message-17", "session:abc", "correlation:c-1", "to:BILLING", "reply-to:answers", "type:*json", "in:orders", "in:ord*",
	}, []string{
		"orders", `"ne*order"`, "order*new*order", "body:order", `body:""`, "subject:order", "subject:new", `subject:""`, "subject:*x", "subject:new*new*order", "subject:new*order*order",
		"id:message", "session:ab", "in:order", "in:rders", "reason:*", "source:*", "type:json",
	})
	check(t, with("", func(_ *engine.Row, c *engine.Content) { c.Subject, c.ContentType = "", "" }),
		[]string{`body:""`, `subject:""`, `type:""`, "*"}, []string{"body:*", "subject:*", "body:x", "json.a:1"})
	check(t, with("Grüße an Émile"), []string{"émile", "GRÜßE"}, []string{"emile"})
}

func TestStates(t *testing.T) {
	locked := func(until engine.Instant) func(*engine.Row, *engine.Content) {
		return row(func(r *engine.Row) { r.Message.LockedUntil = until })
	}
	state := func(s engine.State) func(*engine.Row, *engine.Content) {
		return row(func(r *engine.Row) { r.Message.State = s })
	}
	for name, tc := range map[string]struct {
		m    message
		want string
	}{
		"active":             {made(), "active"},
		"locked":             {made(locked(now + 1)), "locked"},
		"lock is over":       {made(locked(now)), "active"}, // DEC-1
		"deferred":           {made(state(engine.Deferred)), "deferred"},
		"deferred and taken": {made(state(engine.Deferred), locked(now+1)), "deferred locked"},
		"scheduled":          {made(state(engine.Scheduled)), "scheduled"},
		"dead":               {made(dead(engine.Extra{})), "dead"},
		"dead and locked":    {made(dead(engine.Extra{}), locked(now+1)), "dead locked"},
	} {
		for _, s := range search.States() {
			in := slices.Contains(strings.Fields(tc.want), s)
			if got := matches(parsed(t, "state:"+s), tc.m); got != in {
				t.Errorf("%s: state:%s is %v", name, s, got)
			}
		}
		if !matches(parsed(t, "state:ACTIVE,locked,deferred,scheduled,dead"), tc.m) {
			t.Errorf("%s has no state", name)
		}
	}
}

func TestNumbersOfMessages(t *testing.T) {
	m := made(row(func(r *engine.Row) { r.Expires = now + 60_000 }))
	check(t, m, []string{
		"age:>5m", "age:>=10m", "age:<=10m", "age:<10m1ms", "ttl:<61s", "ttl:<=1m", "ttl:>=PT1M",
		"delivery:2", "delivery:>=2", "delivery:<3", "delivery:1,2", "seq:17", "seq:>16", "seq:<18",
		"size:>100", "size:<1KB", "size:<0.5MB", "size:>0",
		"enqueued:2027-01-15", "enqueued:>2027-01-14", "enqueued:>=2027-01-15", "enqueued:<2027-01-16", "enqueued:2027-01-15T07:50", "enqueued:2027-01-15T08:50+01:00",
		"enqueued:2027-01-15T07:50:00", "enqueued:2027-01-15T07:50:00.000Z", "enqueued:<=2027-01-15T07:50:00.000Z",
	}, []string{
		"age:>10m", "age:<10m", "age:>7d", "ttl:<1m", "ttl:>1m", "ttl:never", "due:>0s", "delivery:>2", "delivery:1", "seq:>17", "seq:<17", "size:>1KB",
		"enqueued:>2027-01-15", "enqueued:<2027-01-15", "enqueued:2027-01-14", "enqueued:2027-01-15T07:51", "enqueued:>2027-01-15T07:50:00.000Z", "enqueued:2027-01-15T07:50:00.001Z",
	})
	check(t, made(), []string{"ttl:never"}, []string{"ttl:<1m", "ttl:>1m", "ttl:>=0s"})
	check(t, made(row(func(r *engine.Row) { r.Message.State, r.Message.ScheduledFor = engine.Scheduled, now+3_600_000 })),
		[]string{"due:<=1h", "due:>59m"}, []string{"due:<1h", "due:>1h"})
	check(t, made(dead(engine.Extra{Reason: "TTLExpiredException"})), // DLQ-9
		[]string{"reason:TTLExpired*", "source:orders", "in:orders", "in:*deadletter*"}, []string{"reason:TTLExpired", "source:x", `reason:""`, "ttl:<1m"})
	check(t, made(dead(engine.Extra{Source: "prices/Subscriptions/eu"})), []string{"source:prices/*", `reason:""`}, []string{"source:orders"})
	check(t, made(row(func(r *engine.Row) { r.Path = "prices/Subscriptions/eu/$DeadLetterQueue" })),
		[]string{"in:prices", "in:PRICES/subscriptions/eu", "in:prices/*", "in:x,prices"}, []string{"in:eu", "in:price"})
}

func TestProperties(t *testing.T) {
	d := func(k value.Kind, s string) value.Value {
		v, err := value.Parse(k, s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	m := made(
		prop("Region", value.OfString("EU-west")), prop("n", value.OfULong(math.MaxUint64)), prop("i", value.OfInt(-5)),
		prop("f", value.OfFloat(0.1)), prop("g", value.OfDouble(1e300)), prop("money", d(value.Decimal128, "1234567890123456789.10")),
		prop("ok", value.OfBool(true)), prop("none", value.Value{}), prop("id", d(value.UUID, "6f1c3a52-0d4e-4b7a-9c11-2f6e5d7a8b90")),
		prop("at", d(value.Timestamp, "2026-07-14T10:04:12.345Z")), prop("to", d(value.DateTimeOffset, "2026-07-14T12:04:12+02:00")),
		prop("took", d(value.Timespan, "90s")), prop("big", value.OfLong(9007199254740993)), prop("nan", d(value.Double, "NaN")),
		prop("bin", value.OfBinary([]byte("hi"))), prop("sym", value.OfSymbol("Sign")), prop("uri", value.OfURI("http://x/y")), prop("c", value.OfChar('é')),
		prop("a b:c", value.OfString("spaced")), prop("text", value.OfString("42")), prop("*", value.OfString("star")), prop("when", value.OfString("2026-07-14T10:00:00Z")),
	)
	check(t, m, []string{
		"prop.region:eu*", "prop.REGION:EU-WEST", "prop.region:*", `prop.region:"eu-west"`, "prop.region:us,eu-west", "prop.region:>eu", "prop.region:<f", "prop.region:>=eu-west",
		"prop.n:18446744073709551615", "prop.n:>18446744073709551614", "prop.n:>1e19", "prop.i:-5", "prop.i:<0", "prop.i:-5.0", "prop.i:>=-5", "prop.i:>-6", "prop.i:<-4", "prop.i:-50e-1",
		"prop.f:0.1", "prop.f:<0.11", "prop.g:1e300", "prop.g:>9e299", "prop.money:1234567890123456789.1", "prop.money:>1234567890123456789.09", "prop.money:<1234567890123456789.11",
		"prop.ok:true", "prop.ok:TRUE", "prop.none:*", "prop.none:null", `prop.none:""`, "prop.id:6F1C3A52*", "prop.big:9007199254740993", "prop.big:>9007199254740992",
		"prop.at:2026-07-14", "prop.at:>=2026-07-14T10:04", "prop.at:<2026-07-15", "prop.to:2026-07-14T10:04", "prop.took:90s", "prop.took:>1m", "prop.took:<=PT1M30S",
		"prop.nan:nan", "prop.bin:aGk=", "prop.sym:sign", "prop.uri:http*", `prop.uri:"http://x/y"`, "prop.c:É", `prop."a b:c":spaced`, "prop.text:42", `prop."*":star`, "prop.*:spaced", "prop.*:>1e18",
		"prop.when:2026-07-14", "prop.when:<2026-07-15", `prop.absent:""`,
	}, []string{
		"prop.region:eu", "prop.region:<eu", "prop.region:>1", "prop.absent:*", "prop.absent:x", "prop.absent:>0", `prop.region:""`,
		"prop.n:18446744073709551614", "prop.n:<0", "prop.f:0.10000000149", "prop.f:<0.1", "prop.money:>1234567890123456789.1", "prop.money:1234567890123456789",
		"prop.big:9007199254740992", "prop.big:>9007199254740993", "prop.nan:>0", "prop.nan:<0", "prop.ok:1", "prop.ok:>0", "prop.none:<5", "prop.text:>41", "prop.at:>2026-07-14", "prop.took:<90s", "prop.bin:>a", `prop."*":spaced`, "prop.*:nobody", "prop.when:>2026-07-14",
	})
	check(t, made(dead(engine.Extra{Reason: "Poison", Properties: value.Properties{{Name: "why", Value: value.OfString("me")}}})), // TTL-27, SETL-2
		[]string{"prop.deadletterreason:poison", "prop.why:me"}, []string{"prop.why:you"})
}

func TestJSON(t *testing.T) {
	m := with(` { "customer" : {"id": 42, "big": 9007199254740993, "rate":0.10, "exp":1e2, "name":"A\"d\u00e9", "vip":true, "none":null, "":"empty"},
		"items":[ {"sku":"a1","n":[1,[2,3]]}, {"sku":"b\\2","n":[]} ], "a.b":"dotted", "at":"2026-07-14T10:00:00Z", "text":"42", "x":1, "X":2 } `)
	check(t, m, []string{
		"json.customer.id:42", "json.customer.id:42.0", "json.customer.id:>41", "json.customer.id:<=42", "json.customer.id:4*", "json.customer.big:9007199254740993", "json.customer.big:>9007199254740992",
		"json.customer.rate:0.1", "json.customer.exp:100", `json.customer.name:"a\"dé"`, "json.customer.vip:true", "json.customer.none:null", `json.customer."":empty`, "json.customer:*", "json.items:*",
		"json.items[0].sku:A1", "json.items[*].sku:b*", `json.items[1].sku:"b\\2"`, "json.items[0].n[1][0]:2", "json.items[0].n[*][*]:3", "json.*.id:42", "json.items[*].*[0]:1", `json."a.b":dotted`,
		"json.at:2026-07-14", "json.at:<2026-07-15", "json.at:>=2026-07-14T10:00", "json.text:42", "json.x:1", "json.X:2", `json.absent:""`, "json.customer.name:>a",
	}, []string{
		"json.customer.id:43", "json.customer.id:>42", "json.customer.big:9007199254740992", "json.customer.ID:42", "json.customer:42", "json.items[2].sku:*", "json.items.sku:a1", "json.items[0].n[5]:*",
		"json.customer[0]:*", "json.absent:*", "json.text:>41", "json.X:1", "json.customer.vip:>0", `json.customer.id:""`, "json.items[*].absent:*", "json.at:>2026-07-14",
	})
	check(t, with("[1,2]"), []string{"json[1]:2", "json[*]:>1"}, []string{"json[2]:*", "json.a:*"})
	check(t, with("{\"a\":1"), nil, []string{"json.a:1"})
	check(t, with("42"), nil, []string{"json.a:42"})
	text := func(_ *engine.Row, c *engine.Content) { c.BodyKind = engine.ValueBody }
	check(t, with("\xa1\x07{\"a\":1}", text), []string{"json.a:1", "body:a"}, []string{"json.a:2"})
	check(t, with("\xb1\x00\x00\x00\x07{\"a\":1}", text), []string{"json.a:1"}, nil)
	check(t, with("\xb1\xff\xff\xff\xff{}", text), nil, []string{"json.a:1"})
	check(t, with("\xa1\xff{}.", text), nil, []string{"json.a:1"})
	check(t, with(`{"a":1}`, func(_ *engine.Row, c *engine.Content) { c.BodyKind = engine.SequenceBody }), nil, []string{"json.a:1"})
}

// The body is read only where the row does not decide the result.
func TestLazily(t *testing.T) {
	for text, want := range map[string]search.Result{
		"order": search.Yes, "heartbeat": search.NeedBody, "-heartbeat": search.NeedBody, "-order": search.No,
		"heartbeat seq:18": search.No, "seq:18 heartbeat": search.No, "heartbeat seq:17": search.NeedBody, "json.a:1": search.NeedBody, "": search.Yes, "body:*": search.Yes,
	} {
		if got := parsed(t, text).Match(made().row, now); got != want {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
	long := with(string(make([]byte, search.MaxBody)) + "needle")
	if matches(parsed(t, "needle"), long) {
		t.Error("found beyond MostBody")
	}
	var none *search.Query
	if none.Match(made().row, now) != search.Yes || !none.Empty() || !none.Covers("x") || none.String() != "" {
		t.Error("the empty query does not match every message")
	}
}

func TestCovers(t *testing.T) {
	for text, want := range map[string]map[engine.Path]bool{
		"order":                   {"a": true, "a/$DeadLetterQueue": true},
		"in:a":                    {"a": true, "a/$DeadLetterQueue": true, "b": false, "a/Subscriptions/s": true},
		"-in:a":                   {"a": false, "b": true},
		"state:dead":              {"a": false, "a/$DeadLetterQueue": true, "a/$Transfer/$DeadLetterQueue": true},
		"-state:dead":             {"a": true, "a/$DeadLetterQueue": true},
		"state:dead,active":       {"a": true, "a/$DeadLetterQueue": true},
		"state:active,scheduled":  {"a": true, "a/$DeadLetterQueue": false},
		"state:locked":            {"a": true, "a/$DeadLetterQueue": true},
		"in:a* state:dead -in:ab": {"aa/$DeadLetterQueue": true, "ab/$DeadLetterQueue": false},
	} {
		for p, want := range want {
			if got := parsed(t, text).Covers(p); got != want {
				t.Errorf("%s covers %s: %v", text, p, got)
			}
		}
	}
	for text, want := range map[string]engine.Class{
		"x": engine.ClassAll, "x state:scheduled": engine.ClassScheduled, "-state:scheduled": engine.ClassAll, "state:scheduled,dead": engine.ClassAll, "state:deferred": engine.ClassAll,
	} {
		if got := parsed(t, text).Class(); got != want {
			t.Errorf("%s: class %d", text, got)
		}
	}
}

// A Matcher that is used for many messages gives the same results as a new Matcher for each,
// even with letters that are not ASCII and after a longer body.
func TestJudgeOfMany(t *testing.T) {
	all := []message{
		made(), with("LONG " + strings.Repeat("AbÇd ", 100)), with("ab"), with(""), with("\xff\xfeAB"), with("İSTANBUL ﬀ Σς"),
		with(`{"customer":{"id":43}}`), made(prop("region", value.OfString("EU"))), made(func(_ *engine.Row, c *engine.Content) { c.Subject = "ab" }),
	}
	for _, text := range []string{"ab", "body:ab", "body:abçd", "-body:ab", "body:istanbul", "body:σς", "json.customer.id:42", "-json.customer.id:42", "prop.region:eu", "subject:ab", "body:" + strings.Repeat("x", 50), ""} {
		q := parsed(t, text)
		j := q.Matcher()
		for i, m := range slices.Concat(all, all) {
			if got, want := j.Match(&m.row, now), q.Match(m.row, now); got != want {
				t.Errorf("%s: Match of %d is %d, with a new Matcher %d", text, i, got, want)
			}
		}
		for i, m := range slices.Concat(all, all) {
			if got, want := j.MatchBody(&m.row, now, []byte(m.body)), q.MatchBody(m.row, now, []byte(m.body)); got != want {
				t.Errorf("%s: MatchBody of %d is %t, with a new Matcher %t", text, i, got, want)
			}
		}
	}
}

// The case of letters in bodies does not matter.
func TestBodiesInAnyCase(t *testing.T) {
	for body, yes := range map[string]string{"ABC": "abc", "xÇAY": "çay", "ΣΑΣ": "ΣΑΣ", "aÄb": "äB"} {
		check(t, with(body), []string{"body:" + yes}, []string{"body:zzz"})
	}
}
