package atom_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/filter"
	"mayfly/engine/value"
	"mayfly/web/webtest"
)

// TestReading checks that a description is read the same whatever the order and the namespace
// prefixes of its elements, and that unknown elements are ignored.
func TestReading(t *testing.T) {
	const bus = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
	want := engine.Config{LockDuration: 30 * time.Second, MaxDeliveryCount: 7, UserMetadata: "a & b"}
	for name, body := range map[string]string{
		"as the service writes it": queue("<LockDuration>PT30S</LockDuration><MaxDeliveryCount>7</MaxDeliveryCount><UserMetadata>a &amp; b</UserMetadata>"),
		"in another order":         queue("<UserMetadata>a &amp; b</UserMetadata><MaxDeliveryCount>7</MaxDeliveryCount><LockDuration>PT30S</LockDuration>"),
		"by prefixes": `<?xml version="1.0" encoding="utf-8"?><ns0:entry xmlns:ns0="http://www.w3.org/2005/Atom" xmlns:ns1="` + bus + `"><ns0:content type="application/xml">
			<ns1:QueueDescription><ns1:LockDuration>PT30S</ns1:LockDuration><ns1:MaxDeliveryCount>7</ns1:MaxDeliveryCount><ns1:UserMetadata>a &#38; b</ns1:UserMetadata></ns1:QueueDescription></ns0:content></ns0:entry>`,
		"without namespaces": "<entry><content><QueueDescription><LockDuration>PT30S</LockDuration><MaxDeliveryCount>7</MaxDeliveryCount><UserMetadata><![CDATA[a & b]]></UserMetadata></QueueDescription></content></entry>",
		"without its entry":  "<QueueDescription><LockDuration>PT30S</LockDuration><MaxDeliveryCount>7</MaxDeliveryCount><UserMetadata>a <!-- and -->&amp; b</UserMetadata></QueueDescription>",
		"with more": queue(`<LockDuration>PT30S</LockDuration><Surprise><LockDuration>PT1S</LockDuration></Surprise><x:MaxDeliveryCount xmlns:x="urn:other">9</x:MaxDeliveryCount><x:MaxDeliveryCount xmlns:x="urn:other">8</x:MaxDeliveryCount>
			<MaxDeliveryCount> 7 </MaxDeliveryCount><UserMetadata>a &amp; b</UserMetadata><MessageCount>5</MessageCount><EntityAvailabilityStatus>Available</EntityAvailabilityStatus>`),
		"with nothing": queue(`<LockDuration>PT30S</LockDuration><ForwardTo i:nil="true"/><AutoDeleteOnIdle i:nil="true">PT1S</AutoDeleteOnIdle><MaxDeliveryCount>7</MaxDeliveryCount>
			<UserMetadata>a &amp; b</UserMetadata><DefaultMessageTimeToLive/><AuthorizationRules/>`),
		"for ever": queue("<LockDuration>PT30S</LockDuration><MaxDeliveryCount>7</MaxDeliveryCount><UserMetadata>a &amp; b</UserMetadata>" +
			"<DefaultMessageTimeToLive>P10675199DT2H48M5.477S</DefaultMessageTimeToLive><AutoDeleteOnIdle>P10675199DT10H48M5.477539S</AutoDeleteOnIdle>"),
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, broker.Options{}, nil)
			a := w.Want(201, "PUT", "/q", body)
			if d := cmp.Diff(want, w.broker.State("q").Config); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
			for _, never := range []string{"DefaultMessageTimeToLive", "AutoDeleteOnIdle"} {
				if element(a, never) != engine.MaxDurationText {
					t.Errorf("%s is %q", never, element(a, never))
				}
			}
		})
	}
}

// TestReadingRefuses checks that a body is refused, with a short error, unless it is XML without a
// document type and within the limits on size, depth and number of elements.
func TestReadingRefuses(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	for name, tc := range map[string]struct{ body, text string }{
		"entities":       {`<!DOCTYPE x [<!ENTITY a "aaaa">]><entry>&a;</entry>`, "document type"},
		"an entity":      {"<entry>&a;</entry>", "is not XML"},
		"too deep":       {strings.Repeat("<a>", 30) + strings.Repeat("</a>", 30), "more than 24 deep"},
		"too many":       {"<a>" + strings.Repeat("<a/>", 20_000) + "</a>", "more than 16384 elements"},
		"too large":      {queue("<UserMetadata>" + strings.Repeat("a", 600_000) + "</UserMetadata>"), "at most 524288 bytes"},
		"two roots":      {"<entry/><entry/>", "more than one element"},
		"another script": {`<?xml version="1.0" encoding="utf-16"?><entry/>`, "is not XML"},
		"not closed":     {"<entry></content>", "is not XML"},
		"a long name":    {"<entry></" + strings.Repeat("a", 100_000), "is not XML"},
		"a long end":     {"<entry></" + strings.Repeat("a", 100_000) + ">", "is not XML"},
	} {
		if a := w.Want(400, "PUT", "/q", tc.body); !strings.Contains(a.Body, tc.text) || !strings.Contains(a.Body, "SubCode=40000.") || len(a.Body) > 500 {
			t.Errorf("%s: %s", name, a.Body)
		}
	}
}

