package main

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

	"mayfly/web/api"
	"mayfly/web/past"
)

// An event is one of the history, and what the server said of it.
type event struct {
	past.Event
	raw json.RawMessage
}

// eventsAtOnce is how many events are asked for in one look, the most that a
// server tells.
const eventsAtOnce = 1000

func escaped(text string) string { return url.QueryEscape(text) }

// concerns tells whether an entity is the one that is watched, or a subscription
// of it.
func (c *watchCommand) concerns(path string) bool {
	n := len(c.Entity)
	if n == 0 || strings.EqualFold(path, c.Entity) {
		return true
	}
	const below = "/subscriptions/"
	return len(path) > n+len(below) && strings.EqualFold(path[:n], c.Entity) && strings.EqualFold(path[n:n+len(below)], below)
}

// eventsNow are the latest events, newest first; silent if the store keeps none.
func (c *watchCommand) eventsNow(ctx context.Context) (events []event, silent bool, err error) {
	of := fmt.Sprintf("/api/v1/activity?scope=all&count=%d", eventsAtOnce)
	if c.Entity != "" {
		of += "&path=" + escaped(c.Entity)
	}
	var answer struct {
		Events []json.RawMessage `json:"events"`
	}
	_, err = c.ask(ctx, http.MethodGet, of, nil, &answer, 0)
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Status == http.StatusNotImplemented {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, err
	}
	events = make([]event, len(answer.Events))
	for i, raw := range answer.Events {
		if events[i].raw = raw; json.Unmarshal(raw, &events[i].Event) != nil {
			return nil, false, fmt.Errorf("the server tells of an event in a way that cannot be read: %s", printable(string(raw), 200))
		}
	}
	return events, false, nil
}

// line is an event in words.
func (e event) line(zone *time.Location) string {
	parts := []string{e.At.In(zone).Format(time.TimeOnly), fmt.Sprintf("%-16s", e.Kind)}
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.SequenceNumber != 0 {
		parts = append(parts, fmt.Sprintf("#%d", e.SequenceNumber))
	}
	if e.MessageID != "" {
		parts = append(parts, "id "+printable(e.MessageID, 40))
	}
	if e.To != "" {
		parts = append(parts, "to "+e.To)
	}
	if e.Count > 1 {
		parts = append(parts, messages(e.Count))
	}
	for _, said := range []string{e.Reason, e.Actor} {
		if said != "" {
			parts = append(parts, "· "+printable(said, 80))
		}
	}
	return strings.TrimRight(strings.Join(parts, "  "), " ")
}

// plain prints what is new in each look: the numbers of entities that changed,
// and events, oldest first. What was before the first look is not told, but the
// numbers are.
func (c *watchCommand) plain(ctx context.Context, s streams) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	var before watched
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-pause.C:
		}
		now, err := c.look(ctx, before)
		if err != nil {
			return err
		}
		if err := c.tell(s, before, now); err != nil {
			return err
		}
		before = now
		pause.Reset(watchPause)
	}
}

func (c *watchCommand) tell(s streams, before, now watched) error {
	var b strings.Builder
	if now.away != nil && before.away == nil {
		fmt.Fprintln(s.err, "mayfly: "+now.away.Error()+"; trying again") //nolint:errcheck // there is nobody else to tell
	}
	fresh, lost := newer(now.events, before.events)
	if before.at == "" {
		fresh, lost = nil, false
	}
	if lost {
		fmt.Fprintf(s.err, "mayfly: more than %d events in a second; some are not shown\n", eventsAtOnce) //nolint:errcheck // there is nobody else to tell
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
			fmt.Fprintf(&b, "%s  %-16s  %s  %s\n", now.now.In(c.zone).Format(time.TimeOnly), "counts", e.Path, countsText(e.Counts))
		}
	}
	return s.write([]byte(b.String()))
}

// newer are the events that were not there before; lost if there are more than
// were told.
func newer(now, before []event) (fresh []event, lost bool) {
	if len(before) == 0 {
		return now, len(now) == eventsAtOnce
	}
	last := before[0]
	for i, e := range now {
		if e.Epoch < last.Epoch || e.Epoch == last.Epoch && e.N <= last.N {
			return now[:i], false
		}
	}
	return now, len(now) == eventsAtOnce
}

func countsText(n api.Counts) string {
	return fmt.Sprintf("%d active, %d locked, %d deferred, %d scheduled, %d dead", n.Active, n.Locked, n.Deferred, n.Scheduled, n.DeadLetter)
}
