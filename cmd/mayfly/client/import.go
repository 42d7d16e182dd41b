package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeImport() cli.Command {
	return cli.Command{
		Name: "import", Summary: "Send the messages of an export from standard input.", Flags: &importCommand{}, ExitCodes: exitCodes(),
		Detail: "Messages are sent while the input is read, so the input may be of any size. A refused message does not stop the import, but the exit code is then 1. A line that cannot be read stops the import; with --unreadable skip, it counts as a refused message.",
		Examples: []cli.Example{
			{Line: "mayfly import orders --dry-run < orders.jsonl", Text: "Count the messages, and list invalid lines and messages that would expire or be scheduled, without sending anything."},
			{Line: "mayfly import orders < orders.jsonl", Text: "Send the messages with their original time to live, schedule and ids."},
			{Line: "mayfly import copies --ttl remaining --schedule shift --ids new < orders.jsonl", Text: "Send the messages with their original expiry times and new ids, and shift schedules by the age of the export."},
		},
	}
}

// importCommand sends the messages of an export.
type importCommand struct {
	client
	Entity   string `arg:"" help:"Queue or topic."`
	TTL      string `name:"ttl" enum:"keep,remaining,drop" default:"keep" help:"Time to live: \"keep\" starts it again from the full value, \"remaining\" keeps the original expiry time, \"drop\" uses the default of the entity."`
	Schedule string `enum:"keep,shift,drop" default:"keep" help:"Scheduled messages: keep the time, shift it by the age of the export, or drop it."`
	IDs      string `name:"ids" enum:"keep,new" default:"keep" help:"\"keep\" the original MessageIds, or generate \"new\" ones."`

	Unreadable string `enum:"stop,skip" default:"stop" help:"At a line that cannot be read: stop, or skip it."`
	DryRun     bool   `help:"Show what would happen, and send nothing. The exit code is 1 if a line would be refused."`
}

// Run sends the messages.
func (c *importCommand) Run(ctx context.Context, s cli.Streams) error {
	to := fmt.Sprintf("%s?ttl=%s&schedule=%s&ids=%s&unreadable=%s", APIPath("import", c.Entity), c.TTL, c.Schedule, c.IDs, c.Unreadable)
	if c.DryRun {
		return c.previewImport(ctx, s, to+"&dryRun=true")
	}
	w, base, err := c.openResponse(ctx, http.MethodPost, to, cli.CancellableReader(ctx, s.In))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var done api.Imported
	raw, err := c.readResponse(ctx, base, w, &done)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.WriteRaw(raw)
	} else {
		err = c.printResult(s, done)
	}
	if err == nil && done.Failed > 0 {
		err = fmt.Errorf("%s refused", messageCountWas(done.Failed))
	}
	return err
}

// previewImport sends the messages to the dry run at the address `to`, and prints the result. The
// error says that the import would stop, or that messages would be refused.
func (c *importCommand) previewImport(ctx context.Context, s cli.Streams, to string) error {
	w, base, err := c.openResponse(ctx, http.MethodPost, to, cli.CancellableReader(ctx, s.In))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var f api.ImportPreview
	raw, err := c.readResponse(ctx, base, w, &f)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.WriteRaw(raw)
	} else {
		err = c.printForecast(s, f)
	}
	switch wrong := f.Refused + f.Unreadable; {
	case err != nil:
		return err
	case f.Full != nil:
		return fmt.Errorf("%s would be full at line %d", c.Entity, f.Full.Line)
	case f.Unreadable > 0 && c.Unreadable == "stop":
		return errors.New("the import would stop at the first line that cannot be read; --unreadable skip skips such lines")
	case wrong > 0:
		return fmt.Errorf("%s would be refused", cli.MessageCount(wrong))
	}
	return nil
}

func (c *importCommand) printForecast(s cli.Streams, f api.ImportPreview) error {
	if err := printImportFailures(s, f.Failures); err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Would import %s into %s.\n", cli.MessageCount(f.Messages), c.Entity)
	for _, part := range []struct {
		n    int64
		what string
	}{
		{f.Duplicates, "dropped as duplicates"}, {f.ExpireAtOnce, "expire at once"}, {f.Scheduled, "wait for their time"},
		{f.ScheduledPast, "were scheduled for a time that has passed, and are sent at once"}, {f.Expired, "left out: they had expired"},
		{f.Refused, "refused"}, {f.Unreadable, "lines that cannot be read"},
	} {
		if part.n > 0 {
			fmt.Fprintf(&text, "%8d %s\n", part.n, part.what)
		}
	}
	_, err := io.WriteString(s.Out, text.String())
	return err
}

// printImportFailures prints the lines that are refused.
func printImportFailures(s cli.Streams, all []api.ImportFailure) error {
	for _, f := range all {
		if _, err := fmt.Fprintf(s.Err, "mayfly: line %d: %s\n", f.Line, cli.Printable(f.Detail, 1000)); err != nil {
			return err
		}
	}
	return nil
}

func (c *importCommand) printResult(s cli.Streams, done api.Imported) error {
	if err := printImportFailures(s, done.Failures); err != nil {
		return err
	}
	text := fmt.Sprintf("Imported %s into %s", cli.MessageCount(done.Imported), c.Entity)
	if done.Duplicates > 0 {
		text += fmt.Sprintf(", dropped %d as duplicates", done.Duplicates)
	}
	if done.Expired > 0 {
		text += fmt.Sprintf(", skipped %d that had expired", done.Expired)
	}
	_, err := fmt.Fprintln(s.Out, text+".")
	return err
}
