package demo

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"mayfly/engine"
)

// A SceneError lists the problems of a scene, at least one, in the order in which they were
// found. It is an engine.ErrArgument.
type SceneError struct{ Problems []Problem }

// A Problem is an error in a scene.
type Problem struct {
	Line int    // from 1; zero means the whole scene
	At   string // the part: "step 2, action 1"; may be empty
	Text string // a sentence
}

// Error returns a line for each problem.
func (e *SceneError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, f := range e.Problems {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns engine.ErrArgument.
func (*SceneError) Unwrap() error { return engine.ErrArgument }

// splitProblems returns each problem of a SceneError as an error, or err itself if it is another
// error.
func splitProblems(err error) (all []error) {
	e, ok := errors.AsType[*SceneError](err)
	switch {
	case ok:
		for _, f := range e.Problems {
			all = append(all, &SceneError{[]Problem{f}})
		}
	case err != nil:
		all = append(all, err)
	}
	return all
}

// String returns the problem in the form "line 7, step 2, action 1: text".
func (f Problem) String() string {
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

// yamlError converts an error of goccy/go-yaml.
func yamlError(err error) error {
	e, ok := errors.AsType[yaml.Error](err)
	if !ok {
		return &SceneError{[]Problem{{Text: "The scene cannot be read: " + err.Error()}}}
	}
	f := Problem{Text: "The scene cannot be read: " + strings.TrimSpace(e.GetMessage())}
	if t := e.GetToken(); t != nil && t.Position != nil {
		f.Line = t.Position.Line
		if to := formerKeys[t.Value]; to != "" && strings.Contains(f.Text, "unknown field") {
			f.Text += "; " + t.Value + " is now " + to
		}
	}
	return &SceneError{[]Problem{f}}
}

// A location is a part of a scene: its label, and its path in the parsed text, by names and
// indexes.
type location struct {
	label string
	path  []any
}

// in returns the location of element i of a list in p.
func (p location) in(list string, i int) location {
	return location{fmt.Sprintf("%s, %s %d", p.label, strings.TrimSuffix(list, "s"), i+1), append(slices.Clip(p.path), list, i)}
}

// lineAt returns the line of the node at a path, or of its closest ancestor that exists.
func lineAt(n ast.Node, path []any) int {
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

// member returns the key and value of the member with a key, or nil if there is none.
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

// lineOf returns the first line of a node, or zero if it has none.
func lineOf(n ast.Node) int {
	if all := members(n); len(all) > 0 {
		return all[0].Key.GetToken().Position.Line
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}
