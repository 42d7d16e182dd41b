package sample_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"

	"mayfly/views/sample"
)

// TestScriptsAreTheDocumentations checks that sample.Scripts, which pages show, are the programs in
// the documentation, which other tests run.
func TestScriptsAreTheDocumentations(t *testing.T) {
	var docs strings.Builder
	for _, name := range []string{"go", "python", "javascript", "java", "dotnet"} {
		text, err := os.ReadFile("../../web/amqp/connect-" + name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		docs.Write(text)
	}
	for _, s := range sample.Scripts() {
		if !strings.Contains(docs.String(), "\n"+s.Code+"\n```\n") {
			t.Errorf("the documentation has another script for %s:\n%s", s.Language, s.Code)
		}
		if !strings.Contains(docs.String(), strings.TrimPrefix(s.Install, "go get ")) {
			t.Errorf("the documentation does not name %s", s.Install)
		}
	}
}

func tasks() map[string]sample.Task {
	const at = "Endpoint=sb://here:5"
	return map[string]sample.Task{
		"queue":                   {Connection: at, Queue: "re/plies", Sends: true, Receives: true},
		"queue of sessions":       {Connection: at, Queue: "re/plies", InSession: true, Session: "customer-1", Sends: true, Receives: true},
		"queue that forwards":     {Connection: at, Queue: "re/plies", Sends: true},
		"queue that takes none":   {Connection: at, Queue: "re/plies", Receives: true},
		"topic":                   {Connection: at, Topic: "ne/ws", Sends: true},
		"topic of sessions":       {Connection: at, Topic: "ne/ws", InSession: true, Session: "customer-1", Sends: true},
		"subscription":            {Connection: at, Topic: "ne/ws", Subscriber: "all", Receives: true},
		"subscription, sessions":  {Connection: at, Topic: "ne/ws", Subscriber: "all", InSession: true, Session: "customer-1", Receives: true},
		"topic and subscription":  {Connection: at, Topic: "ne/ws", Subscriber: "all", Sends: true, Receives: true},
		"an odd session":          {Queue: "re/plies", InSession: true, Session: "a\"b\\\n${x}é", Sends: true, Receives: true},
		"the session without id":  {Queue: "re/plies", InSession: true, Sends: true, Receives: true},
		"another odd connection":  {Connection: `a"b\`, Topic: "ne/ws", Sends: true},
		"sessions to a topic too": {Topic: "ne/ws", Subscriber: "all", InSession: true, Session: "c", Sends: true, Receives: true},
	}
}

// TestProgramsNameTheirTask checks that each sample program has the names and settings of its task,
// and none of what the task does not need.
func TestProgramsNameTheirTask(t *testing.T) {
	for name, task := range tasks() {
		for _, s := range sample.Programs(task) {
			if strings.Contains(s.Code, "SERVICEBUS") != (task.Connection == "") {
				t.Errorf("%s in %s: the connection string is missing in\n%s", name, s.Language, s.Code)
			}
			if name != "another odd connection" && task.Connection != "" && !strings.Contains(s.Code, `"`+task.Connection+`"`) {
				t.Errorf("%s in %s: the connection string is missing in\n%s", name, s.Language, s.Code)
			}
			both := 0
			for _, does := range []bool{task.Sends, task.Receives} {
				if does {
					both++
				}
			}
			target, n := `"`+task.Queue+`"`, 0
			if task.Queue == "" {
				target = `"` + task.Topic + `"`
			}
			if n = strings.Count(s.Code, target); n != both {
				t.Errorf("%s in %s: %d times %s in\n%s", name, s.Language, n, target, s.Code)
			}
			if n = strings.Count(s.Code, `"`+task.Subscriber+`"`); task.Subscriber != "" && n != 1 {
				t.Errorf("%s in %s: the subscription %d times in\n%s", name, s.Language, n, s.Code)
			}
			if strings.Contains(s.Code, "hello from "+s.Language) != task.Sends {
				t.Errorf("%s in %s: sends, or does not send:\n%s", name, s.Language, s.Code)
			}
			if strings.Contains(strings.ToLower(s.Code), "complete") != task.Receives {
				t.Errorf("%s in %s: receives, or does not receive:\n%s", name, s.Language, s.Code)
			}
			if strings.Contains(strings.ToLower(s.Code), "session") != task.InSession {
				t.Errorf("%s in %s: uses sessions, or does not:\n%s", name, s.Language, s.Code)
			}
			if strings.Contains(s.Code, "\n\n\n") || strings.Contains(s.Code, " \n") || strings.Contains(s.Code, "<no value>") {
				t.Errorf("%s in %s: not formatted:\n%s", name, s.Language, s.Code)
			}
		}
	}
}

// The Go programs parse, use each package and variable they name, and contain the required
// strings.
func TestGoPrograms(t *testing.T) {
	for name, task := range tasks() {
		code := sample.Programs(task)[0].Code
		f, err := parser.ParseFile(token.NewFileSet(), "main.go", code, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%s: %v in\n%s", name, err, code)
			continue
		}
		used := map[string]int{}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				used[id.Name]++
			}
			return true
		})
		for _, s := range f.Imports {
			short := s.Path.Value[strings.LastIndex(s.Path.Value, "/")+1:]
			if short = strings.Trim(short, `"`); used[short] == 0 {
				t.Errorf("%s: %s is imported and not used in\n%s", name, short, code)
			}
		}
		for _, v := range []string{"sent", "receiver", "session", "client", "ctx"} {
			if used[v] == 1 {
				t.Errorf("%s: %s is not used in\n%s", name, v, code)
			}
		}
		for _, p := range []string{"fmt", "os", "log", "context"} {
			if (used[p] > 0) != strings.Contains(code, "\t\""+p+"\"\n") {
				t.Errorf("%s: %s is used and not imported, in\n%s", name, p, code)
			}
		}
	}
}

func TestAccepting(t *testing.T) {
	lines := func(task sample.Task) (out string) {
		for _, s := range sample.AcceptLines(task) {
			out += fmt.Sprintf("%s: %s%s\n", s.Language, s.Code, s.Install)
		}
		return out
	}
	if got, want := lines(sample.Task{Queue: "orders", InSession: true, Session: `a"`}), `Go: client.AcceptSessionForQueue(ctx, "orders", "a\"", nil)
Python: client.get_queue_receiver("orders", session_id="a\"")
JavaScript: await client.acceptSession("orders", "a\"")
Java: builder.sessionReceiver().queueName("orders").buildClient().acceptSession("a\"")
.NET: await client.AcceptSessionAsync("orders", "a\"")
`; got != want {
		t.Errorf("got\n%s", got)
	}
	if got, want := lines(sample.Task{Topic: "news", Subscriber: "all", InSession: true, Receives: true}), `Go: client.AcceptSessionForSubscription(ctx, "news", "all", "", nil)
Python: client.get_subscription_receiver("news", "all", session_id="")
.NET: await client.AcceptSessionAsync("news", "all", "")
`; got != want {
		t.Errorf("got\n%s", got)
	}
}
