// Package sample is how a program talks to the broker, in each language that
// Service Bus has an SDK for: it sends a message and receives it. Those with the
// queue orders are the scripts of the README. Tests of cmd/mayfly run both these
// and what pages show, .NET's left out.
package sample

import (
	"strings"
	"text/template"

	"mayfly/views/component"
)

// A Sample is a program, or a line of one, in one language.
type Sample struct {
	Language string // as people call it
	Code     string
	Install  string // the package it needs, as its tool is told; empty of lines
}

// A Task is what programs do. The zero Task does nothing.
type Task struct {
	Connection string // the string, which stands in them then; empty: the environment has it
	Queue      string // or a topic, and one of its subscriptions
	Topic      string
	Subscriber string // empty: the topic is only sent to
	InSession  bool   // messages are those of Session
	Session    string // an id, which may be empty
	Sends      bool
	Receives   bool
}

// Scripts are the programs of the README.
func Scripts() []Sample {
	return Programs(Task{Queue: "orders", Sends: true, Receives: true})
}

// Programs are what does a task, a program for each language that can do it.
func Programs(t Task) []Sample { return write(t, "program") }

// Accepting is how a program takes the session of a task to receive from it, a
// line for each language that can. There are client and builder, as in the programs.
func Accepting(t Task) []Sample {
	out := write(t, "accept")
	for i := range out {
		out[i].Install = ""
	}
	return out
}

// language is how a language says what there is to say: its source defines the
// templates program and accept. Not every SDK can accept the session whose id is
// empty, which is an id like others (sdk-demands 10).
type language struct {
	name, install, source string
	unnamed               bool // it can accept that session
}

func languages() []language {
	return []language{
		{"Go", "go get github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus", goSource, true},
		{"Python", "pip install azure-servicebus", pythonSource, true},
		{"JavaScript", "npm install @azure/service-bus", javaScriptSource, false},
		{"Java", "com.azure:azure-messaging-servicebus", javaSource, false},
		{".NET", "dotnet add package Azure.Messaging.ServiceBus", dotNETSource, true},
	}
}

func write(t Task, what string) []Sample {
	var out []Sample
	for _, l := range languages() {
		if t.InSession && t.Receives && t.Session == "" && !l.unnamed {
			continue
		}
		source := template.Must(template.New(l.name).Funcs(template.FuncMap{"q": component.Quoted}).Parse(l.source))
		var b strings.Builder
		if err := source.ExecuteTemplate(&b, what, t); err != nil {
			panic(err) // a Task has all that the sources ask for
		}
		out = append(out, Sample{Language: l.name, Code: strings.TrimSpace(b.String()), Install: l.install})
	}
	return out
}

// place are the arguments that name what is received from.
const placeSource = `{{define "place"}}{{if .Queue}}{{q .Queue}}{{else}}{{q .Topic}}, {{q .Subscriber}}{{end}}{{end}}` +
	`{{define "target"}}{{if .Queue}}{{q .Queue}}{{else}}{{q .Topic}}{{end}}{{end}}`
