package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mayfly/web/api"
)

func describeDefinitions() description {
	return description{
		name: "definitions", summary: "Write all entities and rules as a Config.json, or make them what such a file says.", command: &definitionsCommand{}, ends: clientEnds(),
		detail: "The file is that of the official emulator, and of serve --config. What it does not name stays as it is, and nothing is deleted but rules that a subscription's list does not have. All that is wrong with it is found before anything changes.",
		examples: []example{
			{"mayfly definitions export > Config.json", "Keeps what there is."},
			{"mayfly definitions import --dry-run < Config.json", "Says what the file would make and change."},
			{"mayfly definitions import < Config.json", "Makes and changes it."},
		},
	}
}

// definitionsCommand is what can be done with definitions.
type definitionsCommand struct {
	Export definitionsExportCommand `cmd:"" help:"Write them to standard output."`
	Import definitionsImportCommand `cmd:"" help:"Make entities and rules what a file on standard input says."`
}

// definitionsExportCommand writes a Config.json.
type definitionsExportCommand struct{ client }

// Run writes.
func (c *definitionsExportCommand) Run(ctx context.Context, s streams) error {
	raw, err := c.ask(ctx, http.MethodGet, "/api/v1/definitions", nil, nil, 0)
	if err != nil {
		return err
	}
	if c.JSON { // on one line, as all JSON
		var b bytes.Buffer
		if err := json.Compact(&b, raw); err != nil {
			return fmt.Errorf("the server's definitions cannot be read: %w", err)
		}
		raw = b.Bytes()
	}
	return s.write(raw)
}

// definitionsImportCommand applies a Config.json.
type definitionsImportCommand struct {
	client
	DryRun bool `help:"Only say what would be done."`
}

// Run applies.
func (c *definitionsImportCommand) Run(ctx context.Context, s streams) error {
	to := "/api/v1/definitions"
	if c.DryRun {
		to += "?dryRun=true"
	}
	w, base, err := c.open(ctx, http.MethodPost, to, leaving(ctx, s.in))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var done api.Redefined
	raw, err := c.read(ctx, base, w, &done)
	if err != nil {
		return err
	}
	if c.JSON {
		return s.write(raw)
	}
	var text strings.Builder
	for _, step := range done.Steps {
		text.WriteString(tellStep(step))
	}
	did := "Did"
	if c.DryRun {
		did = "Would do"
	}
	fmt.Fprintf(&text, "%s %s; %s as the file says.\n", did, counted(int64(len(done.Steps)), "step", "steps"), counted(int64(len(done.Unchanged)), "entity is", "entities are"))
	_, err = io.WriteString(s.out, text.String())
	return err
}

// tellStep is a line for each thing that a step changes.
func tellStep(step api.DefinitionStep) string {
	at := step.Do + " " + printable(step.Path, 400)
	if step.Rule != "" {
		at += ": " + printable(step.Rule, 100)
	}
	if len(step.Changes) == 0 {
		return at + "\n"
	}
	var text strings.Builder
	for _, ch := range step.Changes {
		fmt.Fprintf(&text, "%s: %s %s -> %s\n", at, ch.Property, printable(cmp.Or(ch.Was, "(none)"), 200), printable(cmp.Or(ch.Is, "(none)"), 200))
	}
	return text.String()
}
