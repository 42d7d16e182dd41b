package template

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/value"
)

func compile(t *testing.T, d Draft) *CompiledDraft {
	t.Helper()
	m, err := d.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMessage(t *testing.T) {
	session := "s{{n%2}}"
	d := Draft{
		MessageID: "m-{{n}}", SessionID: &session, PartitionKey: session, CorrelationID: "c{{n}}", Subject: "{{pick a|a}}", To: "t{{n}}", ReplyTo: "r{{n}}",
		ReplyToSessionID: "rs{{n}}", ContentType: "text/{{n}}", TimeToLive: "{{n}}m", Delay: "{{n}}s",
		Properties: []Property{{"k{{n}}", "int", "{{n+1}}"}, {"plain", "", "v"}}, Body: `{"n":{{n}},"of":{{count}}}`, Repeat: 3, Every: time.Minute,
	}
	c, body, err := compile(t, d).Message(2, began, seed)
	if err != nil {
		t.Fatal(err)
	}
	want := engine.Content{
		MessageID: "m-2", SessionID: "s0", PartitionKey: "s0", CorrelationID: "c2", Subject: "a", To: "t2", ReplyTo: "r2", ReplyToSessionID: "rs2",
		ContentType: "text/2", TTL: 2 * time.Minute, ScheduledFor: began.Add(62 * time.Second),
	}
	number, err := value.Parse(value.Int, "3")
	if err != nil {
		t.Fatal(err)
	}
	want.Properties = value.Properties{{Name: "k2", Value: number}, {Name: "plain", Value: value.OfString("v")}}
	if d := cmp.Diff(want, c, cmp.AllowUnexported(value.Value{})); d != "" {
		t.Error(d)
	}
	if string(body) != `{"n":2,"of":3}` {
		t.Errorf("the body is %s", body)
	}
}

// A single message is literal unless it is marked as a template, so that a body can contain
// braces.
func TestLiteral(t *testing.T) {
	d := Draft{Subject: "{{n}}", Body: "Dear {{customer}}, {{"}
	c, body, err := compile(t, d).Message(1, began, seed)
	if err != nil || c.Subject != "{{n}}" || string(body) != d.Body || len(c.MessageID) != 36 {
		t.Errorf("%q %q %q %v", c.Subject, body, c.MessageID, err)
	}
	for name, is := range map[string]func(*Draft){
		"asked for": func(d *Draft) { d.Placeholders = true },
		"repeated":  func(d *Draft) { d.Repeat = 2 },
	} {
		d := d
		is(&d)
		_, err := d.Compile()
		if all := FieldErrors(err); len(all) != 1 || all[0].Field != FieldBody {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTimes(t *testing.T) {
	for name, tc := range map[string]struct {
		d    Draft
		n    int64
		want engine.Instant
	}{
		"at once":              {Draft{}, 1, 0},
		"the first of several": {Draft{Repeat: 9, Every: time.Minute}, 1, 0},
		"the third":            {Draft{Repeat: 9, Every: time.Minute}, 3, began.Add(2 * time.Minute)},
		"later":                {Draft{Delay: "5m"}, 1, began.Add(5 * time.Minute)},
		"a delay of nothing":   {Draft{Delay: "0s"}, 1, 0},
		"at a time":            {Draft{ScheduledEnqueueTime: "2026-07-14t10:00:01z"}, 1, engine.At(time.Date(2026, 7, 14, 10, 0, 1, 0, time.UTC))},
		"a time and every":     {Draft{ScheduledEnqueueTime: "{{now+1h}}", Repeat: 2, Every: time.Second}, 2, began.Add(time.Hour + time.Second)},
	} {
		c, _, err := compile(t, tc.d).Message(tc.n, began, seed)
		if err != nil || c.ScheduledFor != tc.want {
			t.Errorf("%s: %v, want %v (%v)", name, c.ScheduledFor, tc.want, err)
		}
	}
}

func TestWrong(t *testing.T) {
	l := engine.DefaultLimits()
	for name, tc := range map[string]struct {
		d     Draft
		field string
		text  string
	}{
		"subject":            {Draft{Subject: "{{x}}", Repeat: 2}, "subject", "does not exist"},
		"session":            {Draft{SessionID: new(string), Repeat: -1}, FieldRepeat, "1 to 100000 times"},
		"too often":          {Draft{Repeat: MaxMessages + 1}, FieldRepeat, "1 to 100000 times"},
		"backwards":          {Draft{Repeat: 2, Every: -1}, FieldEvery, "negative"},
		"ages":               {Draft{Repeat: 2, Every: 1 << 62}, FieldEvery, "too long"},
		"two bodies":         {Draft{Body: "x", Binary: []byte{1}}, FieldBody, "not both"},
		"two times":          {Draft{ScheduledEnqueueTime: "x", Delay: "x"}, FieldDelay, "not both"},
		"property":           {Draft{Properties: []Property{{"a", "", ""}, {"b", "int", "{{pick x|y}}"}}, Placeholders: true}, FieldProperties, "not a value of type int"},
		"property's type":    {Draft{Properties: []Property{{"a", "number", "1"}}}, FieldProperties, "number"},
		"property's name":    {Draft{Properties: []Property{{"", "", "1"}}}, FieldProperties, "needs a name"},
		"time to live":       {Draft{TimeToLive: "{{n}} moons", Repeat: 2}, FieldTTL, "not a duration"},
		"no time to live":    {Draft{TimeToLive: "0s"}, FieldTTL, "greater than zero"},
		"a time to live out": {Draft{TimeToLive: "{{n-900}}s", Repeat: 2}, FieldTTL, "not a duration"},
		"schedule":           {Draft{ScheduledEnqueueTime: "tomorrow"}, FieldSchedule, "not a time"},
		"delay":              {Draft{Delay: "never"}, FieldDelay, "not a duration"},
	} {
		m, err := tc.d.Compile()
		if err == nil {
			err = m.Check(began, seed, l)
		}
		all := FieldErrors(err)
		if len(all) != 1 || all[0].Field != tc.field || !strings.Contains(all[0].Text, tc.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Check covers all repetitions, and the limits.
	m := compile(t, Draft{MessageID: strings.Repeat("x", 126) + "{{n}}", Repeat: 1000})
	if err := m.Check(began, seed, l); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("an id of 129: %v", err)
	}
	if err := compile(t, Draft{MessageID: strings.Repeat("x", 126) + "{{n}}", Repeat: 99}).Check(began, seed, l); err != nil {
		t.Errorf("an id of 128: %v", err)
	}
}

func TestTemplates(t *testing.T) {
	d := Draft{Subject: "s{{n}}", Body: "b", Binary: nil, Repeat: 5, Every: time.Second, Properties: []Property{{"a", "int", "{{n}}"}}}
	s, err := ToSetting("late orders", d)
	if err != nil || s.Key != "template/late orders" {
		t.Fatal(s.Key, err)
	}
	got, err := FromSetting(s)
	if d := cmp.Diff(Template{Name: "late orders", Draft: d}, got); err != nil || d != "" {
		t.Error(d, err)
	}
	for _, name := range []string{"", " a", "a ", "a/b", "a\nb", strings.Repeat("ü", 65), ".", "..", "\xff"} {
		if _, err := ToSetting(name, d); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := ToSetting(strings.Repeat("ü", 64), d); err != nil {
		t.Error(err)
	}
	if _, err := ToSetting("x", Draft{Body: strings.Repeat("x", MaxTemplateBytes)}); !errors.Is(err, engine.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err := ToSetting("x", Draft{Body: "{{", Repeat: 2}); len(FieldErrors(err)) != 1 {
		t.Errorf("wrong: %v", err)
	}
	for _, value := range []string{"", "{}", `{"version":2,"draft":{}}`, `{"version":1,"draft":5}`} {
		if _, err := FromSetting(engine.Setting{Key: "template/x", Value: value}); err == nil {
			t.Errorf("%s was read", value)
		}
	}
	raw, err := json.Marshal(d)
	if err != nil || strings.Contains(string(raw), "sessionId") {
		t.Errorf("%s %v", raw, err)
	}
}
