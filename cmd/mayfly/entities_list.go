package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"mayfly/web/api"
)

// entitiesListCommand lists entities.
type entitiesListCommand struct {
	client
	FailEmpty bool     `name:"fail-empty" help:"End with 5 if there is none."`
	Names     bool     `help:"Print the paths alone."`
	Words     []string `arg:"" optional:"" help:"Only those of which all is true: part of the path; queue, topic or subscription; has:messages, has:active, has:locked, has:deferred, has:scheduled or has:dlq; temp: for those that are deleted when nobody uses them."`
}

// Run lists. JSON is one entity a line.
func (c *entitiesListCommand) Run(ctx context.Context, s streams) error {
	wanted, err := entityFilter(c.Words)
	if err != nil {
		return err
	}
	var answer struct {
		Entities []json.RawMessage `json:"entities"`
	}
	if _, err := c.ask(ctx, http.MethodGet, "/api/v1/entities", nil, &answer, 0); err != nil {
		return err
	}
	var found []api.Entity
	var lines []json.RawMessage
	for _, raw := range answer.Entities {
		var e api.Entity
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("the server tells of an entity in a way that cannot be read: %w", err)
		}
		if wanted(e) {
			found, lines = append(found, e), append(lines, raw)
		}
	}
	switch {
	case len(found) == 0 && c.FailEmpty:
		return errNoEntity
	case c.JSON:
		return s.writeLines(lines)
	case c.Names:
		return s.write([]byte(names(found)))
	case len(found) == 0:
		_, err = fmt.Fprintln(s.out, "There is no such queue, topic or subscription.")
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

// entityFilter is what all words together want.
func entityFilter(words []string) (func(api.Entity) bool, error) {
	var all []func(api.Entity) bool
	for _, w := range words {
		one, err := entityWord(strings.ToLower(w))
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return func(e api.Entity) bool {
		for _, wanted := range all {
			if !wanted(e) {
				return false
			}
		}
		return true
	}, nil
}

func entityWord(w string) (func(api.Entity) bool, error) {
	state, has := strings.CutPrefix(w, "has:")
	switch {
	case has:
		count := countCalled(state)
		if count == nil {
			return nil, misused("there is no word %s; there are has:messages, has:active, has:locked, has:deferred, has:scheduled and has:dlq", w)
		}
		return func(e api.Entity) bool { return count(e.Counts) > 0 }, nil
	case w == "queue" || w == "topic" || w == "subscription":
		return func(e api.Entity) bool { return e.Kind == w }, nil
	case w == "temp:":
		return func(e api.Entity) bool { return e.DeletesAt != nil }, nil
	case strings.Contains(w, ":"):
		return nil, misused("there is no word %s; mayfly entities list --help names those that there are", w)
	default:
		return func(e api.Entity) bool { return strings.Contains(strings.ToLower(e.Path), w) }, nil
	}
}

// countCalled is one of the numbers of messages; nil if none is called so.
func countCalled(state string) func(api.Counts) int64 {
	switch state {
	case "messages":
		return func(n api.Counts) int64 { return n.Active + n.Locked + n.Deferred + n.Scheduled + n.DeadLetter }
	case "active":
		return func(n api.Counts) int64 { return n.Active }
	case "locked":
		return func(n api.Counts) int64 { return n.Locked }
	case "deferred":
		return func(n api.Counts) int64 { return n.Deferred }
	case "scheduled":
		return func(n api.Counts) int64 { return n.Scheduled }
	case "dlq":
		return func(n api.Counts) int64 { return n.DeadLetter }
	default:
		return nil
	}
}
