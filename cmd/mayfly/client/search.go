package client

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/web/api"
)

func describeSearch() cli.Command {
	return cli.Command{
		Name: "search", Summary: "Search the messages of all entities by text, properties, body fields and state.", Flags: &searchCommand{}, ExitCodes: exitCodes(cli.ExitEmpty),
		Detail: "The query has the syntax of the search page: words, \"phrases\" and terms such as subject:order*, prop.region:eu, json.customer.id:42, state:dead, age:>5m. A message must match all of them. A minus negates a term; write -- before a query that begins with a minus. Matches are printed as they are found.",
		Examples: []cli.Example{
			{Line: "mayfly search state:dead 'reason:MaxDelivery*'", Text: "List dead letters with a matching reason."},
			{Line: `mayfly search '"order 17"' --in orders`, Text: "List the messages of a queue that contain a phrase."},
			{Line: "mayfly search json.customer.id:42 --limit 1000 --json | jq -r .key", Text: "Print the key of each match."},
			{Line: "mayfly search -- -prop.region:eu", Text: "List messages that do not match a term."},
		},
	}
}

// searchCommand searches messages.
type searchCommand struct {
	client
	failEmptyFlag
	Query  []string `arg:"" help:"Query."`
	In     string   `placeholder:"PATH" help:"Search only this entity and its dead letters; for a topic, its subscriptions. * matches any text. Default: all entities."`
	Limit  int      `default:"100" help:"Maximum number of messages to find."`
	Cursor string   `placeholder:"CURSOR" help:"Continue a search from the cursor that the previous search printed."`
}

// A searchLine is a line of a response. One of its members is set.
type searchLine struct {
	Hit      json.RawMessage `json:"hit"`
	Progress *api.Scanned    `json:"progress"`
	End      *api.Finished   `json:"end"`
}

// Run searches. An incomplete response is an error.
func (c *searchCommand) Run(ctx context.Context, s cli.Streams) error {
	to := fmt.Sprintf("/api/v1/search?q=%s&limit=%d", queryEscape(strings.Join(c.Query, " ")), c.Limit)
	if c.In != "" {
		to += "&in=" + queryEscape(c.In)
	}
	if c.Cursor != "" {
		to += "&cursor=" + queryEscape(c.Cursor)
	}
	w, base, err := c.openResponse(ctx, http.MethodGet, to, http.NoBody)
	if err != nil {
		return err
	}
	defer w.Body.Close()
	if w.StatusCode >= http.StatusBadRequest {
		_, err := c.readResponse(ctx, base, w, nil)
		return err
	}
	end, err := c.printHits(s, w.Body)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	s.ShowProgress("")
	if end.Hits == 0 && end.Next == "" {
		return c.reportEmpty(s, c.JSON)
	}
	return c.printSummary(s, *end)
}

// printHits prints hits as they arrive, and returns the last line, which describes the whole search.
// A response without that line is an error.
func (c *searchCommand) printHits(s cli.Streams, from io.Reader) (*api.Finished, error) {
	for r := bufio.NewReader(from); ; {
		text, err := r.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("the search was cut off: %w", err)
		}
		var l searchLine
		if err := json.Unmarshal(text, &l); err != nil {
			return nil, fmt.Errorf("the server returned a search that cannot be parsed: %w", err)
		}
		switch {
		case l.End != nil:
			return l.End, nil
		case l.Progress != nil:
			s.ShowProgress(fmt.Sprintf("%d of %d scanned, %d found", l.Progress.Scanned, l.Progress.Total, l.Progress.Hits))
		case l.Hit != nil:
			if err := c.printHit(s, l.Hit); err != nil {
				return nil, err
			}
		}
	}
}

func (c *searchCommand) printHit(s cli.Streams, raw json.RawMessage) error {
	if c.JSON {
		return s.WriteLines([]json.RawMessage{raw})
	}
	var m api.Message
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("the server returned a message that cannot be parsed: %w", err)
	}
	s.ShowProgress("")
	line := []string{m.Path, fmt.Sprintf("#%d", m.SequenceNumber), m.State, cli.FormatSize(m.Size)}
	for _, part := range []struct{ name, text string }{{"id", m.MessageID}, {"subject", m.Subject}} {
		if part.text != "" {
			line = append(line, part.name+" "+cli.Printable(part.text, 60))
		}
	}
	_, err := fmt.Fprintln(s.Out, strings.Join(line, "  "))
	return err
}

// printSummary prints how many messages were searched, and how to continue, to standard error.
func (c *searchCommand) printSummary(s cli.Streams, end api.Finished) error {
	text := fmt.Sprintf("%d found in %s", end.Hits, cli.MessageCount(end.Scanned.Scanned))
	if end.TruncatedBodies > 0 {
		text += fmt.Sprintf("; only the first MiB of %d was searched", end.TruncatedBodies)
	}
	if end.Next != "" {
		text += "; go on with --cursor '" + end.Next + "'"
	}
	_, err := fmt.Fprintln(s.Err, text)
	return err
}
