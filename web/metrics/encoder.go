package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// kind is the type of a metric.
type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// encoder writes Prometheus' text format.
type encoder struct{ b *bytes.Buffer }

// head begins a metric. Its samples follow, and no other's.
func (e *encoder) head(name string, k kind, help string) {
	fmt.Fprintf(e.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, k)
}

// sample writes one value; labels are names and values in turn.
func (e *encoder) sample(name string, v float64, labels ...string) {
	e.b.WriteString(name)
	before := "{"
	for i := 0; i < len(labels); i += 2 {
		e.b.WriteString(before + labels[i] + `="` + escaped(labels[i+1]) + `"`)
		before = ","
	}
	if len(labels) > 0 {
		e.b.WriteByte('}')
	}
	e.b.WriteString(" " + number(v) + "\n")
}

// one is a gauge of a single sample.
func (e *encoder) one(name, help string, v float64, labels ...string) {
	e.head(name, gauge, help)
	e.sample(name, v, labels...)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func escaped(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
}
