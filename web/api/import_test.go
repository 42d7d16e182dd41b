package api

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/exchange"
)

const (
	lateLine    = `{"messageId":"late","sessionId":"s","scheduledEnqueueTime":"2020-01-01T00:00:00Z"}` + "\n"
	expiredLine = `{"sessionId":"s","timeToLive":"PT1H","system":{"key":"1","path":"q","sequenceNumber":1,"enqueuedSequenceNumber":1,"state":"active","enqueuedTime":"2020-01-01T00:00:00Z","expiresAt":"2020-01-01T01:00:00Z","deliveryCount":0,"size":0,"exportedAt":"2020-01-01T00:00:00Z"}}` + "\n"
	manyLine    = `{"sessionId":"s","bodyParts":2}` + "\n" + `{"part":"Mg=="}` + "\n" + `{"part":"Mg=="}` + "\n"
)

// TestImportDryRun: a dry run predicts the outcome of an import, and changes nothing.
func TestImportDryRun(t *testing.T) {
	for name, tc := range map[string]struct {
		properties, ask, lines string
		want                   ImportPreview
	}{
		"as it should be": {`{}`, "", `{"body":"12"}` + "\n\n" + manyLine, ImportPreview{Lines: 2, Messages: 2}},
		"MSG-9":           {`{"RequiresSession":true}`, "", `{"sessionId":""}` + "\n" + `{"body":"1"}`, ImportPreview{Lines: 2, Messages: 1, Refused: 1, Failures: []ImportFailure{{Line: 2, Code: "InvalidOperation"}}}},
		"too large for it": {`{}`, "", `{"body":"` + strings.Repeat("x", 300<<10) + `"}` + "\n" + `{"body":"1"}`,
			ImportPreview{Lines: 2, Messages: 1, Refused: 1, Failures: []ImportFailure{{Line: 1, Code: "MessageSizeExceeded"}}}},
		"too large in parts": {`{}`, "", `{"bodyParts":1}` + "\n" + `{"part":"` + strings.Repeat("AAAA", 100<<10) + `"}` + "\n" + `{"body":"1"}`,
			ImportPreview{Lines: 2, Messages: 1, Refused: 1, Failures: []ImportFailure{{Line: 1, Code: "MessageSizeExceeded"}}}},
		"an id that is too long": {`{}`, "", `{"messageId":"` + strings.Repeat("x", 129) + `"}`, ImportPreview{Lines: 1, Refused: 1, Failures: []ImportFailure{{Line: 1, Code: "Argument"}}}},
		"unreadable": {`{}`, "&unreadable=skip", `{"timeToLive":"soon"}` + "\n" + `{"body":"1"}` + "\n" + `{"bodyBase64":"!"}` + "\n" + `{"bodyParts":2}` + "\n" + `{"part":"!"}` + "\n",
			ImportPreview{Lines: 4, Messages: 1, Unreadable: 3, Failures: []ImportFailure{{Line: 1, Code: "Argument"}, {Line: 3, Code: "Argument"}, {Line: 5, Code: "Argument"}}}},
		"a line that is too long": {`{}`, "&unreadable=skip", `{"body":"1"}` + "\n" + `{"body":"` + strings.Repeat("x", exchange.MaxLine) + `"}` + "\n" + `{"body":"2"}`,
			ImportPreview{Lines: 3, Messages: 2, Unreadable: 1, Failures: []ImportFailure{{Line: 2, Code: "MessageSizeExceeded"}}}},
		"SCH-2, of the past":      {`{}`, "", lateLine, ImportPreview{Lines: 1, Messages: 1, ScheduledPast: 1}},
		"SCH-2":                   {`{}`, "", strings.Replace(lateLine, "2020", "2090", 1), ImportPreview{Lines: 1, Messages: 1, Scheduled: 1}},
		"a schedule dropped":      {`{}`, "&schedule=drop", lateLine, ImportPreview{Lines: 1, Messages: 1}},
		"nothing left of it":      {`{}`, "&ttl=remaining", expiredLine, ImportPreview{Lines: 1, Expired: 1}},
		"its time begins anew":    {`{}`, "", expiredLine, ImportPreview{Lines: 1, Messages: 1}},
		"TTL-8":                   {`{}`, "", `{"timeToLive":"-PT1S"}`, ImportPreview{Lines: 1, Messages: 1, ExpireAtOnce: 1}},
		"no times":                {`{}`, "&ttl=remaining&unreadable=skip", `{}`, ImportPreview{Lines: 1, Unreadable: 1, Failures: []ImportFailure{{Line: 1, Code: "Argument"}}}},
		"DUP-2":                   {`{"RequiresDuplicateDetection":true}`, "", strings.Repeat(`{"messageId":"a"}`+"\n", 3), ImportPreview{Lines: 3, Messages: 3, Duplicates: 2}},
		"DUP-2, of several turns": {`{"RequiresDuplicateDetection":true}`, "", strings.Repeat(`{"messageId":"a"}`+"\n", 3*exchange.BatchMessages), ImportPreview{Lines: 3 * exchange.BatchMessages, Messages: 3 * exchange.BatchMessages, Duplicates: 3*exchange.BatchMessages - 1}},
		"other ids":               {`{"RequiresDuplicateDetection":true}`, "&ids=new", strings.Repeat(`{"messageId":"a"}`+"\n", 3), ImportPreview{Lines: 3, Messages: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, broker.Options{})
			w.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":`+tc.properties+`}`, nil)
			before := w.everything()
			var got ImportPreview
			w.want(200, "POST", "/import/q?dryRun=true"+tc.ask, tc.lines, &got)
			for i := range got.Failures {
				if got.Failures[i].Detail == "" {
					t.Errorf("the preview has no reason for %+v", got.Failures[i])
				}
				got.Failures[i].Detail = ""
			}
			if (got.Bytes == 0) != (got.Messages == 0) {
				t.Errorf("%d messages have %d bytes", got.Messages, got.Bytes)
			}
			got.Bytes = 0
			if d := gocmp.Diff(tc.want, got); d != "" {
				t.Errorf("preview (-want +got):\n%s", d)
			}
			if after := w.everything(); after != before {
				t.Errorf("the dry run changed %s\nto %s", before, after)
			}
			var done Imported
			w.want(200, "POST", "/import/q?ttl=keep"+strings.Replace(tc.ask, "&ttl=remaining", "", 1), tc.lines, nil)
			if strings.Contains(tc.ask, "ttl=") {
				return
			}
			fresh := start(t, broker.Options{})
			fresh.want(201, "POST", "/entities", `{"kind":"queue","path":"q","properties":`+tc.properties+`}`, nil)
			fresh.want(200, "POST", "/import/q?ids=keep"+strings.Replace(tc.ask, "&ids=new", "", 1), tc.lines, &done)
			if tc.ask != "&ids=new" && (done.Imported+done.Duplicates != tc.want.Messages || done.Duplicates != tc.want.Duplicates || done.Failed != tc.want.Refused+tc.want.Unreadable) {
				t.Errorf("the import did %+v", done)
			}
		})
	}
}

