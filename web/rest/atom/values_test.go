package atom_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
)

// The clients whose value types differ, by their User-Agent.
var agents = []struct{ language, agent string }{
	{"go", "azsdk-go-azservicebus/v1.11.0 (go1.26.8; linux)"},
	{"js", "app azsdk-js-azureservicebus/7.9.5 core-rest-pipeline/1.22.0 Node/22.0.0 OS/(x64-Linux-6.1)"},
	{"net", "azsdk-net-Messaging.ServiceBus/7.21.0 (.NET 10.0.12; Debian GNU/Linux 12)"},
	{"python", "azsdk-python-servicebusmanagementclient/7.15.0 Python/3.11.2 (Linux)"},
	{"java", "azsdk-java-azure-messaging-servicebus/7.17.20 (17.0.1; Linux; 6.1)"},
	{"serializer", "Microsoft.ServiceBus/6.2.2"}, // .NET's DataContractSerializer, as in WindowsAzure.ServiceBus
}

// FILT-32: a value of each type that a client's SDK can write comes back to it with the
// same type and value, and to the other languages as a type that their SDKs can read.
func TestValuesComeBack(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/t", topic(""))
	w.Want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	const few, common = "go js", "go js net python java"
	rows := []struct {
		kind, text string
		by         string // the languages that write the type; they get back the same type and text
		back       string // the text that they get back; empty if it is text
		others     string // type and text that the other languages get
	}{
		{"string", " a <b> & \"c\" ü", common + " serializer", "", ""},
		{"string", "", common + " serializer", "", ""},
		{"boolean", "true", common + " serializer", "", ""},
		{"boolean", "0", "serializer", "false", "boolean false"},
		{"int", "-2147483648", common + " serializer", "", ""},
		{"int", "12345678901", "go", "", ""}, // not an xs:int, and only Go's client writes it: see below
		{"double", "12345678901", "js", "1.2345678901e+10", ""},
		{"double", "1.500000", common, "1.5", ""},
		{"double", "-0", common, "", ""},
		{"double", "INF", "net serializer", "", ""},
		{"double", "NaN", "net serializer", "", ""},
		{"long", "3", "net python serializer", "", "int 3"},
		{"long", "12345678901", "net python serializer", "", "int 12345678901"},
		{"long", "-9223372036854775808", "net python serializer", "", "int -9223372036854775808"},
		{"dateTime", "2026-02-03T04:05:06.1234567Z", common + " serializer", "", ""},
		{"dateTime", "2026-02-03T04:05:06.123456789Z", "go", "2026-02-03T04:05:06.1234567Z", ""},
		{"dateTime", "2026-02-03T04:05:06.123Z", common + " serializer", "2026-02-03T04:05:06.1230000Z", ""},
		{"dateTime", "2026-02-03T04:05:06", "net python serializer", "2026-02-03T04:05:06.0000000", "dateTime 2026-02-03T04:05:06.0000000Z"},
		{"dateTime", "2026-02-03T04:05:06.1234567", "net serializer", "", "dateTime 2026-02-03T04:05:06.1234567Z"},
		{"dateTime", "2026-02-03T04:05:06.1234567+02:00", "net serializer", "2026-02-03T02:05:06.1234567Z", ""},
		{"dateTime", "9999-12-31T23:59:59.9999999", "net serializer", "", "dateTime 9999-12-31T23:59:59.9999999Z"},
		{"dateTime", "0001-01-01T00:00:00", "net serializer", "0001-01-01T00:00:00.0000000", ""},
		{"DateTimeOffset", "2026-02-03T04:05:06.1234567Z 0", "serializer", "", "dateTime 2026-02-03T04:05:06.1234567Z"},
		{"DateTimeOffset", "2026-02-03T04:05:06Z 120", "serializer", "2026-02-03T04:05:06.0000000Z 0", "dateTime 2026-02-03T04:05:06.0000000Z"},
		{"DateTimeOffset", "2026-02-03T04:05:06.1234567 -330", "serializer", "2026-02-03T09:35:06.1234567Z 0", "dateTime 2026-02-03T09:35:06.1234567Z"},
		{"DateTimeOffset", "0001-01-01T00:00:00Z 0", "serializer", "", "dateTime 0001-01-01T00:00:00Z"},
		{"DateTimeOffset", "9999-12-31T23:59:59.9999999Z 840", "serializer", "9999-12-31T23:59:59.9999999Z 0", "dateTime 9999-12-31T23:59:59.9999999Z"},
		{"duration", "P1D", "net python serializer", "", "string 1.00:00:00"},
		{"duration", "PT0S", "net python serializer", "", "string 00:00:00"},
		{"duration", "-P1DT2H3M4.5S", "net python serializer", "", "string -1.02:03:04.5"},
		{"duration", "P10675199DT2H48M5.4775807S", "net serializer", "", "string 10675199.02:48:05.4775807"},
		{"duration", "PT48H", "net", "P2D", ""},
		{"duration", "P1Y1M", "python", "P395D", ""}, // .NET's days for years and months
		{"byte", "-128", "serializer", "", "int -128"},
		{"unsignedByte", "255", "serializer", "", "int 255"},
		{"short", "-3", "serializer", "", "int -3"},
		{"unsignedShort", "65535", "serializer", "", "int 65535"},
		{"unsignedInt", "3", "serializer", "", "int 3"},
		{"unsignedLong", "3", "serializer", "", "int 3"},
		{"unsignedLong", "18446744073709551615", "serializer", "", "string 18446744073709551615"},
		{"float", "0.1", "serializer", "", "double 0.1"},
		{"decimal", "12.50", "serializer", "", "double 12.50"},
		{"decimal", "79228162514264337593543950335", "serializer", "", "double 79228162514264337593543950335"},
		{"decimal", "0.0000000000000000000000000001", "serializer", "", "double 0.0000000000000000000000000001"},
		{"guid", "00112233-4455-6677-8899-aabbccddeeff", "serializer", "", "string 00112233-4455-6677-8899-aabbccddeeff"},
		{"char", "38", "serializer", "", "string &"},
		{"anyURI", "https://host/a", "serializer", "", "string https://host/a"},
		{"base64Binary", "AAEC", "serializer", "", "string AAEC"},
	}
	for i, r := range rows {
		t.Run("FILT-32 "+r.kind+" "+r.text, func(t *testing.T) {
			w := w.For(t)
			back := r.back
			if back == "" {
				back = r.text
			}
			value := `<KeyValueOfstringanyType><Key>@v</Key><Value i:type="p:` + r.kind + `" xmlns:p="` + spaceOf(r.kind) + `">` + inside("p", r.kind, r.text) + `</Value></KeyValueOfstringanyType>`
			at := fmt.Sprintf("/t/Subscriptions/s/Rules/%d", i)
			w.Want(201, "PUT", at+"c", rule(`<Filter i:type="CorrelationFilter"><Properties>`+value+`</Properties></Filter>`))
			w.Want(201, "PUT", at+"p", rule(`<Filter i:type="SqlFilter"><SqlExpression>x = @v</SqlExpression><Parameters>`+value+`</Parameters></Filter>`))
			w.Want(201, "PUT", at+"a", rule(`<Filter i:type="TrueFilter"/><Action i:type="SqlRuleAction"><SqlExpression>SET x = @v</SqlExpression><Parameters>`+value+`</Parameters></Action>`))
			for _, a := range agents {
				kind, text := r.kind, back
				if !strings.Contains(r.by, a.language) {
					if r.others == "" {
						continue
					}
					if kind, text, _ = strings.Cut(r.others, " "); a.language == "serializer" || strings.Contains("net python java", a.language) && (r.kind == "long" || r.kind == "dateTime" || r.kind == "duration") {
						kind, text = r.kind, back // a language that reads the type but does not write it
					}
					if r.kind == "unsignedLong" && r.text == "3" && strings.Contains("net python java", a.language) {
						kind = "int"
					}
				}
				want := `<Value xmlns:d6p1="` + spaceOf(kind) + `" i:type="d6p1:` + kind + `">` + inside("d6p1", kind, text) + `</Value>`
				if text == "" {
					want = `<Value xmlns:d6p1="` + spaceOf(kind) + `" i:type="d6p1:` + kind + `"/>`
				}
				for _, rule := range []string{"c", "p", "a"} {
					if got := w.Want(200, "GET", at+rule, "", "User-Agent", a.agent); !strings.Contains(got.Body, want) {
						_, have, _ := strings.Cut(got.Body, "<Key>@v</Key>")
						have, _, _ = strings.Cut(have, "</KeyValue")
						t.Errorf("%s in %s: got %s, want %s", a.language, rule, have, want)
					}
				}
			}
		})
	}
}