// TestUpdates checks that an update replaces all properties of an entity, except those that are
// fixed at its creation.
func TestUpdates(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/dest", queue(""))
	w.Want(201, "PUT", "/q", queue("<MaxSizeInMegabytes>2048</MaxSizeInMegabytes><RequiresSession>true</RequiresSession><RequiresDuplicateDetection>true</RequiresDuplicateDetection>"+
		"<EnablePartitioning>true</EnablePartitioning><MaxDeliveryCount>7</MaxDeliveryCount><ForwardTo>sb://Host/DEST</ForwardTo><AutoDeleteOnIdle>PT5M</AutoDeleteOnIdle><DefaultMessageTimeToLive>PT1H</DefaultMessageTimeToLive>"))
	contains := func(a webtest.Answer, want map[string]string) {
		t.Helper()
		for name, text := range want {
			if element(a, name) != text {
				t.Errorf("%s is %q, want %q", name, element(a, name), text)
			}
		}
	}
	a := w.Want(200, "GET", "/q", "")
	contains(a, map[string]string{"MaxSizeInMegabytes": "32768", "ForwardTo": "sb://Host/DEST", "AutoDeleteOnIdle": "PT5M", "DefaultMessageTimeToLive": "PT1H", "EnablePartitioning": "true"})
	before := w.broker.State("q").Config
	if a = w.update(200, "/q", a.Body); !w.broker.State("q").Config.Equal(before) { // the response sent back
		t.Errorf("got %+v, want %+v", w.broker.State("q").Config, before)
	}
	for given, want := range map[string]int64{"32768": 2048, "81920": 5120, "16384": 1024, "1024": 1024, "4096": 4096} {
		w.update(200, "/q", queue("<MaxSizeInMegabytes>2048</MaxSizeInMegabytes>"))
		w.update(200, "/q", queue("<MaxSizeInMegabytes>"+given+"</MaxSizeInMegabytes>"))
		if got := w.broker.State("q").Config.MaxMegabytes(); got != want {
			t.Errorf("%s MB became %d", given, got)
		}
	}
	a = w.update(200, "/q", queue(""))
	contains(a, map[string]string{"MaxSizeInMegabytes": "16384", "RequiresSession": "true", "RequiresDuplicateDetection": "true", "EnablePartitioning": "true", "MaxDeliveryCount": "10", "ForwardTo": "", "AutoDeleteOnIdle": engine.MaxDurationText})
	w.Want(400, "PUT", "/larger", queue("<EnablePartitioning>true</EnablePartitioning><MaxSizeInMegabytes>16384</MaxSizeInMegabytes>"))
	contains(w.update(200, "/q", queue("<ForwardTo>dest</ForwardTo>")), map[string]string{"ForwardTo": "dest"})
}

