package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine/history"
	"mayfly/web/api"
)

// An event is an event of the history and its JSON as the server sent it.
type event struct {
	history.Event
	raw json.RawMessage
}

// maxPolledEvents is the number of events per poll, the server's limit.
const maxPolledEvents = 1000

func queryEscape(text string) string { return url.QueryEscape(text) }

// watches reports whether an entity is the watched one or one of its subscriptions.
func (c *watchCommand) watches(path string) bool {
	n := len(c.Entity)
	if n == 0 || strings.EqualFold(path, c.Entity) {
		return true
	}
	const below = "/subscriptions/"
	return len(path) > n+len(below) && strings.EqualFold(path[:n], c.Entity) && strings.EqualFold(path[n:n+len(below)], below)
}

// fetchEvents returns the latest events, newest first. silent reports that the store keeps no
// history.
func (c *watchCommand) fetchEvents(ctx context.Context) (events []event, silent bool, err error) {
	of := fmt.Sprintf("/api/v1/activity?scope=all&limit=%d", maxPolledEvents)
	if c.Entity != "" {
		of += "&path=" + queryEscape(c.Entity)
	}
	var answer struct {
		Events []json.RawMessage `json:"events"`
	}
	_, err = c.request(ctx, http.MethodGet, of, nil, &answer, 0)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotImplemented {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	events = make([]event, len(answer.Events))
	for i, raw := range answer.Events {
		if events[i].raw = raw; json.Unmarshal(raw, &events[i].Event) != nil {
			return nil, false, fmt.Errorf("the server returned an event that cannot be parsed: %s", cli.Printable(string(raw), 200))
		}
	}
	return events, false, nil
}

// line describes an event on one line.
func (e event) line(zone *time.Location) string {
	parts := []string{e.At.In(zone).Format(time.TimeOnly), fmt.Sprintf("%-16s", e.Kind)}
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.SequenceNumber != 0 {
		parts = append(parts, fmt.Sprintf("#%d", e.SequenceNumber))
	}
	if e.MessageID != "" {
		parts = append(parts, "id "+cli.Printable(e.MessageID, 40))
	}
	if e.To != "" {
		parts = append(parts, "to "+e.To)
	}
	if e.Count > 1 {
		parts = append(parts, cli.MessageCount(e.Count))
	}
	for _, said := range []string{e.Reason, e.Actor} {
		if said != "" {
			parts = append(parts, "· "+cli.Printable(said, 80))
		}
	}
	return strings.TrimRight(strings.Join(parts, "  "), " ")
}

// printLines prints the changes of each poll: the counts of entities that changed, and new events,
// oldest first. For the first poll it prints the counts but no events.
func (c *watchCommand) printLines(ctx context.Context, s cli.Streams) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var before pollResult
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pause.C:
		}
		now, err := c.poll(ctx, before)
		if err != nil {
			return err
		}
		if err := c.printChanges(s, before, now); err != nil {
			return err
		}
		before = now
		pause.Reset(watchPollInterval)
	}
}

func (c *watchCommand) printChanges(s cli.Streams, before, now pollResult) error {
	var b strings.Builder
	if now.pollError != nil && before.pollError == nil {
		fmt.Fprintln(s.Err, "mayfly: "+now.pollError.Error()+"; trying again") //nolint:errcheck // nowhere else to report it
	}
	fresh, lost := eventsAfter(now.events, before.events)
	if before.server == "" {
		fresh, lost = nil, false
	}
	if lost {
		fmt.Fprintf(s.Err, "mayfly: more than %d events in a second; some are not shown\n", maxPolledEvents) //nolint:errcheck // nowhere else to report it
	}
	for _, e := range slices.Backward(fresh) {
		if c.JSON {
			b.Write(e.raw)
			b.WriteByte('\n')
			continue
		}
		b.WriteString(e.line(c.zone) + "\n")
	}
	was := map[string]api.Counts{}
	for _, e := range before.entities {
		was[e.Path] = e.Counts
	}
	for _, e := range now.entities {
		if n, known := was[e.Path]; !c.JSON && (!known || n != e.Counts) {
			fmt.Fprintf(&b, "%s  %-16s  %s  %s\n", now.now.In(c.zone).Format(time.TimeOnly), "counts", e.Path, describeCounts(e.Counts))
		}
	}
	return s.WriteRaw([]byte(b.String()))
}

// eventsAfter returns the events in now that are newer than the first one in before; both are
// newest first. lost reports whether events between the two polls may be missing, because a poll
// returns at most maxPolledEvents.
func eventsAfter(now, before []event) (fresh []event, lost bool) {
	if len(before) == 0 {
		return now, len(now) == maxPolledEvents
	}
	last := before[0]
	for i, e := range now {
		if e.Epoch < last.Epoch || e.Epoch == last.Epoch && e.N <= last.N {
			return now[:i], false
		}
	}
	return now, len(now) == maxPolledEvents
}

func describeCounts(n api.Counts) string {
	return fmt.Sprintf("%d active, %d locked, %d deferred, %d scheduled, %d dead", n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter)
}
