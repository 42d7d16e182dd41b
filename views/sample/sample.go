// Package sample holds programs that send a message to the broker and receive it, in each
// language with a Service Bus SDK. The programs for the queue orders are the scripts of the
// documentation. Tests of cmd/mayfly/e2e run these scripts and the programs that pages show, except
// the .NET programs.
package sample

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"unicode/utf16"

	"mayfly/views/component"
)

// A Sample is a program, or one line of a program, in one language.
type Sample struct {
	Language string // the language's usual name
	Code     string
	Install  string // the package it needs, as an argument of its tool; empty for lines
}

// A Task is what a sample program does. The zero Task does nothing.
type Task struct {
	Connection string // the connection string, written into the programs; empty means read from the environment
	Queue      string // a queue; if empty, Topic and one of its subscriptions
	Topic      string
	Subscriber string // empty means that programs only send to the topic
	InSession  bool   // messages belong to Session
	Session    string // an id, which may be empty
	Sends      bool
	Receives   bool
}

// Scripts returns the programs of the documentation.
func Scripts() []Sample {
	return Programs(Task{Queue: "orders", Sends: true, Receives: true})
}

// Programs returns a program for a task in each language that can do it.
func Programs(t Task) []Sample { return write(t, "program") }

// AcceptLines returns the line that accepts the session of a task, in each language that can. It
// uses the variables client and builder of the programs.
func AcceptLines(t Task) []Sample {
	out := write(t, "accept")
	for i := range out {
		out[i].Install = ""
	}
	return out
}

// A language has a source that defines the templates program and accept. The empty text is a
// valid session id, but not every SDK can accept the session with it (sdk-demands 10).
type language struct {
	name, install, source string
	emptySession          bool // its SDK can accept that session
}

var languages = []language{
	{"Go", "go get github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus", goSource, true},
	{"Python", "pip install azure-servicebus", pythonSource, true},
	{"JavaScript", "npm install @azure/service-bus", javaScriptSource, false},
	{"Java", "com.azure:azure-messaging-servicebus", javaSource, false},
	{".NET", "dotnet add package Azure.Messaging.ServiceBus", dotNETSource, true},
}

var surrogates = regexp.MustCompile(`\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})`)

// joinSurrogates joins the surrogates that component.Quoted writes for runes beyond U+FFFF, in
// languages that do not join them.
func (l language) joinSurrogates(code string) string {
	if l.name != "Go" && l.name != "Python" {
		return code
	}
	return surrogates.ReplaceAllStringFunc(code, func(halves string) string {
		high, errHigh := strconv.ParseUint(halves[2:6], 16, 16)
		low, errLow := strconv.ParseUint(halves[8:], 16, 16)
		if errors.Join(errHigh, errLow) != nil {
			panic(halves) // they are hexadecimal digits
		}
		return fmt.Sprintf(`\U%08x`, utf16.DecodeRune(rune(high), rune(low)))
	})
}

// sources returns the template of each language by its name.
var sources = sync.OnceValue(func() map[string]*template.Template { //nolint:gochecknoglobals // parsed once, never changed
	all := map[string]*template.Template{}
	for _, l := range languages {
		all[l.name] = template.Must(template.New(l.name).Funcs(template.FuncMap{"q": component.Quoted}).Parse(l.source))
	}
	return all
})

func write(t Task, what string) []Sample {
	var out []Sample
	for _, l := range languages {
		if t.InSession && t.Receives && t.Session == "" && !l.emptySession {
			continue
		}
		var b strings.Builder
		if err := sources()[l.name].ExecuteTemplate(&b, what, t); err != nil {
			panic(err) // a Task has every field that the sources use
		}
		out = append(out, Sample{Language: l.name, Code: l.joinSurrogates(strings.TrimSpace(b.String())), Install: l.install})
	}
	return out
}

// ordersSource defines the templates place and target: the arguments of a program that name the
// entity to receive from and the entity to send to.
const ordersSource = `{{define "place"}}{{if .Queue}}{{q .Queue}}{{else}}{{q .Topic}}, {{q .Subscriber}}{{end}}{{end}}` +
	`{{define "target"}}{{if .Queue}}{{q .Queue}}{{else}}{{q .Topic}}{{end}}{{end}}`
