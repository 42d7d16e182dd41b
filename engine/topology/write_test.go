package topology_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/topology"
)

// varied contains the features that the emulator's sample lacks.
const varied = `{"UserConfig":{"Namespaces":[{"Name":"ours","Queues":[
	{"Name":"Zoo/in","Properties":{"RequiresSession":true,"AutoDeleteOnIdle":"PT10M","Status":"SendDisabled","UserMetadata":"<a> \"b\" é","MaxDeliveryCount":3,"ForwardDeadLetteredMessagesTo":"all"}},
	{"Name":"all"},{"Name":"via","Properties":{"ForwardTo":"all","RequiresDuplicateDetection":true,"DuplicateDetectionHistoryTimeWindow":"PT30S"}}],
	"Topics":[{"Name":"news","Properties":{"DefaultMessageTimeToLive":"PT90M"},"Subscriptions":[
		{"Name":"plain"},{"Name":"acts","Rules":[{"Name":"$Default","Properties":{"FilterType":"True","Action":{"SqlExpression":"SET a = 1"}}}]},{"Name":"none","Properties":{"DeadLetteringOnFilterEvaluationExceptions":false},"Rules":[]},
		{"Name":"Some","Rules":[
			{"Name":"$Default","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"1=1"},"Action":{"SqlExpression":"SET a = 'it''s <b>'"}}},
			{"Name":"never","Properties":{"FilterType":"False"}},
			{"Name":"dear","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"price > 10 AND a < 'x'"}}},
			{"Name":"typed","Properties":{"FilterType":"Correlation","CorrelationFilter":{"Label":"x","Properties":{"n":5,"u":{"type":"uuid","value":"c0ffee00-0000-4000-8000-00000000cafe"}}}}}]}]}]}]}}`

// made returns a namespace with the contents of a file.
func made(t *testing.T, file string) *engine.Namespace {
	t.Helper()
	ns := empty()
	steps, err := topology.Steps(nil, read(t, file))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		if err := apply(ns, s); err != nil {
			t.Fatalf("%s: %v", s.At, err)
		}
	}
	return ns
}

func write(t *testing.T, ns *engine.Namespace) string {
	t.Helper()
	b, err := topology.Write("ours", ns.States(0), engine.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A written file describes the namespace's contents: loading it changes nothing there, and
// creates the same elsewhere (EMU-8).
func TestWriteIsRead(t *testing.T) {
	sample, err := os.ReadFile("testdata/Config.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"the emulator's": string(sample), "varied": varied, "nothing": in("")} {
		t.Run(name, func(t *testing.T) {
			ns := made(t, file)
			written := write(t, ns)
			steps, err := topology.Steps(ns.States(0), read(t, written))
			if err != nil || len(steps) != 0 {
				t.Errorf("reloading it has the steps %q, %v, of\n%s", words(steps), err, written)
			}
			if d := cmp.Diff(written, write(t, made(t, written))); d != "" {
				t.Error(d)
			}
			if top := read(t, written); top.Namespace != "ours" {
				t.Errorf("the namespace is %q", top.Namespace)
			}
		})
	}
}

// The form is the emulator's: it has two kinds of filters, and omits defaults.
func TestWriteForm(t *testing.T) {
	written := write(t, made(t, varied))
	for _, part := range []string{
		`"Name": "Zoo/in"`, `"RequiresSession": true`, `"MaxDeliveryCount": 3`, `"AutoDeleteOnIdle": "PT10M"`, `"UserMetadata": "<a> \"b\" é"`, `"Rules": []`,
		`"FilterType": "Sql"`, `"SqlExpression": "1=0"`, `"SqlExpression": "SET a = 'it''s <b>'"`, `"FilterType": "Correlation"`, `"Type": "File"`, `"SqlExpression": "SET a = 1"`,
	} {
		if !strings.Contains(written, part) {
			t.Errorf("without %s:\n%s", part, written)
		}
	}
	for _, part := range []string{`"True"`, `"LockDuration"`, "P10675199D"} {
		if strings.Contains(written, part) {
			t.Errorf("with %s:\n%s", part, written)
		}
	}
}

// Text that looks like an escape is not changed.
func TestWriteEscapes(t *testing.T) {
	ns := empty()
	for i, text := range []string{`{"html":"\u003cb\u003e \u0026"}`, `\`, "<b> & \u2028 x", `\\u003c`} {
		at := engine.Path(string(rune('a' + i)))
		if _, err := ns.Create(now, engine.Queue, at, engine.Config{UserMetadata: text}, ""); err != nil {
			t.Fatal(err)
		}
	}
	if steps, err := topology.Steps(ns.States(0), read(t, write(t, ns))); err != nil || len(steps) != 0 {
		t.Errorf("reloading it has the steps %q, %v, of\n%s", words(steps), err, write(t, ns))
	}
}

// OPS-9: a pinned entity is written as it was before it was pinned, and stays pinned when the
// file is loaded.
func TestWritePinned(t *testing.T) {
	ns := empty()
	if _, err := ns.Create(now, engine.Queue, "q", engine.Config{AutoDeleteOnIdle: 5 * time.Minute}, ""); err != nil {
		t.Fatal(err)
	}
	if err := ns.Pin(now, "q", ""); err != nil {
		t.Fatal(err)
	}
	written := write(t, ns)
	if !strings.Contains(written, `"AutoDeleteOnIdle": "PT5M"`) {
		t.Error(written)
	}
	if steps, err := topology.Steps(ns.States(0), read(t, written)); err != nil || len(steps) != 0 {
		t.Errorf("it asks for %q, %v", words(steps), err)
	}
}