// spaceOf returns the XML namespace of a value's type.
func spaceOf(kind string) string {
	switch kind {
	case "duration", "guid", "char":
		return "http://schemas.microsoft.com/2003/10/Serialization/"
	case "DateTimeOffset":
		return "http://schemas.datacontract.org/2004/07/System"
	default:
		return "http://www.w3.org/2001/XMLSchema"
	}
}

// inside returns the XML content of a value's element. A DateTimeOffset, given as time and minutes
// separated by a space, becomes two elements.
func inside(prefix, kind, text string) string {
	text = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	if kind != "DateTimeOffset" {
		return text
	}
	at, minutes, _ := strings.Cut(text, " ")
	return "<" + prefix + ":DateTime>" + at + "</" + prefix + ":DateTime><" + prefix + ":OffsetMinutes>" + minutes + "</" + prefix + ":OffsetMinutes>"
}

// FILT-32: a DateTimeOffset equals the same moment in a message, of whatever type. One
// that .NET could not have written is refused.
func TestFILT_32_DateTimeOffset(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/t", topic(""))
	w.Want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	put := func(status int, name, inside string) {
		t.Helper()
		v := `<KeyValueOfstringanyType><Key>v</Key><Value i:type="d:DateTimeOffset" xmlns:d="` + spaceOf("DateTimeOffset") + `">` + inside + `</Value></KeyValueOfstringanyType>`
		w.Want(status, "PUT", "/t/Subscriptions/s/Rules/"+name, rule(`<Filter i:type="CorrelationFilter"><Properties>`+v+`</Properties></Filter>`))
	}
	w.Want(200, "DELETE", "/t/Subscriptions/s/Rules/$Default", "")
	put(201, "r", inside("d", "DateTimeOffset", "2026-02-03T04:05:06Z 120"))
	for i, bad := range []string{"", "soon 0", "2026-02-03T04:05:06Z 841", "2026-02-03T04:05:06Z -841", "2026-02-03T04:05:06Z x", "2026-02-03T04:05:06Z 1.5", "0001-01-01T00:00:00 840", "9999-12-31T23:59:59 -840"} {
		put(400, fmt.Sprint("bad", i), inside("d", "DateTimeOffset", bad))
	}
	put(400, "none", "2026-02-03T04:05:06Z")
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	const ticks = 639_056_883_060_000_000
	for i, v := range []struct {
		of      value.Value
		matches bool
	}{
		{value.OfTimestamp(at.UnixMilli()), true}, {value.OfDateTimeOffset(ticks), true}, {value.OfDateTimeOffset(ticks + 1), false},
		{value.OfTimestamp(at.Add(2 * time.Hour).UnixMilli()), false}, {value.OfString("2026-02-03T04:05:06Z"), false},
	} {
		had := w.broker.State("t/Subscriptions/s").Counts.Active
		w.broker.SendMessages("t", broker.Outgoing{Content: engine.Content{Properties: value.Properties{{Name: "v", Value: v.of}}}})
		if matched := w.broker.State("t/Subscriptions/s").Counts.Active > had; matched != v.matches {
			t.Errorf("%d: %v matches: %v", i, v.of, matched)
		}
	}
}

// A whole number beyond 32 bits is returned as long to clients that would fail to read it as int.
func TestFILT_32_LargeNumbers(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/t", topic(""))
	w.Want(201, "PUT", "/t/Subscriptions/s", subscription(""))
	w.Want(201, "PUT", "/t/Subscriptions/s/Rules/r", rule(`<Filter i:type="SqlFilter"><SqlExpression>x = @v</SqlExpression><Parameters>`+parameter("@v", "int", "12345678901")+`</Parameters></Filter>`))
	for _, a := range agents {
		kind := "long"
		if a.language == "go" || a.language == "js" {
			kind = "int"
		}
		if got := w.Want(200, "GET", "/t/Subscriptions/s/Rules", "", "User-Agent", a.agent); !strings.Contains(got.Body, `i:type="d6p1:`+kind+`">12345678901<`) {
			t.Errorf("%s gets %s", a.language, got.Body)
		}
	}
}
