package scene

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"mayfly/engine"
)

// A WrongError is what is wrong with a scene: at least one thing, in the order in
// which it was found. It is an engine.ErrArgument.
type WrongError struct{ Faults []Fault }

// A Fault is one thing that is wrong with a scene.
type Fault struct {
	Line int    // from 1; zero: with all of it
	At   string // what is there: "step 2, do 1"; may be empty
	Text string // a sentence
}

// Error has a line for each fault.
func (e *WrongError) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap is engine.ErrArgument.
func (*WrongError) Unwrap() error { return engine.ErrArgument }

// eachOf are the faults in an error one by one, or the error itself if it has none.
func eachOf(err error) (all []error) {
	e, ok := errors.AsType[*WrongError](err)
	switch {
	case ok:
		for _, f := range e.Faults {
			all = append(all, &WrongError{[]Fault{f}})
		}
	case err != nil:
		all = append(all, err)
	}
	return all
}

// String is "line 7, step 2, do 1: ", and what is wrong.
func (f Fault) String() string {
	var where []string
	if f.Line > 0 {
		where = append(where, fmt.Sprintf("line %d", f.Line))
	}
	if f.At != "" {
		where = append(where, f.At)
	}
	if len(where) == 0 {
		return f.Text
	}
	return strings.Join(where, ", ") + ": " + f.Text
}

// unreadable is what goccy/go-yaml says of a text.
func unreadable(err error) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return &WrongError{[]Fault{{Text: "It cannot be read: " + err.Error()}}}
	}
	f := Fault{Text: "It cannot be read: " + strings.TrimSpace(e.GetMessage())}
	if t := e.GetToken(); t != nil && t.Position != nil {
		f.Line = t.Position.Line
	}
	return &WrongError{[]Fault{f}}
}

// A place is a part of a scene: what it is called, and how it is reached in what was
// read, by names and indexes.
type place struct {
	label string
	path  []any
}

// in is one of a list in it.
func (p place) in(list string, i int) place {
	return place{fmt.Sprintf("%s, %s %d", p.label, list, i+1), append(slices.Clip(p.path), list, i)}
}

// find is the line of what a path leads to, or of as much of it as is there.
func find(n ast.Node, path []any) int {
	line := lineOf(n)
	for _, part := range path {
		switch key := part.(type) {
		case string:
			n = member(n, key)
		case int:
			s, ok := n.(*ast.SequenceNode)
			if !ok || key >= len(s.Values) {
				return line
			}
			n = s.Values[key]
		}
		if n == nil {
			return line
		}
		if at := lineOf(n); at > 0 {
			line = at
		}
		if v, ok := n.(*ast.MappingValueNode); ok && v.Key != nil && part == v.Key.GetToken().Value {
			n = v.Value
		}
	}
	return line
}

// member is the one with a key, key and value; nil: there is none.
func member(n ast.Node, key string) ast.Node {
	for _, v := range members(n) {
		if v.Key.GetToken().Value == key {
			return v
		}
	}
	return nil
}

func members(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	default:
		return nil
	}
}

// lineOf is where something begins; zero: nowhere.
func lineOf(n ast.Node) int {
	if all := members(n); len(all) > 0 {
		return all[0].Key.GetToken().Position.Line
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}
