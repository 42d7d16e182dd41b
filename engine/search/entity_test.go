package search_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/search"
)

func entity(change ...func(*engine.EntityState)) engine.EntityState {
	e := engine.EntityState{Entity: engine.Entity{Kind: engine.Queue, Path: "Shop/Orders"}, LastUsed: now}
	for _, do := range change {
		do(&e)
	}
	return e
}

func parsedEntities(t *testing.T, text string) *search.EntityQuery {
	t.Helper()
	q, err := search.ParseEntities(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return q
}

func checkEntity(t *testing.T, e engine.EntityState, subs []engine.EntityState, yes, no []string) {
	t.Helper()
	for want, texts := range map[bool][]string{true: yes, false: no} {
		for _, text := range texts {
			if got := parsedEntities(t, text).Match(e, subs, now); got != want {
				t.Errorf("%s: %v, not %v", text, got, want)
			}
			if got := parsedEntities(t, "-"+text).Match(e, subs, now); got == want {
				t.Errorf("-%s: %v as well", text, got)
			}
		}
	}
}

func TestEntityNames(t *testing.T) {
	checkEntity(t, entity(), nil,
		[]string{"ord", "SHOP/o", `"p/O"`, "*", "s*ers", "name:shop/orders", "name:*ORDERS", "name:x,shop*", "kind:queue", "kind:topic,QUEUE", "status:active"},
		[]string{"orders2", "o*shop", "name:orders*x", "name:order", "kind:topic", "kind:subscription", "status:disabled", "status:senddisabled,receivedisabled"})
	sub := entity(func(e *engine.EntityState) {
		e.Kind, e.Path, e.Config.Status = engine.Subscription, "prices/Subscriptions/eu", engine.StatusReceiveDisabled
	})
	checkEntity(t, sub, nil,
		[]string{"prices/sub", "name:eu", "name:prices/*", "kind:subscription", "status:ReceiveDisabled"},
		[]string{"name:prices", "kind:topic", "status:active", "status:disabled"})
}

func TestEntityCounts(t *testing.T) {
	counts := map[string]func(*engine.EntityState, int64){
		"active":        func(e *engine.EntityState, n int64) { e.Counts.Active = n },
		"locked":        func(e *engine.EntityState, n int64) { e.Counts.Locked = n },
		"deferred":      func(e *engine.EntityState, n int64) { e.Counts.Deferred = n },
		"scheduled":     func(e *engine.EntityState, n int64) { e.Counts.Scheduled = n },
		"dlq":           func(e *engine.EntityState, n int64) { e.Counts.DeadLetter = n },
		"transfer":      func(e *engine.EntityState, n int64) { e.Counts.TransferDeadLetter = n },
		"sessions":      func(e *engine.EntityState, n int64) { e.Sessions.Known = int(n) },
		"receivers":     func(e *engine.EntityState, n int64) { e.Receivers = int(n) },
		"subscriptions": func(e *engine.EntityState, n int64) { e.Subscriptions = int(n) },
	}
	for word, set := range counts {
		with := func(n int64) engine.EntityState {
			return entity(func(e *engine.EntityState) { set(e, n) })
		}
		checkEntity(t, with(0), nil, []string{word + ":0", word + ":<1"}, []string{"has:" + word, word + ":>0", word + ":>=1"})
		checkEntity(t, with(1), nil, []string{"has:" + word, word + ":1", word + ":>0", word + ":>=1", word + ":<=1"}, []string{word + ":>1", word + ":<1", word + ":0,2"})
		isMessage := word != "sessions" && word != "receivers" && word != "subscriptions"
		if got := parsedEntities(t, "has:messages messages:1").Match(with(1), nil, now); got != isMessage {
			t.Errorf("%s counts as a message: %v", word, got)
		}
		for other := range counts {
			if got := parsedEntities(t, "has:"+other).Match(with(1), nil, now); got != (other == word) {
				t.Errorf("an entity with %s: has:%s is %v", word, other, got)
			}
		}
		topic := entity(func(e *engine.EntityState) { e.Kind = engine.Topic; set(e, 2) })
		want := word + ":7"
		if word == "subscriptions" {
			want = word + ":2" // the topic's own count
		}
		checkEntity(t, topic, []engine.EntityState{with(1), with(4)}, []string{want}, nil)
	}
	size := entity(func(e *engine.EntityState) { e.SizeInBytes, e.Bytes = 2048, 1024 })
	checkEntity(t, size, nil, []string{"size:2KB", "size:>=2KB", "size:<=2KB"}, []string{"size:>2KB", "size:<2KB", "size:1KB"})
	checkEntity(t, entity(func(e *engine.EntityState) { e.Bytes = 10 }), nil, []string{"size:10"}, []string{"size:0"})
}

func TestEntityTimes(t *testing.T) {
	expiring := func(at engine.Instant) engine.EntityState {
		return entity(func(e *engine.EntityState) { e.NextExpiry = at })
	}
	checkEntity(t, expiring(now+300_000), nil, []string{"expiring:", "expiring:<=5m", "expiring:>=5m", "expiring:<301s"}, []string{"expiring:<5m", "expiring:>5m"})
	checkEntity(t, expiring(now+299_999), nil, []string{"expiring:<5m"}, []string{"expiring:>=5m"})
	checkEntity(t, expiring(now-1), nil, []string{"expiring:<1s", "expiring:"}, []string{"expiring:>0s"})
	checkEntity(t, expiring(0), nil, nil, []string{"expiring:", "expiring:<5m", "expiring:>5m"})
	topic := entity(func(e *engine.EntityState) { e.Kind = engine.Topic })
	checkEntity(t, topic, []engine.EntityState{expiring(0), expiring(now + 60_000), expiring(now + 30_000)}, []string{"expiring:<31s"}, []string{"expiring:<30s"})

	temporary := func(at engine.Instant) engine.EntityState {
		return entity(func(e *engine.EntityState) { e.Config.AutoDeleteOnIdle, e.DeletesAt = time.Hour, at })
	}
	checkEntity(t, temporary(now+600_000), nil, []string{"temp:", "TEMP:", "temp:<=10m"}, []string{"temp:<10m", "temp:>10m"})
	checkEntity(t, temporary(now+599_999), nil, []string{"temp:<10m"}, []string{"temp:>=10m"})
	checkEntity(t, temporary(0), nil, []string{"temp:"}, []string{"temp:<10m", "temp:>10m"}) // the entity is in use
	checkEntity(t, entity(), nil, nil, []string{"temp:", "temp:<10m"})
	forwards := temporary(0)
	forwards.Config.ForwardTo = "elsewhere" // so it is not deleted when idle (IDLE-12)
	checkEntity(t, forwards, nil, nil, []string{"temp:"})

	idle := func(since engine.Instant, receivers int) engine.EntityState {
		return entity(func(e *engine.EntityState) { e.LastUsed, e.Receivers = since, receivers })
	}
	checkEntity(t, idle(now-3_600_000, 0), nil, []string{"idle:>=1h", "idle:<=1h"}, []string{"idle:>1h", "idle:<1h"})
	checkEntity(t, idle(now-3_600_001, 0), nil, []string{"idle:>1h"}, []string{"idle:<=1h"})
	checkEntity(t, idle(now-3_600_001, 1), nil, []string{"idle:<1s"}, []string{"idle:>1h"})
}

// All terms must be true, with one of their values each, and a minus negates a term.
func TestEntityTerms(t *testing.T) {
	e := entity(func(e *engine.EntityState) { e.Counts.DeadLetter = 3 })
	checkEntity(t, e, nil, []string{"has:locked,dlq"}, []string{"has:locked,active"})
	for text, want := range map[string]bool{
		"":                               true,
		"orders has:dlq -has:active":     true,
		"orders has:dlq has:active":      false,
		"orders -has:dlq":                false,
		"-heartbeat dlq:>2 -dlq:>3":      true,
		"  \t has:dlq  ":                 true,
		`-"orders"`:                      false,
		"kind:queue status:active temp:": false,
	} {
		if got := parsedEntities(t, text).Match(e, nil, now); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
	q := parsedEntities(t, `  HAS:DLQ   "a b"  -temp: expiring:<5M`)
	if d := cmp.Diff([]string{"has:DLQ", `"a b"`, "-temp:", "expiring:<5M"}, q.Terms()); d != "" {
		t.Error(d)
	}
	if got := q.Without(1).String(); got != "has:DLQ -temp: expiring:<5M" {
		t.Error(got)
	}
	var none *search.EntityQuery
	if !none.Match(e, nil, now) || !none.Empty() || none.DependsOnTime() || none.String() != "" || q.Empty() {
		t.Error("the empty query does not match every entity")
	}
	for text, want := range map[string]bool{"orders has:dlq": false, "temp:": true, "x idle:>1h": true, "-expiring:<1m": true, "size:>1KB": false} {
		if got := parsedEntities(t, text).DependsOnTime(); got != want {
			t.Errorf("%s is timed: %v", text, got)
		}
	}
}

func TestEntityErrors(t *testing.T) {
	for text, want := range map[string]struct {
		pos  int
		say  string
		read string // the terms that are parsed before the error
	}{
		"orders stat:disabled":    {7, `The key "stat" does not exist. Choose from name, kind, status, has,`, "orders"},
		"has:luck":                {4, `"luck" is not a value of has. Choose from messages, active,`, ""},
		"status:gone":             {7, `"gone" is not a value of status. Choose from active, disabled, senddisabled, receivedisabled`, ""},
		"kind:box":                {5, `"box" is not a value of kind. Choose from queue, topic, subscription`, ""},
		"has:":                    {4, `A value is missing after "has:". Write it as in has:dlq`, ""},
		`has:"dlq"`:               {4, "without quotes", ""},
		"has:dlq expiring:5m":     {17, "Use < or >, as in expiring:<5m", "has:dlq"},
		"expiring:<soon":          {9, "not a duration", ""},
		"temp:<never":             {5, "temp:<10m", ""},
		"temp:<":                  {6, "A value is missing", ""},
		"idle:":                   {5, "Write it as in idle:>1h", ""},
		"a -b dlq:>x":             {9, "not a whole number. Write it as in dlq:>100", "a -b"},
		"size:>1XB":               {5, "not a size", ""},
		"prop.a:b":                {0, `The key "prop.a" does not exist`, ""},
		"body:x":                  {0, `The key "body" does not exist`, ""},
		`"open`:                   {0, "A quote is not closed", ""},
		strings.Repeat("a ", 51):  {100, "A filter can have at most 50 terms", strings.TrimSpace(strings.Repeat("a ", 50))},
		strings.Repeat("a", 2001): {2000, "A filter must not be longer than 2,000 bytes", ""},
	} {
		q, err := search.ParseEntities(text)
		var e *search.Error
		if !errors.As(err, &e) || !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%s: %v, %v", text, q, err)
			continue
		}
		if e.Pos != want.pos || !strings.Contains(e.Text, want.say) || q.String() != want.read {
			t.Errorf("%s: at %d: %s, after %q", text, e.Pos, e.Text, q)
		}
	}
	for _, text := range []string{"has:dlq", "temp:", "dlq:>1", "status:active", "kind:queue"} {
		if _, err := search.Parse(text); err == nil {
			t.Errorf("%s is a search for messages", text)
		}
	}
}

// Every proposed key can be typed as in its example.
func TestEntityKeys(t *testing.T) {
	for _, k := range search.EntityKeys() {
		if q := parsedEntities(t, k.Example); q.String() != k.Example || !strings.HasPrefix(k.Example, k.Name+":") {
			t.Errorf("%+v is written %s", k, q)
		}
	}
}

func FuzzParseEntities(f *testing.F) {
	for _, text := range []string{
		`orders has:dlq,active -temp: temp:<10m expiring:,>=1h idle:>1h30m dlq:>100,0 size:<1.5MB status:sendDisabled "a \" b" name:x*,"y*" -kind:topic`,
		"-- -a: has::x", "temp:,", "a\"b", "status:disabled,", "\u00a0x",
	} {
		f.Add(text, int64(3), int64(now))
	}
	f.Fuzz(func(t *testing.T, text string, n, at int64) {
		q, err := search.ParseEntities(text)
		e := entity(func(e *engine.EntityState) {
			e.Counts.DeadLetter, e.NextExpiry, e.DeletesAt = n, engine.Instant(at), engine.Instant(at)
		})
		if err != nil {
			var wrong *search.Error
			if !errors.As(err, &wrong) || wrong.Pos < 0 || wrong.Pos > utf8.RuneCountInString(text) || wrong.Text == "" {
				t.Errorf("%q: %#v", text, err)
			}
		}
		if len(q.String()) > 2000 {
			return // quoting has made it longer than the maximum
		}
		again, err := search.ParseEntities(q.String())
		if err != nil || again.String() != q.String() {
			t.Fatalf("%q is formatted as %q, which is parsed as %q, %v", text, q, again, err)
		}
		all := true
		for _, term := range q.Terms() {
			all = all && parsedEntities(t, term).Match(e, nil, now)
		}
		if found := q.Match(e, nil, now); found != all || found != again.Match(e, nil, now) {
			t.Errorf("%q matches: %v; all its terms match: %v", text, found, all)
		}
	})
}
