package prometheus

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

type kind string

const (
	counter   kind = "counter"
	gauge     kind = "gauge"
	histogram kind = "histogram"
)

// encoder writes the Prometheus text format.
type encoder struct{ b *bytes.Buffer }

// begin begins a metric; only its own samples may follow.
func (e *encoder) begin(name string, k kind, help string) {
	fmt.Fprintf(e.b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, k)
}

// sample writes one value. labels are alternating names and values.
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

// single writes a gauge with a single sample.
func (e *encoder) single(name, help string, v float64, labels ...string) {
	e.begin(name, gauge, help)
	e.sample(name, v, labels...)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`) //nolint:gochecknoglobals // in effect a constant

func escaped(s string) string {
	return escapes.Replace(strings.ToValidUTF8(s, "\ufffd"))
}
