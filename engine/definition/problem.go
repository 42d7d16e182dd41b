package definition

import (
	"fmt"
	"strings"

	"mayfly/engine"
)

// A Problem is one thing that is wrong with a file.
type Problem struct {
	Path   string // UserConfig.Namespaces[0].Queues[2].Properties.LockDuration, or a line and column; empty for the whole
	Reason string
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

// Problems are what is wrong with a file, in its order where that can be told. As an
// error they are engine.ErrArgument.
type Problems struct {
	Told []Problem // the first of them
	More int       // how many others there are
}

// A file of another kind has thousands: of these, mostTold are told at all, and
// mostListed in a text.
const (
	mostTold   = 100
	mostListed = 50
)

func problem(at, format string, args ...any) error {
	var p Problems
	p.add(at, format, args...)
	return p
}

// Error lists the problems, one a line.
func (p Problems) Error() string {
	var b strings.Builder
	for i, one := range p.Told[:min(len(p.Told), mostListed)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.String())
	}
	if more := p.count() - mostListed; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap says what kind of error this is.
func (p Problems) Unwrap() error { return engine.ErrArgument }

func (p Problems) count() int { return len(p.Told) + p.More }

func (p *Problems) add(at, format string, args ...any) {
	if len(p.Told) == mostTold {
		p.More++
		return
	}
	p.Told = append(p.Told, Problem{Path: at, Reason: fmt.Sprintf(format, args...)})
}

// err is nil when nothing is wrong.
func (p Problems) err() error {
	if p.count() == 0 {
		return nil
	}
	return p
}
