package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mayfly/web/api"
)

func describeSearch() description {
	return description{
		name: "search", summary: "Find messages over all entities, by words, bodies, properties and state.", command: &searchCommand{}, ends: clientEnds(exitEmpty),
		detail: "The query is that of the search page: words, \"phrases\" and terms such as subject:order*, prop.region:eu, json.customer.id:42, state:dead, age:>5m. All must be true; a minus turns one round, and -- stands before a query that begins with one. Hits are printed as they are found.",
		examples: []example{
			{"mayfly search state:dead 'reason:MaxDelivery*'", "Lists dead letters by their reason."},
			{`mayfly search '"order 17"' --in orders`, "Lists messages of one queue that have a phrase."},
			{"mayfly search json.customer.id:42 --max 1000 --json | jq -r .key", "Has the key of each."},
			{"mayfly search -- -prop.region:eu", "Lists those of which a term is not true."},
		},
	}
}

// searchCommand finds messages.
type searchCommand struct {
	client
	failEmpty
	Query []string `arg:"" help:"What to find."`
	In    string   `placeholder:"PATH" help:"Only in this entity, with its dead letters; of a topic in its subscriptions. * stands for any text. Default: everywhere."`
	Max   int      `default:"100" help:"How many to find at most."`
	From  string   `placeholder:"MARK" help:"Where to go on, as a search said that was not at its end."`
}

// A searchLine is a line of an answer; one of its members is there.
type searchLine struct {
	Hit      json.RawMessage `json:"hit"`
	Progress *api.Scanned    `json:"progress"`
	End      *api.Finished   `json:"end"`
}

// Run finds. An answer that was cut off is an error.
func (c *searchCommand) Run(ctx context.Context, s streams) error {
	to := fmt.Sprintf("/api/v1/search?q=%s&max=%d", escaped(strings.Join(c.Query, " ")), c.Max)
	if c.In != "" {
		to += "&in=" + escaped(c.In)
	}
	if c.From != "" {
		to += "&from=" + escaped(c.From)
	}
	w, base, err := c.open(ctx, http.MethodGet, to, http.NoBody)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if w.StatusCode >= http.StatusBadRequest {
		_, err := c.read(ctx, base, w, nil)
		return err
	}
	end, err := c.pass(s, w.Body)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	s.progress("")
	if end.Hits == 0 && end.Next == "" {
		return c.empty(s, c.JSON)
	}
	return c.told(s, *end)
}

// pass prints hits as they come, until the last line.
func (c *searchCommand) pass(s streams, from io.Reader) (*api.Finished, error) {
	for r := bufio.NewReader(from); ; {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the search was cut off: %w", err)
		}
		var l searchLine
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("the server tells of a search in a way that cannot be read: %w", err)
		}
		switch {
		case l.End != nil:
			return l.End, nil
		case l.Progress != nil:
			s.progress(fmt.Sprintf("%d of %d scanned, %d found", l.Progress.Scanned, l.Progress.Total, l.Progress.Hits))
		case l.Hit != nil:
			if err := c.print(s, l.Hit); err != nil {
				return nil, err
			}
		}
	}
}

func (c *searchCommand) print(s streams, raw json.RawMessage) error {
	if c.JSON {
		return s.writeLines([]json.RawMessage{raw})
	}
	var m api.Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("the server tells of a message in a way that cannot be read: %w", err)
	}
	s.progress("")
	line := []string{m.Path, fmt.Sprintf("#%d", m.SequenceNumber), m.State, size(m.Size)}
	for _, part := range []struct{ name, text string }{{"id", m.MessageID}, {"subject", m.Subject}} {
		if part.text != "" {
			line = append(line, part.name+" "+printable(part.text, 60))
		}
	}
	_, err := fmt.Fprintln(s.out, strings.Join(line, "  "))
	return err
}

// told says on standard error how much was looked at, and how to go on.
func (c *searchCommand) told(s streams, end api.Finished) error {
	text := fmt.Sprintf("%d found in %s", end.Hits, messages(end.Scanned.Scanned))
	if end.Cut > 0 {
		text += fmt.Sprintf("; of %d only the first MiB was looked at", end.Cut)
	}
	if end.Next != "" {
		text += "; go on with --from '" + end.Next + "'"
	}
	_, err := fmt.Fprintln(s.err, text)
	return err
}
