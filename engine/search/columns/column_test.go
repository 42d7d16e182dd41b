package columns_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/search"
	"mayfly/engine/search/columns"
	"mayfly/engine/value"
)

func TestColumnsAreRead(t *testing.T) {
	for text, want := range map[string]string{ // the column's String; empty if the text is refused
		"subject":                          "subject",
		" seq ":                            "seq",
		"prop.region":                      "prop.region",
		"prop.a b,c":                       "prop.a b,c",
		"prop.":                            "",
		"json.customer.id":                 "json.customer.id",
		"json.a[0].b":                      "json.a[0].b",
		"json[1]":                          "json[1]",
		`json."a.b"`:                       `json."a.b"`,
		`json."plain"`:                     "json.plain",
		"json.":                            "",
		"json":                             "",
		"json.a..b":                        "",
		"json.a[":                          "",
		"Subject":                          "",
		"":                                 "",
		"colour":                           "",
		"prop.a\x00b":                      "",
		"prop.\u202eb":                     "",
		"prop." + strings.Repeat("x", 195): "prop." + strings.Repeat("x", 195),
		"prop." + strings.Repeat("x", 196): "",
	} {
		c, err := columns.Parse(text)
		if err != nil && !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%q: %v", text, err)
		}
		if c.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q is %q, %v; want %q", text, c, err, want)
		}
		if err != nil {
			continue
		}
		if again, err := columns.Parse(c.String()); again != c || err != nil {
			t.Errorf("%q reads back as %q, %v", c, again, err)
		}
	}
	for _, f := range columns.Fields() {
		if c, err := columns.Parse(f); err != nil || c.NeedsBody() {
			t.Errorf("%s: %v, body %v", f, err, c.NeedsBody())
		}
	}
}

func TestColumnsTogether(t *testing.T) {
	many := make([]string, columns.MaxColumns+1)
	for i := range many {
		many[i] = fmt.Sprint("prop.p", i)
	}
	for name, tc := range map[string]struct {
		texts []string
		well  bool
	}{
		"none":                       {nil, true},
		"as many as may be":          {many[1:], true},
		"one too many":               {many, false},
		"one twice":                  {[]string{"seq", "subject", "seq"}, false},
		"twice, written in two ways": {[]string{"json.a", `json."a"`}, false},
		"one that is none":           {[]string{"seq", "nothing"}, false},
	} {
		if all, err := columns.ParseAll(tc.texts); (err == nil) != tc.well || tc.well && len(all) != len(tc.texts) {
			t.Errorf("%s: %v, %v", name, all, err)
		}
	}
}

// at is the current time in these tests.
const at = engine.Instant(1_000_000)

