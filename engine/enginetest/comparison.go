package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Protocol is an Executor that runs clients' commands through a protocol. For a command that the
// protocol does not have, it returns ErrUnsupported.
type Protocol interface{ Executor }

// ErrNoResult is returned by a Protocol that ran a command successfully but does not get its result,
// such as the numbers of sent messages in most protocols.
var ErrNoResult = errors.New("this protocol does not return the result")

// ErrNoAnswer is returned by a Protocol that ran a command and gets no answer, not even a refusal.
var ErrNoAnswer = errors.New("this protocol returns no response")

// Comparison is an Executor that runs every command twice: at an Engine, and through a protocol
// or, if it is not a client's command, through the Operator. It returns their common result, or an
// error if the two differ.
type Comparison struct {
	Engine   *Engine
	Operator func(Command) ([]string, error) // see Operator.Do
	Protocol Protocol
	// Wait lets time elapse for the Operator's broker. The Engine has a clock of its own.
	Wait func(c Command) error
	// Visible returns the part of a command's result line, possibly a refusal, that the protocol
	// can show; nil means all of it.
	Visible func(c Command, line string) string

	Counts StepCounts
}

// StepCounts counts commands by how they ran.
type StepCounts struct {
	Compared   int // through the protocol, which returned the result
	Uncompared int // through the protocol, which did not
	Operator   int // through the Operator
	Waits      int // the command after, which only lets time pass
}

// Add adds the counts of o.
func (s *StepCounts) Add(o StepCounts) {
	s.Compared, s.Uncompared, s.Operator, s.Waits = s.Compared+o.Compared, s.Uncompared+o.Uncompared, s.Operator+o.Operator, s.Waits+o.Waits
}

// Do runs one command.
func (x *Comparison) Do(c Command) ([]string, error) {
	want, refusal := x.Engine.Do(c)
	if _, refused := errors.AsType[Refused](refusal); refusal != nil && !refused {
		return nil, refusal
	}
	got, err := x.run(c)
	if errors.Is(err, ErrNoAnswer) || errors.Is(err, ErrNoResult) && refusal == nil {
		return want, refusal
	}
	_, refused := errors.AsType[Refused](err)
	switch {
	case errors.Is(err, ErrNoResult):
		return nil, fmt.Errorf("the protocol accepts it, the engine says %q", refusal.Error())
	case err != nil && !refused:
		return nil, err
	case !slices.Equal(x.visible(c, lineOf(refusal)), x.visible(c, lineOf(err))):
		return nil, fmt.Errorf("the protocol says %v, the engine %v", answerText(got, err), answerText(want, refusal))
	}
	if plain := x.visible(c, want); refusal == nil && !slices.Equal(plain, x.visible(c, got)) {
		return nil, fmt.Errorf("the protocol says %v, the engine %v", answerText(got, nil), answerText(plain, nil))
	}
	return want, refusal
}

// lineOf returns the result line of a refusal, or none if refusal is nil.
func lineOf(refusal error) []string {
	if refusal == nil {
		return nil
	}
	return []string{refusal.Error()}
}

func (x *Comparison) visible(c Command, lines []string) (out []string) {
	for _, line := range lines {
		if x.Visible != nil {
			line = x.Visible(c, line)
		}
		out = append(out, line)
	}
	return out
}

func answerText(lines []string, err error) string {
	if err != nil {
		return fmt.Sprintf("%q", err.Error())
	}
	return fmt.Sprintf("%q", strings.Join(lines, "\n"))
}

// run runs a command through the protocol or the Operator, and counts it.
func (x *Comparison) run(c Command) ([]string, error) {
	if c.Name == "after" {
		x.Counts.Waits++
		return nil, x.Wait(c)
	}
	lines, err := x.Protocol.Do(c)
	switch {
	case errors.Is(err, ErrNoResult), errors.Is(err, ErrNoAnswer):
		x.Counts.Uncompared++
	case !errors.Is(err, ErrUnsupported):
		x.Counts.Compared++
	default:
		cannot := err
		if lines, err = x.Operator(c); errors.Is(err, ErrUnsupported) {
			return nil, cannot
		}
		x.Counts.Operator++
	}
	return lines, err
}

// AsRefused converts a broker's refusal to a Refused; it returns other errors unchanged.
func AsRefused(err error) error { return asRefused(err) }

// Path returns the i-th argument as a path, as protocols parse it.
func (c Command) Path(i int) string { return string(c.path(i)) }

// Numbers returns the arguments from the i-th on that are sequence numbers, such as #3.
func (c Command) Numbers(i int) (out []int64, err error) {
	for _, a := range c.Args[min(i, len(c.Args)):] {
		if !strings.HasPrefix(a, "#") {
			continue
		}
		n, err := number(a)
		if err != nil {
			return nil, err
		}
		out = append(out, int64(n))
	}
	return out, nil
}
