package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mayfly/web/api"
)

func describeImport() description {
	return description{
		name: "import", summary: "Send the messages of an export, from standard input.", command: &importCommand{}, ends: clientEnds(),
		detail: "They are sent as they are read, so that there may be any number. One that is refused does not keep the others; the exit code is 1 then. A line that cannot be read ends the import, or is refused like a message with --unreadable skip.",
		examples: []example{
			{"mayfly import orders --dry-run < orders.jsonl", "Says how many there are, which lines are wrong, and what would expire or wait; sends nothing."},
			{"mayfly import orders < orders.jsonl", "Sends them with the time to live, the schedule and the ids that they had."},
			{"mayfly import copies --ttl remaining --schedule shift --ids new < orders.jsonl", "Has them expire when they would have, moves schedules by the age of the export, and gives them new ids."},
		},
	}
}

// importCommand sends messages of an export.
type importCommand struct {
	client
	Entity   string `arg:"" help:"Queue or topic."`
	TTL      string `name:"ttl" enum:"keep,remaining,drop" default:"keep" help:"Their time to live: keep begins anew, remaining leaves what is left of it, drop leaves it to the entity."`
	Schedule string `enum:"keep,shift,drop" default:"keep" help:"Scheduled ones: keep their time, shift it by the age of the export, or drop it."`
	IDs      string `name:"ids" enum:"keep,new" default:"keep" help:"Their MessageIds: keep, or new."`

	Unreadable string `enum:"stop,skip" default:"stop" help:"A line that cannot be read: stop there, or skip it."`
	DryRun     bool   `help:"Only say what would become of them. The exit code is 1 if a line would be refused."`
}

// Run sends.
func (c *importCommand) Run(ctx context.Context, s streams) error {
	to := fmt.Sprintf("%s?ttl=%s&schedule=%s&ids=%s&unreadable=%s", path("import", c.Entity), c.TTL, c.Schedule, c.IDs, c.Unreadable)
	if c.DryRun {
		return c.foresee(ctx, s, to+"&dryRun=true")
	}
	w, base, err := c.open(ctx, http.MethodPost, to, leaving(ctx, s.in))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var done api.Imported
	raw, err := c.read(ctx, base, w, &done)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.write(raw)
	} else {
		err = c.tell(s, done)
	}
	if err == nil && done.Failed > 0 {
		err = fmt.Errorf("%s refused", wereMessages(done.Failed))
	}
	return err
}

// foresee says what would become of the messages.
func (c *importCommand) foresee(ctx context.Context, s streams, to string) error {
	w, base, err := c.open(ctx, http.MethodPost, to, leaving(ctx, s.in))
	if err != nil {
		return err
	}
	defer w.Body.Close()
	var f api.ImportForecast
	raw, err := c.read(ctx, base, w, &f)
	if err != nil {
		return err
	}
	if c.JSON {
		err = s.write(raw)
	} else {
		err = c.tellForecast(s, f)
	}
	switch wrong := f.Refused + f.Unreadable; {
	case err != nil:
		return err
	case f.Full != nil:
		return fmt.Errorf("%s would be full at line %d", c.Entity, f.Full.Line)
	case f.Unreadable > 0 && c.Unreadable == "stop":
		return errors.New("the import would end at the first line that cannot be read; --unreadable skip passes over them")
	case wrong > 0:
		return fmt.Errorf("%s would be refused", messages(wrong))
	}
	return nil
}

func (c *importCommand) tellForecast(s streams, f api.ImportForecast) error {
	if err := tellLines(s, f.Failures); err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "Would import %s into %s.\n", messages(f.Messages), c.Entity)
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
	_, err := io.WriteString(s.out, text.String())
	return err
}

// tellLines names lines that are refused.
func tellLines(s streams, all []api.ImportFailure) error {
	for _, f := range all {
		if _, err := fmt.Fprintf(s.err, "mayfly: line %d: %s\n", f.Line, f.Detail); err != nil {
			return err
		}
	}
	return nil
}

func (c *importCommand) tell(s streams, done api.Imported) error {
	if err := tellLines(s, done.Failures); err != nil {
		return err
	}
	text := fmt.Sprintf("Imported %s into %s", messages(done.Imported), c.Entity)
	if done.Duplicates > 0 {
		text += fmt.Sprintf(", dropped %d as duplicates", done.Duplicates)
	}
	if done.Expired > 0 {
		text += fmt.Sprintf(", left out %d that had expired", done.Expired)
	}
	_, err := fmt.Fprintln(s.out, text+".")
	return err
}
