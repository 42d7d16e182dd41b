package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeDefinitions() cli.Command {
	return cli.Command{
		Name: "definitions", Summary: "Export or import entities and rules as a Config.json file.", Flags: &definitionsCommand{}, ExitCodes: exitCodes(),
		Detail: "The file has the format of the official emulator, as for serve --config. Entities that it does not name stay unchanged. Nothing is deleted except rules that are missing from a subscription's list. All errors in the file are reported before anything changes.",
		Examples: []cli.Example{
			{Line: "mayfly definitions export > Config.json", Text: "Save the entities and rules to a file."},
			{Line: "mayfly definitions import --dry-run < Config.json", Text: "Show what an import would create and change."},
			{Line: "mayfly definitions import < Config.json", Text: "Create and update the entities and rules in the file."},
		},
	}
}

// definitionsCommand groups the subcommands for definitions.
type definitionsCommand struct {
	Export definitionsExportCommand `cmd:"" help:"Write entities and rules to standard output."`
	Import definitionsImportCommand `cmd:"" help:"Create and update entities and rules from a file on standard input."`
}

// definitionsExportCommand prints the entities as a Config.json.
type definitionsExportCommand struct{ client }

// Run prints the Config.json.
func (c *definitionsExportCommand) Run(ctx context.Context, s cli.Streams) error {
	raw, err := c.request(ctx, http.MethodGet, "/api/v1/definitions", nil, nil, 0)
	if err != nil {
		return err
	}
	if c.JSON { // one line, as all JSON output
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return fmt.Errorf("the server returned definitions that cannot be parsed: %w", err)
		}
		raw = b.Bytes()
	}
	return s.WriteRaw(raw)
}

// definitionsImportCommand applies a Config.json.
type definitionsImportCommand struct {
	client
	DryRun bool `help:"Show what would change, and change nothing."`
}

// Run applies the Config.json or, with --dry-run, prints the steps.
func (c *definitionsImportCommand) Run(ctx context.Context, s cli.Streams) error {
	to := "/api/v1/definitions"
	if c.DryRun {
		to += "?dryRun=true"
	}
	w, base, err := c.openResponse(ctx, http.MethodPost, to, cli.CancellableReader(ctx, s.In))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var done api.DefinitionsResult
	raw, err := c.readResponse(ctx, base, w, &done)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.WriteRaw(raw)
	}
	if err := printWarnings(s, done.Warnings); err != nil {
		return err
	}
	var text strings.Builder
	for _, step := range done.Steps {
		text.WriteString(describeDefinitionStep(step))
	}
	did := "Did"
	if c.DryRun {
		did = "Would do"
	}
	fmt.Fprintf(&text, "%s %s; %s unchanged.\n", did, cli.Pluralize(int64(len(done.Steps)), "step", "steps"), cli.Pluralize(int64(len(done.Unchanged)), "entity is", "entities are"))
	_, err = io.WriteString(s.Out, text.String())
	return err
}

// describeDefinitionStep returns a line for each change of a step.
func describeDefinitionStep(step api.DefinitionStep) string {
	at := step.Action + " " + cli.Printable(step.Path, 400)
	if step.Rule != "" {
		at += ": " + cli.Printable(step.Rule, 100)
	}
	if len(step.Changes) == 0 {
		return at + "\n"
	}
	var text strings.Builder
	for _, ch := range step.Changes {
		fmt.Fprintf(&text, "%s: %s %s -> %s\n", at, ch.Property, cli.Printable(cmp.Or(ch.From, "(none)"), 200), cli.Printable(cmp.Or(ch.To, "(none)"), 200))
	}
	return text.String()
}

// printWarnings prints warnings about parts of a Config.json without effect to standard error.
func printWarnings(s cli.Streams, of []api.DefinitionWarning) error {
	for _, w := range of {
		if _, err := fmt.Fprintf(s.Err, "warning: %s: %s\n", cli.Printable(w.Position, 400), cli.Printable(w.Reason, 400)); err != nil {
			return err
		}
	}
	return nil
}
