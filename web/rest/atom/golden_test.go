package atom_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mayfly/engine/broker"
	"mayfly/web/webtest"
)

// TestAnswersAsBefore compares responses byte for byte with the files in testdata: the order of
// elements and their prefixes too.
func TestAnswersAsBefore(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/dest", queue(""))
	w.Want(201, "PUT", "/some/topic", topic("<EnablePartitioning>true</EnablePartitioning><UserMetadata>a &lt;b&gt; &amp; 'c'</UserMetadata>"))
	requests := []struct{ name, method, path, body string }{
		{"queue", "PUT", "/orders?api-version=2021-05", queue("<MaxDeliveryCount>5</MaxDeliveryCount><ForwardTo>sb://host/dest</ForwardTo><ForwardDeadLetteredMessagesTo>dest</ForwardDeadLetteredMessagesTo>" +
			`<AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights><AccessRights>Send</AccessRights><AccessRights>Listen</AccessRights></Rights>` +
			"<CreatedTime>2026-01-02T03:04:05Z</CreatedTime><KeyName>own</KeyName><PrimaryKey>one</PrimaryKey><SecondaryKey>two</SecondaryKey></AuthorizationRule></AuthorizationRules>")},
		{"topic", "GET", "/some/topic", ""},
		{"subscription", "PUT", "/some/topic/Subscriptions/all", subscription("")},
		{"rule-true", "GET", "/some/topic/Subscriptions/all/Rules/$Default", ""},
		{"rule-sql", "PUT", "/some/topic/Subscriptions/all/Rules/sql", rule(`<Filter i:type="SqlFilter"><SqlExpression>a &lt; @a OR b = @ab</SqlExpression><Parameters>` + parameter("@a", "int", "5") + parameter("@ab", "string", " x ") +
			`</Parameters></Filter><Action i:type="SqlRuleAction"><SqlExpression>SET c = @c</SqlExpression><Parameters>` + parameter("@c", "boolean", "true") + `</Parameters></Action>`)},
		{"rule-correlation", "PUT", "/some/topic/Subscriptions/all/Rules/correlation", rule(`<Filter i:type="CorrelationFilter"><ContentType>c</ContentType><CorrelationId>ci</CorrelationId><Label>l</Label><MessageId>m</MessageId>` +
			`<ReplyTo>r</ReplyTo><ReplyToSessionId>rs</ReplyToSessionId><SessionId>s</SessionId><To>t</To><Properties>` + parameter("n", "long", "7") + parameter("f", "double", "0.5") + parameter("at", "dateTime", "2026-01-02T03:04:05Z") + `</Properties></Filter>`)},
		{"rule-false", "PUT", "/some/topic/Subscriptions/all/Rules/false", rule(`<Filter i:type="FalseFilter"/>`)},
		{"rules", "GET", "/some/topic/subscriptions/all/rules/?%24skip=1&%24top=2&api-version=2017-04", ""},
		{"subscriptions", "GET", "/some/topic/Subscriptions?$top=1", ""},
		{"queues", "GET", "/$Resources/queues?$skip=1", ""},
		{"topics-past-the-end", "GET", "/$Resources/Topics?$skip=10&$top=10", ""},
		{"namespace", "GET", "/$namespaceinfo?api-version=2017-04", ""},
		{"error", "GET", "/missing", ""},
	}
	now := regexp.MustCompile(`20[2-9][0-9]-[0-9-]*T[0-9:]*(\.[0-9]{7}Z)?`)
	for _, r := range requests {
		t.Run(r.name, func(t *testing.T) {
			a := w.For(t).Ask(r.method, r.path, r.body)
			got := strings.ReplaceAll(strings.ReplaceAll(a.Body, w.URL, "http://HOST"), "><", ">\n<")
			got = a.Header.Get("Content-Type") + "\n" + now.ReplaceAllStringFunc(got, func(s string) string {
				if strings.HasPrefix(s, "2026-01-02T") {
					return s
				}
				return "NOW"
			}) + "\n"
			webtest.Golden(t, filepath.Join("testdata", r.name+".xml"), got)
		})
	}
}

// parameter returns an element of a list of keys and values.
func parameter(key, kind, text string) string {
	return "<KeyValueOfstringanyType><Key>" + key + `</Key><Value i:type="p:` + kind + `" xmlns:p="http://www.w3.org/2001/XMLSchema">` + text + "</Value></KeyValueOfstringanyType>"
}
