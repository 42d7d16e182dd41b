package topology

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
)

// A Problem is an error in a file.
type Problem struct {
	Path   string // such as UserConfig.Namespaces[0].Queues[2].Properties.LockDuration, or a line and column; empty for the whole file
	Reason string
}

func (p Problem) String() string {
	if p.Path == "" {
		return p.Reason
	}
	return p.Path + ": " + p.Reason
}

// Problems lists the errors in a file, in the order of the file as far as possible. It is an
// engine.ErrArgument.
type Problems struct {
	First []Problem // the first problems
	More  int       // the number of further problems
}

// A file of another format has thousands of problems. At most maxProblems are kept, and Error lists
// at most maxListed.
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

// With returns p with the Problems in err, which another check of the same file found.
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
