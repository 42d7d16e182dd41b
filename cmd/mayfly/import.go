package main

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"mayfly/web/api"
)

func describeImport() description {
	return description{
		name: "import", summary: "Send the messages of an export, from standard input.", command: &importCommand{}, ends: clientEnds(),
		detail: "They are sent as they are read, so that there may be any number. One that is refused does not keep the others; the exit code is 1 then. A line that cannot be read ends the import.",
		examples: []example{
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
}

// Run sends.
func (c *importCommand) Run(ctx context.Context, s streams) error {
	to := fmt.Sprintf("%s?ttl=%s&schedule=%s&ids=%s", path("import", c.Entity), c.TTL, c.Schedule, c.IDs)
	w, base, err := c.open(ctx, http.MethodPost, to, io.NopCloser(s.in))
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

func (c *importCommand) tell(s streams, done api.Imported) error {
	for _, f := range done.Failures {
		if _, err := fmt.Fprintf(s.err, "mayfly: line %d: %s\n", f.Line, f.Detail); err != nil {
			return err
		}
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
