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

// Problems are all that is wrong with a file, in its order where that can be
// told. As an error they are engine.ErrArgument.
type Problems []Problem

// told is how many problems a text lists; a file of another kind has thousands.
const told = 50

// Error lists the problems, one a line.
func (p Problems) Error() string {
	var b strings.Builder
	for i, one := range p {
		if i == told {
			fmt.Fprintf(&b, "\nand %d more", len(p)-told)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.String())
	}
	return b.String()
}

// Unwrap says what kind of error this is.
func (p Problems) Unwrap() error { return engine.ErrArgument }

func (p *Problems) add(at, format string, args ...any) {
	*p = append(*p, Problem{Path: at, Reason: fmt.Sprintf(format, args...)})
}

// err is nil when nothing is wrong.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p
}
