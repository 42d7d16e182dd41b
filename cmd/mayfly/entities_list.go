package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/engine/search"
	"mayfly/web/api"
)

// entitiesListCommand lists entities.
type entitiesListCommand struct {
	client
	FailEmpty bool     `name:"fail-empty" help:"End with 5 if there is none."`
	Names     bool     `help:"Print the paths alone."`
	Words     []string `arg:"" optional:"" help:"Only those of which all is true, as in the filter of the pages: a part of the path, kind:queue, has:dlq, expiring:<5m, temp: for those that are deleted when nobody uses them, temp:<10m, idle:>1h, dlq:>100, status:disabled; with a minus before it, the contrary."`
}

// Run lists. JSON is one entity a line.
func (c *entitiesListCommand) Run(ctx context.Context, s streams) error {
	filter := strings.Join(c.Words, " ")
	if _, err := search.ParseEntities(filter); err != nil {
		return misused("%w", err)
	}
	at := "/api/v1/entities"
	if filter != "" {
		at += "?filter=" + escaped(filter)
	}
	var answer struct {
		Entities []json.RawMessage `json:"entities"`
	}
	if _, err := c.ask(ctx, http.MethodGet, at, nil, &answer, 0); err != nil {
		return err
	}
	var found []api.Entity
	var lines []json.RawMessage
	for _, raw := range answer.Entities {
		var e api.Entity
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("the server tells of an entity in a way that cannot be read: %w", err)
		}
		found, lines = append(found, e), append(lines, raw)
	}
	switch {
	case len(found) == 0 && c.FailEmpty:
		return errNoEntity
	case c.JSON:
		return s.writeLines(lines)
	case c.Names:
		return s.write([]byte(names(found)))
	case len(found) == 0:
		_, err := fmt.Fprintln(s.out, "There is no such queue, topic or subscription.")
		return err
	default:
		return printEntities(s, found, time.Now())
	}
}

func names(all []api.Entity) string {
	var b strings.Builder
	for _, e := range all {
		b.WriteString(e.Path + "\n")
	}
	return b.String()
}

func printEntities(s streams, all []api.Entity, now time.Time) error {
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "PATH\tKIND\tACTIVE\tLOCKED\tDEFERRED\tSCHEDULED\tDEAD\tBYTES\tDELETED IN") //nolint:errcheck // Flush says it
	for _, e := range all {
		n := e.Counts
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\n", e.Path, e.Kind, n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter, e.Bytes, until(now, e.DeletesAt)) //nolint:errcheck // Flush says it
	}
	return t.Flush()
}

// messagesIn is how many there are, but for what could not be forwarded.
func messagesIn(n api.Counts) int64 {
	return n.Active + n.Locked + n.Deferred + n.Scheduled + n.DeadLetter
}
