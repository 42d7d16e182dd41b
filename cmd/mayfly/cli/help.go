package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

const programHelp = `A message broker you can look inside. It speaks AMQP and HTTP as Azure Service Bus does, so that Azure's SDKs connect unchanged, and shows in a browser what happens to every message.

Every flag of serve can also be set with an environment variable: MAYFLY_HTTP for --http, MAYFLY_ALLOW_HOST for --allow-host. Flags take precedence.`

// HelpFooter returns the help text below the flags of n, which is the command itself or one of its
// subcommands.
func (d Command) HelpFooter(n *kong.Node) string {
	var b strings.Builder
	b.WriteString("\n")
	examples := d.ExamplesOf(n)
	if len(examples) > 0 {
		b.WriteString("Examples:\n")
	}
	for _, e := range examples {
		fmt.Fprintf(&b, "  %s\n      %s\n", e.Line, e.Text)
	}
	if len(examples) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("Exit codes:\n")
	for _, e := range ExitCodes() {
		if e.Code == ExitEmpty && !hasFlag(n, "fail-empty") {
			continue
		}
		if e.Code <= ExitUsage || e.Code == ExitInterrupted || slices.Contains(d.ExitCodes, e.Code) {
			fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.Meaning)
		}
	}
	return b.String()
}

// hasFlag reports whether a command or one of its subcommands has a flag.
func hasFlag(n *kong.Node, name string) bool {
	return slices.ContainsFunc(n.Flags, func(f *kong.Flag) bool { return f.Name == name }) ||
		slices.ContainsFunc(n.Children, func(c *kong.Node) bool { return hasFlag(c, name) })
}

// ExamplesOf returns the examples that run n, a subcommand of d. If n is d itself, it returns
// all examples.
func (d Command) ExamplesOf(n *kong.Node) []Example {
	if n.Path() == d.Name {
		return d.Examples
	}
	return slices.DeleteFunc(slices.Clone(d.Examples), func(e Example) bool { return !runs(e.Line, n) })
}

// runs reports whether a shell line runs the subcommand n, by its name or as the default of its
// parent.
func runs(line string, n *kong.Node) bool {
	_, args, found := strings.Cut(line+" ", "mayfly "+n.Parent.Path()+" ")
	if !found {
		return false
	}
	first, _, _ := strings.Cut(args, " ")
	for _, sibling := range n.Parent.Children {
		if sibling.Name == first {
			return sibling == n
		}
	}
	return n == n.Parent.DefaultCmd
}

// helpPrinter prints kong's help for one of these commands, then its examples and exit codes.
func helpPrinter(all []Command) kong.HelpPrinter {
	return func(o kong.HelpOptions, c *kong.Context) error {
		if err := kong.DefaultHelpPrinter(o, c); err != nil || c.Selected() == nil {
			return err
		}
		for _, d := range all {
			if strings.HasPrefix(c.Selected().Path()+" ", d.Name+" ") {
				_, err := io.WriteString(c.Stdout, d.HelpFooter(c.Selected()))
				return err
			}
		}
		return nil
	}
}
