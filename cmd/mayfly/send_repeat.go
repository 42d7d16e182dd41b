package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mayfly/engine/draft"
	"mayfly/engine/value"
	"mayfly/web/api"
)

// drafted tells whether what is sent is filled in by the server.
func (c *sendCommand) drafted() bool { return c.Repeat != nil || c.Placeholders || c.Template != "" }

// repeat sends a message with placeholders, as often as was asked.
func (c *sendCommand) repeat(ctx context.Context, s streams) error {
	if c.Count != 1 {
		return misused("--count sends the same message; with placeholders there is --repeat")
	}
	if c.Repeat != nil && *c.Repeat < 1 {
		return misused("--repeat is from 1 to %d, not %d", draft.MostMessages, *c.Repeat)
	}
	m, err := c.draft(ctx, s.in)
	if err != nil {
		return err
	}
	if c.Create {
		if _, err := c.ask(ctx, http.MethodPost, "/api/v1/entities", map[string]string{"kind": "queue", "path": c.Entity}, nil, 0); err != nil && exitOf(err) != exitRefused {
			return err // one that is there already is refused
		}
	}
	var done api.Repeated
	raw, err := c.ask(ctx, http.MethodPost, path("repeat", c.Entity), api.Repeat{Template: c.Template, Message: &m, DryRun: c.DryRun}, &done, 0)
	if err != nil {
		return err
	}
	switch {
	case c.DryRun && !c.JSON:
		for _, m := range done.Messages {
			if err := s.write([]byte(marshalled(m) + "\n")); err != nil {
				return err
			}
		}
		return nil
	case done.Job != nil:
		return c.await(ctx, s, done.Job.ID, 0)
	case c.JSON:
		return s.write(raw)
	}
	text := fmt.Sprintf("Sent %s to %s", messages(done.Sent), c.Entity)
	if done.Sent > 0 {
		text += fmt.Sprintf(": #%d", done.First)
	}
	if done.Sent > 1 {
		text += fmt.Sprintf(" to #%d", done.Last)
	}
	if done.Duplicates > 0 {
		text += fmt.Sprintf(", dropped %d as duplicates", done.Duplicates)
	}
	_, err = fmt.Fprintln(s.out, text+".")
	return err
}

// draft is the message as the flags have it.
func (c *sendCommand) draft(ctx context.Context, in io.Reader) (api.Draft, error) {
	m := api.Draft{
		MessageID: c.MessageID, CorrelationID: c.CorrelationID, SessionID: c.SessionID, Subject: c.Subject, ContentType: c.ContentType, TimeToLive: c.TTL,
		Body: c.Body, Every: c.Every, Placeholders: c.Placeholders,
	}
	if c.Repeat != nil {
		m.Repeat = *c.Repeat
	}
	if c.Body == nil && c.Template == "" {
		var err error
		if m.Body, m.BodyBase64, err = bodyOf(ctx, in); err != nil {
			return m, err
		}
	}
	if strings.Contains(c.At, "{{") {
		m.Delay = c.At // a duration then, or a time that the server refuses as one
		if strings.HasPrefix(strings.TrimSpace(c.At), "{{now") {
			m.Delay, m.ScheduledEnqueueTime = "", c.At
		}
	} else if c.At != "" {
		at, err := parseAt(c.At, time.Now())
		if err != nil {
			return m, err
		}
		m.ScheduledEnqueueTime = at.UTC().Format(time.RFC3339Nano)
	}
	for _, text := range c.Property {
		p, err := parseDraftProperty(text)
		if err != nil {
			return m, err
		}
		m.Properties = append(m.Properties, p)
	}
	return m, nil
}

// parseDraftProperty reads NAME=VALUE, where VALUE may have placeholders: then it is
// text, or {"type":"int","value":"{{n}}"}.
func parseDraftProperty(text string) (api.DraftProperty, error) {
	name, written, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return api.DraftProperty{}, misused("--property is written NAME=VALUE, not %q", text)
	}
	var typed struct{ Type, Value string }
	d := json.NewDecoder(bytes.NewReader([]byte(written)))
	d.DisallowUnknownFields()
	if strings.HasPrefix(written, `{"`) && d.Decode(&typed) == nil && typed.Type != "" {
		return api.DraftProperty{Name: name, Type: typed.Type, Value: typed.Value}, nil
	}
	if strings.Contains(written, "{{") {
		return api.DraftProperty{Name: name, Value: written}, nil
	}
	p, err := parseProperty(text)
	if err != nil {
		return api.DraftProperty{}, err
	}
	if p.Value.Kind() == value.String {
		return api.DraftProperty{Name: p.Name, Value: p.Value.Text()}, nil
	}
	return api.DraftProperty{Name: p.Name, Type: p.Value.Kind().String(), Value: p.Value.Text()}, nil
}