// TestValues checks that a value of a rule is stored with the type that its XML names, and returned
// with that type.
func TestValues(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/t", topic(""))
	w.Want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	const xsd, ser = ` xmlns:p="http://www.w3.org/2001/XMLSchema"`, ` xmlns:p="http://schemas.microsoft.com/2003/10/Serialization/"`
	for name, tc := range map[string]struct {
		value string // the XML element
		want  value.Value
		text  string
	}{
		"string":           {`<Value i:type="p:string"` + xsd + `> a </Value>`, value.OfString(" a "), `i:type="d6p1:string"> a <`},
		"empty":            {`<Value i:type="p:string"` + xsd + `/>`, value.OfString(""), `i:type="d6p1:string"/>`},
		"int":              {`<Value i:type="p:int"` + xsd + `>-5</Value>`, value.OfInt(-5), `i:type="d6p1:int">-5<`},
		"a large int":      {`<Value i:type="p:int"` + xsd + `>1099511627776</Value>`, value.OfLong(1 << 40), `i:type="d6p1:long">1099511627776<`},
		"long":             {`<Value i:type="p:long"` + xsd + `>5</Value>`, value.OfLong(5), `i:type="d6p1:long">5<`},
		"short":            {`<Value i:type="p:short"` + xsd + `>5</Value>`, value.OfShort(5), `i:type="d6p1:short">5<`},
		"unsignedLong":     {`<Value i:type="p:unsignedLong"` + xsd + `>18446744073709551615</Value>`, value.OfULong(1<<64 - 1), `i:type="d6p1:unsignedLong">18446744073709551615<`},
		"double":           {`<Value i:type="p:double"` + xsd + `>1.500000</Value>`, value.OfDouble(1.5), `i:type="d6p1:double">1.5<`},
		"float":            {`<Value i:type="p:float"` + xsd + `>0.1</Value>`, value.OfFloat(0.1), `i:type="d6p1:float">0.1<`},
		"infinite":         {`<Value i:type="p:double"` + xsd + `>-INF</Value>`, value.OfDouble(math.Inf(-1)), `i:type="d6p1:double">-INF<`},
		"boolean":          {`<Value i:type="p:boolean"` + xsd + `>True</Value>`, value.OfBool(true), `i:type="d6p1:boolean">true<`},
		"dateTime":         {`<Value i:type="p:dateTime"` + xsd + `>2026-01-02T03:04:05.678+01:00</Value>`, value.OfTimestamp(1767319445678), `i:type="d6p1:dateTime">2026-01-02T02:04:05.6780000Z<`},
		"no zone":          {`<Value i:type="p:dateTime"` + xsd + `>2026-01-02T02:04:05.678</Value>`, value.OfDateTime(639029162456780000, false), `i:type="d6p1:dateTime">2026-01-02T02:04:05.6780000<`},
		"guid":             {`<Value i:type="p:guid"` + ser + `>00112233-4455-6677-8899-aabbccddeeff</Value>`, value.OfUUID([16]byte{0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}), `i:type="d6p1:guid">00112233-4455-6677-8899-aabbccddeeff<`},
		"by xsi":           {`<Value xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="l28:int" xmlns:l28="http://www.w3.org/2001/XMLSchema">5</Value>`, value.OfInt(5), ""},
		"declared outside": {`<Value i:type="outer:int">5</Value>`, value.OfInt(5), ""},
		"by default":       {`<Value i:type="int" xmlns="http://www.w3.org/2001/XMLSchema">5</Value>`, value.Value{}, "needs a unique name"}, // it is not a Value of Service Bus
		"undeclared":       {`<Value i:type="d6p1:int">5</Value>`, value.OfInt(5), ""},
		"undeclared, both": {`<Value p4:type="d6p1:int">5</Value>`, value.OfInt(5), ""},
		"no type":          {`<Value>5</Value>`, value.OfString("5"), ""},
		"another type":     {`<Value i:type="p:int" xmlns:p="urn:other">5</Value>`, value.Value{}, "is not an XML Schema type"},
		"no such type":     {`<Value i:type="p:colour"` + xsd + `>5</Value>`, value.Value{}, "values of the type 'colour'"},
		"no int":           {`<Value i:type="p:int"` + xsd + `>x</Value>`, value.Value{}, "'n': "},
		"no bytes":         {`<Value i:type="p:base64Binary"` + xsd + `>?</Value>`, value.Value{}, "is not base64"},
		"no duration":      {`<Value i:type="p:duration"` + xsd + `>soon</Value>`, value.Value{}, "'n': "},
		"no time":          {`<Value i:type="p:dateTime"` + xsd + `>noon</Value>`, value.Value{}, "is not a dateTime"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{w.For(t), w.broker.For(t)}
			name := strings.NewReplacer(" ", "-", ",", "").Replace(name)
			at := "/t/Subscriptions/s/Rules/" + name
			body := rule(`<Filter i:type="CorrelationFilter"><Properties xmlns:outer="http://www.w3.org/2001/XMLSchema"><KeyValueOfstringanyType><Key>n</Key>` + tc.value + `</KeyValueOfstringanyType></Properties></Filter>`)
			if tc.want == (value.Value{}) {
				if a := w.Want(400, "PUT", at, body); !strings.Contains(a.Body, tc.text) {
					t.Errorf("got %s", a.Body)
				}
				return
			}
			a := w.Want(201, "PUT", at, body)
			if got := w.condition(name); got != tc.want {
				t.Errorf("got %v %v, want %v %v", got.Kind(), got, tc.want.Kind(), tc.want)
			}
			if !strings.Contains(a.Body, tc.text) {
				t.Errorf("the value is written as %s", a.Body)
			}
		})
	}
}

// condition returns the value that the rule called name requires of the property n.
func (w *world) condition(name string) value.Value {
	w.Helper()
	for _, r := range w.broker.State("t/Subscriptions/s").Rules {
		if r.Name != name {
			continue
		}
		c, err := filter.ParseCorrelation(r.Filter.Text)
		if err != nil {
			w.Fatal(err)
		}
		v, _ := c.Properties.Lookup("n")
		return v
	}
	w.Fatalf("rule %q is missing", name)
	return value.Value{}
}