// TestImportDryRunOfAFullQueue: a dry run reports where the target would be full (§1.5), and which
// lines the import would refuse in any case.
func TestImportDryRunOfAFullQueue(t *testing.T) {
	l := engine.DefaultLimits()
	l.EntitySize, l.MessageMemory = 100<<10, 0 // only by size
	w := start(t, broker.Options{Limits: &l})
	w.want(201, "POST", "/entities", `{"kind":"queue","path":"q"}`, nil)
	line := `{"messageId":"m","bodyParts":1}` + "\n" + `{"part":"` + strings.Repeat("AAAA", 1<<12) + `"}` + "\n"
	var got ImportPreview
	w.want(200, "POST", "/import/q?dryRun=true", strings.Repeat(line, 300), &got)
	if got.Messages != 8 || got.Lines != 300 || got.Full == nil || got.Full.Line != 17 || got.Full.Code != "QuotaExceeded" {
		t.Errorf("got %+v", got)
	}
	w.want(403, "POST", "/import/q", strings.Repeat(line, 300), nil)
	var q Entity
	w.want(200, "GET", "/entities/q", "", &q)
	if q.Counts.Active != got.Messages {
		t.Errorf("the import sent %+v", q.Counts)
	}
	w.want(404, "POST", "/import/nowhere?dryRun=true", line, nil)
	w.want(400, "POST", "/import/q?dryRun=false", line, nil)
	w.want(200, "PATCH", "/entities/q", `{"properties":{"Status":"Disabled"}}`, nil)
	w.want(403, "POST", "/import/q?dryRun=true", line, nil)
}
