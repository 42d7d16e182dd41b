package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine/template"
	"mayfly/engine/value"
	"mayfly/web/api"
)

// usesPlaceholders reports whether the server fills in placeholders.
func (c *sendCommand) usesPlaceholders() bool {
	return c.Repeat != nil || c.Placeholders || c.Template != ""
}

// sendRepeated sends a message with placeholders as many times as --repeat specifies.
func (c *sendCommand) sendRepeated(ctx context.Context, s cli.Streams) error {
	if c.Count != 1 {
		return cli.UsageErrorf("--count sends identical messages; with placeholders, use --repeat")
	}
	if c.Repeat != nil && *c.Repeat < 1 {
		return cli.UsageErrorf("--repeat must be from 1 to %d, not %d", template.MaxMessages, *c.Repeat)
	}
	m, err := c.templateFromFlags(ctx, s.In)
	if err != nil {
		return err
	}
	if c.Create {
		if _, err := c.request(ctx, http.MethodPost, "/api/v1/entities", map[string]string{"kind": "queue", "path": c.Entity}, nil, 0); err != nil && cli.ExitCodeOf(err) != cli.ExitRefused {
			return err // a queue that exists already is refused, which is fine
		}
	}
	var done api.Repeated
	raw, err := c.request(ctx, http.MethodPost, APIPath("repeat", c.Entity), api.Repeat{Template: c.Template, Message: &m, DryRun: c.DryRun}, &done, 0)
	if err != nil {
		return err
	}
	switch {
	case c.DryRun && !c.JSON:
		for _, m := range done.Messages {
			if err := s.WriteRaw([]byte(cli.MarshalJSON(m) + "\n")); err != nil {
				return err
			}
		}
		return nil
	case done.Job != nil:
		return c.waitForJob(ctx, s, done.Job.ID, 0)
	case c.JSON:
		return s.WriteRaw(raw)
	}
	text := fmt.Sprintf("Sent %s to %s", cli.MessageCount(done.Sent), c.Entity)
	if done.Sent > 0 {
		text += fmt.Sprintf(": #%d", done.First)
	}
	if done.Sent > 1 {
		text += fmt.Sprintf(" to #%d", done.Last)
	}
	if done.Duplicates > 0 {
		text += fmt.Sprintf(", dropped %d as duplicates", done.Duplicates)
	}
	_, err = fmt.Fprintln(s.Out, text+".")
	return err
}

// templateFromFlags returns the message with placeholders that the flags describe.
func (c *sendCommand) templateFromFlags(ctx context.Context, in io.Reader) (api.Draft, error) {
	m := api.Draft{
		MessageID: c.MessageID, CorrelationID: c.CorrelationID, SessionID: c.SessionID, Subject: c.Subject, ContentType: c.ContentType, TimeToLive: c.TTL,
		Body: c.Body, Every: c.Every, Placeholders: c.Placeholders,
	}
	if c.Repeat != nil {
		m.Repeat = *c.Repeat
	}
	if c.Body == nil && c.Template == "" {
		var err error
		if m.Body, m.BodyBase64, err = readBody(ctx, in); err != nil {
			return m, err
		}
	}
	if strings.Contains(c.At, "{{") {
		m.Delay = c.At // a duration with placeholders; the server refuses a time
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
		p, err := parseTemplateProperty(text)
		if err != nil {
			return m, err
		}
		m.Properties = append(m.Properties, p)
	}
	return m, nil
}

// parseTemplateProperty parses NAME=VALUE. A VALUE with placeholders is a string, unless it has the
// form {"type":"int","value":"{{n}}"}.
func parseTemplateProperty(text string) (api.DraftProperty, error) {
	name, written, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return api.DraftProperty{}, cli.UsageErrorf("--property must be NAME=VALUE, not %q", text)
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
