package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// A Command is what help, completion and the documentation contain about a command besides its
// flags and arguments, which are struct tags.
type Command struct {
	Name      string
	Summary   string // a sentence
	Detail    string // below the summary; may be empty
	Flags     any    // a pointer to the struct that kong parses flags and arguments into and calls Run on
	Tags      string // additional struct tags for kong; may be empty
	Examples  []Example
	ExitCodes []int // exit codes besides those of every command
}

// An Example is a command line and a sentence about its effect.
type Example struct{ Line, Text string }

// kongExit is the value with which kong panics after --help. Execute recovers it and returns the
// exit code in it.
type kongExit int

// Execute runs a command line of one of the commands and returns the exit code. Flags read their
// variables from the environment; environ is only searched for unknown MAYFLY_ variables.
func Execute(ctx context.Context, all []Command, args, environ []string, s Streams) (code int) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(kongExit)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	s = s.escaped()
	if slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, "MAYFLY_") }) {
		if unknown := UnknownVariables(Parser(ctx, s, all).Model.Node, environ); len(unknown) > 0 {
			return reportError(s, args, UsageErrorf("unknown environment variable %s%s; mayfly serve --help lists the server's variables", strings.Join(unknown, ", "), variablesHint(unknown)))
		}
	}
	chosen, err := ParserFor(ctx, s, all, args).Parse(args)
	if err != nil {
		return reportError(s, args, UsageErrorf("%w%s; see %s --help", err, renameHint(args, err), commandPath(args, err)))
	}
	if err := chosen.Run(); err != nil {
		return reportError(s, args, err)
	}
	return ExitOK
}

// commandPath returns the command that a command line names, with the program: mayfly serve if the
// line begins with a flag, or only mayfly if it names no command.
func commandPath(args []string, err error) string {
	if len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return "mayfly serve"
	}
	e, ok := errors.AsType[*kong.ParseError](err)
	if !ok || e.Context == nil {
		return "mayfly"
	}
	if chosen := e.Context.Selected(); chosen != nil && len(args) > 0 {
		for _, part := range strings.Fields(chosen.FullPath())[1:] {
			if !slices.Contains(args, part) {
				return "mayfly"
			}
		}
		return chosen.FullPath()
	}
	return "mayfly"
}

// UnknownVariables returns the variables that begin with MAYFLY_ and belong to no flag,
// except those that Kubernetes injects.
func UnknownVariables(root *kong.Node, environ []string) (unknown []string) {
	known := map[string]bool{}
	var learn func(*kong.Node)
	learn = func(n *kong.Node) {
		for _, f := range n.Flags {
			for _, name := range f.Envs {
				known[name] = true
			}
		}
		for _, child := range n.Children {
			learn(child)
		}
	}
	learn(root)
	for _, e := range environ {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, "MAYFLY_") && !known[name] && !isServiceLink(name, value) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}
