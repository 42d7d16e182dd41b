package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
)

// A Problem is one fault of a file.
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

// Problems are the faults of a file, in its order where that can be determined. As an error
// they are engine.ErrArgument.
type Problems struct {
	First []Problem // the first of them
	More  int       // how many others there are
}

// A file of another kind has thousands of problems: maxProblems are kept, and maxListed are in a
// text.
const (
	maxProblems = 100
	maxListed   = 50
)

func newProblem(at, format string, args ...any) error {
	var p Problems
	p.add(at, format, args...)
	return p
}

// Error lists the problems, one per line.
func (p Problems) Error() string {
	var b strings.Builder
	for i, one := range p.First[:min(len(p.First), maxListed)] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(one.String())
	}
	if more := p.count() - maxListed; more > 0 {
		fmt.Fprintf(&b, "\nand %d more", more)
	}
	return b.String()
}

// Unwrap returns engine.ErrArgument.
func (p Problems) Unwrap() error { return engine.ErrArgument }

func (p Problems) count() int { return len(p.First) + p.More }

func (p *Problems) add(at, format string, args ...any) {
	if len(p.First) == maxProblems {
		p.More++
		return
	}
	p.First = append(p.First, Problem{Path: at, Reason: fmt.Sprintf(format, args...)})
}

// With adds the problems in err, which another check of the same file found.
func (p Problems) With(err error) Problems {
	if more, ok := errors.AsType[Problems](err); ok {
		for _, one := range more.First {
			if !slices.Contains(p.First, one) {
				p.add(one.Path, "%s", one.Reason)
			}
		}
		p.More += more.More
	}
	return p
}

// err returns nil if there are no problems.
func (p Problems) err() error {
	if p.count() == 0 {
		return nil
	}
	return p
}
