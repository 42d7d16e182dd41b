package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine/search"
	"mayfly/web/api"
)

// entitiesListCommand lists entities.
type entitiesListCommand struct {
	client
	FailEmpty bool     `name:"fail-empty" help:"Exit with code 5 if there is none."`
	Names     bool     `help:"Print only the paths."`
	Words     []string `arg:"" optional:"" help:"Only entities that match all terms, as in the filter of the dashboard: a part of the path, kind:queue, has:dlq, expiring:<5m, temp: (deleted when idle), temp:<10m, idle:>1h, dlq:>100, status:disabled. A minus in front negates a term."`
}

// Run lists entities. JSON is one entity a line.
func (c *entitiesListCommand) Run(ctx context.Context, s cli.Streams) error {
	filter := strings.Join(c.Words, " ")
	if _, err := search.ParseEntities(filter); err != nil {
		return cli.UsageErrorf("%w", err)
	}
	at := "/api/v1/entities"
	if filter != "" {
		at += "?filter=" + queryEscape(filter)
	}
	var answer struct {
		Entities []json.RawMessage `json:"entities"`
	}
	if _, err := c.request(ctx, http.MethodGet, at, nil, &answer, 0); err != nil {
		return err
	}
	var found []api.Entity
	var lines []json.RawMessage
	for _, raw := range answer.Entities {
		var e api.Entity
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("the server returned an entity that cannot be parsed: %w", err)
		}
		found, lines = append(found, e), append(lines, raw)
	}
	switch {
	case len(found) == 0 && c.FailEmpty:
		return cli.ErrNoEntity
	case c.JSON:
		return s.WriteLines(lines)
	case c.Names:
		return s.WriteRaw([]byte(printEntityNames(found)))
	case len(found) == 0:
		_, err := fmt.Fprintln(s.Out, "No queue, topic or subscription was found.")
		return err
	default:
		return printEntities(s, found, time.Now())
	}
}

func printEntityNames(all []api.Entity) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString(e.Path + "\n")
	}
	return b.String()
}

func printEntities(s cli.Streams, all []api.Entity, now time.Time) error {
	t := tabwriter.NewWriter(s.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PATH\tKIND\tACTIVE\tLOCKED\tDEFERRED\tSCHEDULED\tDEAD\tBYTES\tDELETED IN") //nolint:errcheck // Flush returns the error
	for _, e := range all {
		n := e.Counts
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", e.Path, e.Kind, n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter, e.Bytes, timeUntil(now, e.DeletesAt)) //nolint:errcheck // Flush returns the error
	}
	return t.Flush()
}

// totalMessages returns the number of messages without those in the transfer dead-letter subqueue.
func totalMessages(n api.Counts) int64 {
	return n.Active + n.Locked + n.Deferred + n.Scheduled + n.DeadLetter
}
