package cli

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"mayfly/engine"
)

// newParser returns a parser for the commands in some. The Run methods of commands get all.
func newParser(ctx context.Context, s Streams, all, some []Command) *kong.Kong {
	var root struct {
		Version kong.VersionFlag `help:"Print the version and exit."`
	}
	options := []kong.Option{
		kong.Name("mayfly"), kong.Description(programHelp), kong.Writers(s.Out, s.Err),
		kong.Help(helpPrinter(some)), kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { panic(kongExit(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s, all),
		kong.Vars{
			"version": Version(), "data": AbbreviateHome(DefaultDataFile()), "tls": AbbreviateHome(DefaultTLSDir()), "profiles": strings.Join(engine.Profiles(), ", "),
			"limits": strings.Join(engine.LimitNames(), ", "), "features": strings.ReplaceAll(engine.Features(math.MaxUint8).String(), ",", ", "),
		},
	}
	for _, d := range some {
		options = append(options, kong.DynamicCommand(d.Name, d.Summary, "", d.Flags, d.Tags))
	}
	k, err := kong.New(&root, options...)
	if err != nil {
		panic(err) // the struct tags of a command are invalid
	}
	for i, d := range some {
		k.Model.Children[i].Detail = d.Detail
	}
	return k
}

// Parser returns a parser for all commands. It parses flags and arguments into the structs in
// Command.Flags.
func Parser(ctx context.Context, s Streams, all []Command) *kong.Kong {
	return newParser(ctx, s, all, all)
}

// ParserFor returns a parser for one command line. If the first word is the name of a command, the
// parser contains only that command, because building all of them takes about 50 ms.
func ParserFor(ctx context.Context, s Streams, all []Command, args []string) *kong.Kong {
	if len(args) > 0 {
		if i := slices.IndexFunc(all, func(d Command) bool { return d.Name == args[0] }); i >= 0 {
			return newParser(ctx, s, all, all[i:i+1])
		}
	}
	return Parser(ctx, s, all)
}
