package enginetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Door is how clients come to a broker: an Executor for what clients do. What
// its protocol has no words for is ErrCannot.
type Door interface{ Executor }

// ErrUntold is returned by a Door that did a command and is not told what it
// shows: the numbers of what was sent, in most protocols. A refusal it would have
// been told.
var ErrUntold = errors.New("this door does not tell what came of it")

// ErrSilent is returned by a Door that did a command in a way that has no answer,
// not even a refusal.
var ErrSilent = errors.New("this door does not tell anything")

// Beside is an Executor that runs every command twice: at an Engine, and through
// a door or, if it is no client's, at the house. It ends the scenario where the
// two differ, and shows what they agree on.
type Beside struct {
	Engine *Engine
	House  func(Command) ([]string, error) // House.Do
	Door   Door
	// Pass has time go by for the house; the Engine has its own.
	Pass func(c Command) error
	// Plain is what the door can tell of a line that the command shows, which may
	// be a refusal; nil: all of it.
	Plain func(c Command, line string) string

	Counts Steps
}

// Steps counts commands by who did them.
type Steps struct {
	Told   int // through the door, which told what they show
	Untold int // through the door
	House  int
	Passed int // after: nobody did anything
}

// Add adds o.
func (s *Steps) Add(o Steps) {
	s.Told, s.Untold, s.House, s.Passed = s.Told+o.Told, s.Untold+o.Untold, s.House+o.House, s.Passed+o.Passed
}

// Do runs one command.
func (x *Beside) Do(c Command) ([]string, error) {
	want, refusal := x.Engine.Do(c)
	if _, refused := errors.AsType[Refused](refusal); refusal != nil && !refused {
		return nil, refusal
	}
	got, err := x.through(c)
	if errors.Is(err, ErrSilent) || errors.Is(err, ErrUntold) && refusal == nil {
		return want, refusal
	}
	_, refused := errors.AsType[Refused](err)
	switch {
	case errors.Is(err, ErrUntold):
		return nil, fmt.Errorf("the door took it, the engine says %q", refusal.Error())
	case err != nil && !refused:
		return nil, err
	case !slices.Equal(x.plain(c, lineOf(refusal)), x.plain(c, lineOf(err))):
		return nil, fmt.Errorf("the door says %v, the engine %v", answered(got, err), answered(want, refusal))
	}
	if plain := x.plain(c, want); refusal == nil && !slices.Equal(plain, x.plain(c, got)) {
		return nil, fmt.Errorf("the door says %v, the engine %v", answered(got, nil), answered(plain, nil))
	}
	return want, refusal
}

// lineOf is the line that a refusal is, if it is one.
func lineOf(refusal error) []string {
	if refusal == nil {
		return nil
	}
	return []string{refusal.Error()}
}

func (x *Beside) plain(c Command, lines []string) (out []string) {
	for _, line := range lines {
		if x.Plain != nil {
			line = x.Plain(c, line)
		}
		out = append(out, line)
	}
	return out
}

func answered(lines []string, err error) string {
	if err != nil {
		return fmt.Sprintf("%q", err.Error())
	}
	return fmt.Sprintf("%q", strings.Join(lines, "\n"))
}

// through runs a command where it belongs, and counts it.
func (x *Beside) through(c Command) ([]string, error) {
	if c.Name == "after" {
		x.Counts.Passed++
		return nil, x.Pass(c)
	}
	lines, err := x.Door.Do(c)
	switch {
	case errors.Is(err, ErrUntold), errors.Is(err, ErrSilent):
		x.Counts.Untold++
	case !errors.Is(err, ErrCannot):
		x.Counts.Told++
	default:
		cannot := err
		if lines, err = x.House(c); errors.Is(err, ErrCannot) {
			return nil, cannot
		}
		x.Counts.House++
	}
	return lines, err
}

// Word makes a Refused of what a broker refuses; other errors stay what they
// are.
func Word(err error) error { return word(err) }

// Path is the i-th argument as a path, and as doors make it one.
func (c Command) Path(i int) string { return string(c.path(i)) }

// Numbers are the arguments from the i-th that are numbers of messages.
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