func TestValues(t *testing.T) {
	content := engine.Content{
		MessageID: "m-1", SessionID: "s", CorrelationID: "c", Subject: "order", To: "there", ReplyTo: "back", ReplyToSessionID: "rs", PartitionKey: "pk",
		ContentType: "application/json", BodySize: 100, Preview: "{...",
		Properties: value.Properties{
			{Name: "region", Value: value.OfString("eu")}, {Name: "price", Value: value.OfDouble(12.5)}, {Name: "big", Value: value.OfLong(9007199254740993)},
			{Name: "when", Value: value.OfTimestamp(1_752_487_452_000)}, {Name: "ok", Value: value.OfBool(true)}, {Name: "far", Value: value.OfTimestamp(-1 << 62)},
		},
	}
	row := engine.Row{
		Path: "orders", Expires: at + 5, Lock: engine.Lock{By: "10.0.0.7", Since: at - 9, Renewals: 3, RenewedAt: at - 4}, Content: content.Pack(),
		Message: engine.Message{Key: 77, Seq: 5, EnqueuedSeq: 3, EnqueuedAt: at - 10, DeliveryCount: 2, LockedUntil: at + 1, Nonce: 1},
	}
	dead := row
	dead.Path = engine.Path("orders").DeadLetter()
	dead.Message.LockedUntil = 0
	dead.Message.Extra = &engine.Extra{Reason: "unpaid", Description: "so it is", DeadAt: at - 1, DeferredAt: at - 2, By: "ann", To: "on"}
	free := row
	free.Message.LockedUntil = at // the lock has expired: intervals are half-open
	later := engine.Row{Path: "orders", Message: engine.Message{State: engine.Scheduled, ScheduledFor: at + 9}, Content: engine.Content{}.Pack()}
	body := []byte(`{"customer":{"id":9007199254740993.10,"name":"A\u00e9"},"list":[1,{"x":null}],"t":true,"neg":-1,"o":{}}`)
	text := func(s string) columns.Value { return columns.Value{Kind: columns.Text, Text: s} }
	number := func(s string) columns.Value { return columns.Value{Kind: columns.Number, Text: s} }
	moment := func(i engine.Instant) columns.Value { return columns.Value{Kind: columns.Moment, At: i} }
	for _, tc := range []struct {
		column string
		row    engine.Row
		want   columns.Value
	}{
		{"state", row, text("locked")},
		{"state", free, text("active")},
		{"state", dead, text("dead")},
		{"state", later, text("scheduled")},
		{"ttl", row, moment(at + 5)},
		{"expires", later, columns.Value{}},
		{"due", later, moment(at + 9)},
		{"scheduled", row, columns.Value{}},
		{"lock", row, moment(at + 1)},
		{"lock", free, columns.Value{}},
		{"holder", row, text("10.0.0.7")},
		{"locked-since", row, moment(at - 9)},
		{"locked-since", later, columns.Value{}},
		{"renewals", row, number("3")},
		{"renewals", later, columns.Value{}},
		{"renewed", row, moment(at - 4)},
		{"seq", row, number("5")},
		{"enqueued-seq", row, number("3")},
		{"message", row, text("order")},
		{"message", later, columns.Value{}},
		{"subject", row, text("order")},
		{"id", row, text("m-1")},
		{"correlation", row, text("c")},
		{"session", row, text("s")},
		{"to", row, text("there")},
		{"reply-to", row, text("back")},
		{"reply-to-session", row, text("rs")},
		{"partition", row, text("pk")},
		{"type", row, text("application/json")},
		{"body", row, text("{...")},
		{"delivery", row, number("2")},
		{"enqueued", row, moment(at - 10)},
		{"entity", dead, text("orders/$DeadLetterQueue")},
		{"key", row, text("77")},
		{"reason", dead, text("unpaid")},
		{"reason", row, columns.Value{}},
		{"error", dead, text("so it is")},
		{"source", dead, text("orders")},
		{"source", row, columns.Value{}},
		{"for", dead, text("on")},
		{"dead-lettered", dead, moment(at - 1)},
		{"deferred", dead, moment(at - 2)},
		{"by", dead, text("ann")},
		{"prop.region", row, text("eu")},
		{"prop.REGION", row, text("eu")},
		{"prop.price", row, number("12.5")},
		{"prop.big", row, number("9007199254740993")},
		{"prop.when", row, moment(1_752_487_452_000)},
		{"prop.ok", row, text("true")},
		{"prop.nothing", row, columns.Value{}},
		{"prop.DeadLetterReason", dead, text("unpaid")},          // as a receiver sees it (TTL-27)
		{"json.customer.id", row, number("9007199254740993.10")}, // the digits as sent
		{"json.customer.name", row, text("Aé")},
		{"json.list[0]", row, number("1")},
		{"json.list[1].x", row, text("null")},
		{"json.list[*]", row, number("1")},
		{"json.list[2]", row, columns.Value{}},
		{"json.t", row, text("true")},
		{"json.neg", row, number("-1")},
		{"json.o", row, text("{}")},
		{"json.nobody", row, columns.Value{}},
	} {
		c, err := columns.Parse(tc.column)
		if err != nil {
			t.Errorf("%s: %v", tc.column, err)
			continue
		}
		if got := c.Value(tc.row, at, body); got != tc.want {
			t.Errorf("%s is %+v, not %+v", tc.column, got, tc.want)
		}
	}
	if c, err := columns.Parse("prop.far"); err != nil || c.Value(row, at, nil).Kind != columns.Text {
		t.Errorf("a local time that does not exist: %+v, %v", c.Value(row, at, nil), err)
	}
	c, err := columns.Parse("json.a")
	if err != nil {
		t.Fatal(err)
	}
	pad := func(n int) []byte { return append([]byte(`{"a":1}`), strings.Repeat(" ", n-7)...) }
	for name, tc := range map[string]struct {
		body []byte
		kind engine.BodyKind
		want columns.Value
	}{
		"the longest":          {pad(columns.MaxBody), engine.DataBody, number("1")},
		"longer":               {pad(columns.MaxBody + 1), engine.DataBody, columns.Value{}},
		"none":                 {nil, engine.DataBody, columns.Value{}},
		"no JSON":              {[]byte(`{"a":1`), engine.DataBody, columns.Value{}},
		"a list":               {[]byte(`[{"a":1}]`), engine.DataBody, columns.Value{}},
		"in a text of AMQP":    {append([]byte{0xa1, 7}, `{"a":1}`...), engine.ValueBody, number("1")},
		"a sequence of AMQP's": {[]byte(`{"a":1}`), engine.SequenceBody, columns.Value{}},
		"very deep":            {[]byte(`{"a":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}"), engine.DataBody, columns.Value{}},
	} {
		r := engine.Row{Path: "orders", Content: engine.Content{BodyKind: tc.kind, BodySize: int64(len(tc.body))}.Pack()}
		if got := c.Value(r, at, tc.body); got != tc.want {
			t.Errorf("%s: %+v, not %+v", name, got, tc.want)
		}
	}
}

// The paths of a document's leaves lead to their values.
func TestLeaves(t *testing.T) {
	doc := []byte(` {"a":1,"b":{"c d":[1],"e.f":"x","":{"g":null}},"h":[],"i":{"1":{"2":{"3":{"4":{"5":{"6":7}}}}},"z":false}}`)
	var got []string
	for _, p := range search.LeafPaths(doc, 40) {
		got = append(got, p.String())
		if _, ok := p.First(doc); !ok {
			t.Errorf("nothing is at %s", p)
		}
	}
	if want := []string{"a", `b."e.f"`, `b."".g`, "i.z"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
	if got := search.LeafPaths(doc, 2); len(got) != 2 {
		t.Errorf("%d of two", len(got))
	}
	for _, doc := range []string{"1", `"x"`, "[1]", "{}"} {
		if got := search.LeafPaths([]byte(doc), 9); len(got) != 0 {
			t.Errorf("%s has %v", doc, got)
		}
	}
}

// FuzzColumn checks that a parsed column, when formatted, parses to the same column, and that
// no column has a value for a body that is too long.
func FuzzColumn(f *testing.F) {
	for _, text := range []string{"subject", "prop.x", "json.a[0].b", `json."x y"`, "json[*]"} {
		f.Add(text, []byte(`{"a":[{"b":1}]}`))
	}
	f.Fuzz(func(t *testing.T, text string, body []byte) {
		c, err := columns.Parse(text)
		if err != nil {
			return
		}
		if again, err := columns.Parse(c.String()); err != nil || again != c {
			t.Fatalf("%q reads back as %q, %v", c, again, err)
		}
		c.Value(engine.Row{Path: "q", Content: engine.Content{BodySize: int64(len(body))}.Pack()}, engine.At(time.Unix(9, 0)), body)
	})
}
