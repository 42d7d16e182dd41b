package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"mayfly/engine"
)

// streams are where the program reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	terminal terminal // what is known of out and err as a terminal
}

// commands are what the program can be asked to do, in the order in which help
// has them. Each is described in the file that it is in.
func commands() []description {
	return []description{
		describeServe(),
		describeSend(), describePeek(), describeReceive(), describeWatch(), describeSearch(), describePurge(), describeResubmit(), describeJobs(), describeAlerts(), describeExport(), describeImport(), describeDefinitions(), describeEntities(), describeNamespaces(), describeUsers(), describeTokens(), describeViews(), describeTemplates(), describeScenes(), describeHealthcheck(),
		describeBackup(), describeRestore(), describeVerify(), describeCompact(),
		describeCompletion(),
	}
}

// A description is all that help, completion and the README know of a command
// beside its flags and arguments, which are tags of its fields.
type description struct {
	name     string
	summary  string // a sentence
	detail   string // below the summary; may be empty
	command  any    // a pointer to what kong fills in and runs
	tags     string // for kong; mostly empty
	examples []example
	ends     []int // exit codes beside those that every command has
}

// An example is a line as somebody may type it, and what it does.
type example struct{ line, what string }

// after is what help says below the flags.
func (d description) after() string {
	var b strings.Builder
	b.WriteString("\n")
	if len(d.examples) > 0 {
		b.WriteString("Examples:\n")
	}
	for _, e := range d.examples {
		fmt.Fprintf(&b, "  %s\n      %s\n", e.line, e.what)
	}
	if len(d.examples) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("Exit codes:\n")
	for _, e := range exits() {
		if e.code <= exitUsage || e.code == exitInterrupted || slices.Contains(d.ends, e.code) {
			fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.meaning)
		}
	}
	return b.String()
}

// clientEnds are the exit codes of a command that asks a server.
func clientEnds(more ...int) []int {
	return append([]int{exitNotFound, exitRefused, exitUnreachable}, more...)
}

const about = `A message broker you can look inside. It speaks AMQP and HTTP as Azure Service Bus does, so that its SDKs connect unchanged, and shows in a browser what happens to every message.

Every flag of serve is also a variable: --http is MAYFLY_HTTP, --allow-host is MAYFLY_ALLOW_HOST. Flags win.`

// exited is how kong's wish to end the program, after --help, gets back here.
type exited int

// parser is the command line's. What is parsed is written into the commands that
// it was made with.
func parser(ctx context.Context, s streams) *kong.Kong {
	var root struct {
		Version kong.VersionFlag `help:"Print the version and exit."`
	}
	all := commands()
	options := []kong.Option{
		kong.Name("mayfly"), kong.Description(about), kong.Writers(s.out, s.err),
		kong.Help(help), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s),
		kong.Vars{
			"version": version(), "data": tilde(defaultData()), "tls": tilde(defaultTLS()), "profiles": strings.Join(engine.Profiles(), ", "),
			"limits": strings.Join(engine.LimitNames(), ", "), "features": strings.ReplaceAll(engine.Features(math.MaxUint8).String(), ",", ", "),
		},
	}
	for _, d := range all {
		options = append(options, kong.DynamicCommand(d.name, d.summary, "", d.command, d.tags))
	}
	k, err := kong.New(&root, options...)
	if err != nil {
		panic(err) // a command's fields are wrong
	}
	for i, d := range all {
		k.Model.Children[i].Detail = d.detail
	}
	return k
}

// help prints what kong knows of a command, and then what we do.
func help(o kong.HelpOptions, c *kong.Context) error {
	if err := kong.DefaultHelpPrinter(o, c); err != nil || c.Selected() == nil {
		return err
	}
	for _, d := range commands() {
		if strings.HasPrefix(c.Selected().Path()+" ", d.name+" ") {
			_, err := io.WriteString(c.Stdout, d.after())
			return err
		}
	}
	return nil
}

// execute runs one command line and returns the exit code. Variables are read
// from the environment; environ is looked through for those nobody knows.
func execute(ctx context.Context, args, environ []string, s streams) (code int) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(exited)
			if !ok {
				panic(r)
			}
			code = int(e)
		}
	}()
	p := parser(ctx, s)
	if unknown := unknownVariables(p.Model.Node, environ); len(unknown) > 0 {
		return failed(s, args, misused("there is no variable %s; mayfly serve --help names those of the server", strings.Join(unknown, ", ")))
	}
	chosen, err := p.Parse(args)
	if err != nil {
		return failed(s, args, misused("%w; %s --help says how", err, asked(args, err)))
	}
	if err := chosen.Run(); err != nil {
		return failed(s, args, err)
	}
	return exitOK
}

// asked is the command that a line was for: the first word, serve where that is
// a flag, or the program where it names no command.
func asked(args []string, err error) string {
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

// unknownVariables are those that begin with MAYFLY_ and belong to no flag.
func unknownVariables(root *kong.Node, environ []string) (unknown []string) {
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
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "MAYFLY_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

// version is what the program was built from, as far as it is known.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "mayfly (unknown version)"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "mayfly " + info.Main.Version + " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return "mayfly " + info.Main.Version
}
