package sample

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"mayfly/views/component"
)

// A Message is a message that programs send. Empty fields are not set.
type Message struct {
	Body []byte
	File string // name of a file with the body, beside the program

	ID, CorrelationID, Subject, ContentType, To, ReplyTo, ReplyToSession, PartitionKey string

	InSession bool
	Session   string // an id, which may be empty
	TTL       time.Duration
	Due       time.Time            // when to enqueue it; zero means at once
	Props     []component.Property // Value is parsed by value.Parse, Type is the kind
}

// SendPrograms returns programs that send m to the entity of t, one for each language. A comment in
// each program lists the properties that it leaves out because its SDK has no type for them.
func SendPrograms(t Task, m Message) []Sample {
	var out []Sample
	for i, write := range []func(Task, Message) string{goSend, pythonSend, javaScriptSend, javaSend, dotNETSend} {
		l := languages[i]
		out = append(out, Sample{Language: l.name, Code: l.joinSurrogates(write(t, m)), Install: l.install})
	}
	return out
}

func (t Task) target() string { return component.Quoted(cmp.Or(t.Queue, t.Topic)) }

// setting is a system property that a message sets: its name in Go, and its value, of one of
// three types.
type setting struct {
	name string
	text string
	ttl  time.Duration
	at   time.Time
}

func (m Message) settings() (out []setting) {
	for _, s := range []setting{
		{name: "MessageID", text: m.ID}, {name: "CorrelationID", text: m.CorrelationID}, {name: "Subject", text: m.Subject},
		{name: "ContentType", text: m.ContentType}, {name: "To", text: m.To}, {name: "ReplyTo", text: m.ReplyTo},
		{name: "ReplyToSessionID", text: m.ReplyToSession}, {name: "PartitionKey", text: m.PartitionKey},
		{name: "SessionID", text: m.Session}, {name: "TimeToLive", ttl: m.TTL}, {name: "ScheduledEnqueueTime", at: m.Due},
	} {
		if s.text != "" || s.ttl != 0 || !s.at.IsZero() || s.name == "SessionID" && m.InSession {
			out = append(out, s)
		}
	}
	return out
}

// literal writes the value in a language.
func (s setting) literal(ttl func(time.Duration) string, at func(string) string) string {
	switch {
	case s.ttl != 0:
		return ttl(s.ttl)
	case !s.at.IsZero():
		return at(component.Quoted(s.at.UTC().Format(time.RFC3339Nano)))
	default:
		return component.Quoted(s.text)
	}
}

// camel returns a name as in JavaScript and Java: SessionID is sessionId.
func camel(name string) string {
	name = strings.Replace(name, "ID", "Id", 1)
	return strings.ToLower(name[:1]) + name[1:]
}

// snake returns a name as in Python.
func snake(name string) string {
	var b strings.Builder
	for i, r := range camel(name) {
		if r >= 'A' && r <= 'Z' && i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

// literalFormats holds a language's formats for the values of properties, by type, with %s for the
// digits or the quoted text.
type literalFormats map[string]string

// literals returns the name and the literal of each property whose type the language can write,
// and a text that lists the other properties. NaN and infinite numbers have no literal.
func (sp literalFormats) literals(all []component.Property) (out [][2]string, left string) {
	var without []string
	for _, p := range all {
		form, ok := sp[p.Type]
		text := p.Value
		switch p.Type {
		case "float", "double":
			ok = ok && !strings.ContainsAny(text, "nN") // NaN, Infinity
			if !strings.ContainsAny(text, ".eE") {
				text += ".0"
			}
		case "decimal128":
			ok = ok && len(text) <= 28 && strings.Trim(text, "-.0123456789") == ""
		case "string", "uuid", "timestamp", "binary", "uri", "timespan", "datetime-offset":
			text = component.Quoted(text)
		}
		if !ok {
			without = append(without, fmt.Sprintf("%s (%s)", component.ShowAllInvisible(p.Name), p.Type))
			continue
		}
		out = append(out, [2]string{component.Quoted(p.Name), strings.ReplaceAll(form, "%s", text)})
	}
	if len(without) > 0 {
		left = "left out, for this SDK has no such type: " + strings.Join(without, ", ")
	}
	return out, newlines.Replace(left)
}

var newlines = strings.NewReplacer("\n", " ", "\r", " ", "\u2028", " ", "\u2029", " ") //nolint:gochecknoglobals // in effect a constant

// body writes a body as code: from a file, a text or base64.
func (m Message) body(file, text, base string) string {
	switch {
	case m.File != "":
		return strings.ReplaceAll(file, "%s", component.Quoted(m.File))
	case utf8.Valid(m.Body):
		return strings.ReplaceAll(text, "%s", component.Quoted(string(m.Body)))
	default:
		return strings.ReplaceAll(base, "%s", component.Quoted(base64.StdEncoding.EncodeToString(m.Body)))
	}
}

// A program is lines of code.
type program struct{ strings.Builder }

func (p *program) line(format string, args ...any) { fmt.Fprintf(&p.Builder, format+"\n", args...) }

func (p *program) code() string { return strings.TrimSpace(p.String()) }
