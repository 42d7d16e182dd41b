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
}

// commands is the command line.
type commands struct {
	Serve       serveCommand       `cmd:"" default:"withargs" help:"Start the broker. This is what happens without a command."`
	Send        sendCommand        `cmd:"" help:"Send a message to a queue or topic."`
	Peek        peekCommand        `cmd:"" help:"Look at messages without touching them."`
	Receive     receiveCommand     `cmd:"" help:"Take messages."`
	Purge       purgeCommand       `cmd:"" help:"Remove messages by state and filter, after asking."`
	Healthcheck healthcheckCommand `cmd:"" help:"Say whether a server answers, by the exit code."`
	Backup      backupCommand      `cmd:"" help:"Copy a store to a file, also beside its server."`
	Restore     restoreCommand     `cmd:"" help:"Restore a backup into an empty store."`
	Verify      verifyCommand      `cmd:"" help:"Check a store or a backup, by reading all of it."`
	Compact     compactCommand     `cmd:"" help:"Give room back that a store does not need any more."`

	Version kong.VersionFlag `help:"Print the version and exit."`
}

const about = `A message broker you can look inside. It speaks AMQP and HTTP as Azure Service Bus does, so that its SDKs connect unchanged, and shows in a browser what happens to every message.

Every flag of serve is also a variable: --http is MAYFLY_HTTP, --allow-host is MAYFLY_ALLOW_HOST. Flags win.`

// exited is how kong's wish to end the program, after --help, gets back here.
type exited int

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
	var c commands
	parser, err := kong.New(&c, kong.Name("mayfly"), kong.Description(about), kong.Writers(s.out, s.err),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100}),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s),
		kong.Vars{
			"version": version(), "data": tilde(defaultData()), "tls": tilde(defaultTLS()), "profiles": strings.Join(engine.Profiles(), ", "),
			"limits": strings.Join(engine.LimitNames(), ", "), "features": strings.ReplaceAll(engine.Features(math.MaxUint8).String(), ",", ", "),
		})
	if err != nil {
		panic(err) // the struct above is wrong
	}
	if unknown := unknownVariables(parser.Model.Node, environ); len(unknown) > 0 {
		return failed(s, exitUsage, fmt.Errorf("there is no variable %s; mayfly serve --help names those of the server", strings.Join(unknown, ", ")))
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		return failed(s, exitUsage, fmt.Errorf("%w; %s --help says how", err, asked(args, err)))
	}
	if err := chosen.Run(); err != nil {
		return failed(s, exitFailed, err)
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
	if chosen := e.Context.Selected(); chosen != nil && len(args) > 0 && args[0] == chosen.Name {
		return "mayfly " + chosen.Name
	}
	return "mayfly"
}

// failed says why, in one sentence. Several reasons, such as a configuration
// may have, are a line each.
func failed(s streams, code int, err error) int {
	if errors.Is(err, errStopped) {
		return exitInterrupted
	}
	fmt.Fprintln(s.err, "mayfly: "+err.Error()) //nolint:errcheck // there is nobody else to tell
	return code
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
