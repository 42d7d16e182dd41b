package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

const programHelp = `A message broker you can look inside. It speaks AMQP and HTTP as Azure Service Bus does, so that its SDKs connect unchanged, and shows in a browser what happens to every message.

Every flag of serve is also a variable: --http is MAYFLY_HTTP, --allow-host is MAYFLY_ALLOW_HOST. Flags win.`

// HelpFooter returns the help text below the flags.
func (d Command) HelpFooter() string {
	var b strings.Builder
	b.WriteString("\n")
	if len(d.Examples) > 0 {
		b.WriteString("Examples:\n")
	}
	for _, e := range d.Examples {
		fmt.Fprintf(&b, "  %s\n      %s\n", e.Line, e.Text)
	}
	if len(d.Examples) > 0 {
		b.WriteString("\n")
	}
	b.WriteString("Exit codes:\n")
	for _, e := range ExitCodes() {
		if e.Code <= ExitUsage || e.Code == ExitInterrupted || slices.Contains(d.ExitCodes, e.Code) {
			fmt.Fprintf(&b, "  %3d  %s\n", e.Code, e.Meaning)
		}
	}
	return b.String()
}

// helpPrinter prints kong's help for one of these commands, then its examples and exit codes.
func helpPrinter(all []Command) kong.HelpPrinter {
	return func(o kong.HelpOptions, c *kong.Context) error {
		if err := kong.DefaultHelpPrinter(o, c); err != nil || c.Selected() == nil {
			return err
		}
		for _, d := range all {
			if strings.HasPrefix(c.Selected().Path()+" ", d.Name+" ") {
				_, err := io.WriteString(c.Stdout, d.HelpFooter())
				return err
			}
		}
		return nil
	}
}
