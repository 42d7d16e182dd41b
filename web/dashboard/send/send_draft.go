package send

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/template"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/dashboard/pages"
)

// templateFields maps the members of a draft to the fields of the form.
func templateFields() map[string]string {
	return map[string]string{
		template.FieldMessageID: page.SendMessageID, template.FieldSession: page.SendSessionID, "partitionKey": page.SendPartitionKey,
		"correlationId": page.SendCorrelationID, "subject": page.SendSubject, "to": page.SendTo, "replyTo": page.SendReplyTo,
		"replyToSessionId": page.SendReplyToSession, "contentType": page.SendContentType, template.FieldTTL: page.SendTTL,
		template.FieldSchedule: page.SendAt, template.FieldDelay: page.SendIn, template.FieldBody: page.SendBody,
		template.FieldRepeat: page.SendRepeat, template.FieldEvery: page.SendEvery,
	}
}

// ParseDraft reads the form of a message. Errors go to t.Errors; the mould is nil if a
// placeholder is wrong.
func ParseDraft(ctx context.Context, t pages.FormState, now engine.Instant) (template.Draft, *template.CompiledDraft) {
	get := t.Values.Get
	d := template.Draft{
		MessageID: get(page.SendMessageID), PartitionKey: get(page.SendPartitionKey), CorrelationID: get(page.SendCorrelationID), Subject: get(page.SendSubject),
		To: get(page.SendTo), ReplyTo: get(page.SendReplyTo), ReplyToSessionID: get(page.SendReplyToSession), ContentType: get(page.SendContentType),
		TimeToLive: trimDuration(get(page.SendTTL)), Body: strings.ReplaceAll(get(page.SendBody), "\r\n", "\n"), Placeholders: t.Values.Has(page.SendPlaceholders),
	}
	if id := get(page.SendSessionID); id != "" {
		d.SessionID = &id
	}
	parseSchedule(ctx, t, &d, now)
	if text := strings.TrimSpace(get(page.SendRepeat)); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > template.MaxMessages {
			t.Errors[page.SendRepeat] = component.Text{S: locale.T(ctx, "ui.repeat", locale.Args{"Most": locale.Number(ctx, template.MaxMessages)})}
		} else if n > 1 {
			d.Repeat = n
		}
	}
	if text := strings.TrimSpace(get(page.SendEvery)); text != "" {
		every, never, err := engine.ParseDuration(pages.RemoveSpaces(text))
		if err != nil || never {
			t.Errors[page.SendEvery] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		d.Every = every
	}
	var rows []int // of the form, by index of the draft's properties
	for i, row := range pages.SubmittedRows(t, page.SendPropertyPrefix) {
		if row.Name == "" && row.Value == "" {
			continue
		}
		if row.Name == "" {
			t.Errors[page.SendPropertyPrefix+strconv.Itoa(i)] = component.Text{S: locale.T(ctx, "ui.property.name")}
		}
		d.Properties, rows = append(d.Properties, template.Property{Name: row.Name, Kind: row.Kind, Value: row.Value}), append(rows, i)
	}
	m, err := d.Compile()
	for _, e := range template.FieldErrors(err) {
		setFieldError(t, e, rows, component.ServerText(e.Text))
	}
	return d, m
}

// CheckDraft makes the first messages of a draft. Errors of fields go to t.Errors; an error of
// the broker is returned.
func CheckDraft(ctx context.Context, t pages.FormState, m *template.CompiledDraft, now engine.Instant, seed template.Seed, l engine.Limits) error {
	err := m.Check(now, seed, l)
	all := template.FieldErrors(err)
	if len(all) == 0 {
		return err
	}
	var rows []int
	for i, row := range pages.SubmittedRows(t, page.SendPropertyPrefix) {
		if row.Name != "" || row.Value != "" {
			rows = append(rows, i)
		}
	}
	for _, e := range all {
		text := component.ServerText(e.Text)
		if e.Field == template.FieldTTL || e.Field == template.FieldDelay {
			text = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		setFieldError(t, e, rows, text)
	}
	return nil
}

// setFieldError puts an error beside its field.
func setFieldError(t pages.FormState, e *template.FieldError, rows []int, text component.Text) {
	if e.Field == template.FieldProperties {
		t.Errors[page.SendPropertyPrefix+strconv.Itoa(rows[e.Row])] = text
		return
	}
	t.Errors[templateFields()[e.Field]] = text
}

// trimDuration returns a typed duration without insignificant spaces.
func trimDuration(text string) string {
	if strings.Contains(text, "{{") {
		return strings.TrimSpace(text)
	}
	return pages.RemoveSpaces(text)
}

// parseSchedule reads the time at which a message is sent.
func parseSchedule(ctx context.Context, t pages.FormState, d *template.Draft, now engine.Instant) {
	switch t.Values.Get(page.SendSchedule) {
	case "", "now":
	case "in":
		d.Delay = trimDuration(t.Values.Get(page.SendIn))
		delay, never, err := engine.ParseDuration(d.Delay)
		if !strings.Contains(d.Delay, "{{") && (err != nil || never || delay <= 0) {
			t.Errors[page.SendIn] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
	case "at":
		at, wrong := ParseTime(t.Values.Get(page.SendAt), now)
		if wrong != "" {
			t.Errors[page.SendAt] = component.Text{S: locale.T(ctx, wrong)}
		}
		d.ScheduledEnqueueTime = at.Time().UTC().Format(time.RFC3339Nano)
	default:
		t.Errors[page.SendSchedule] = component.Text{S: locale.T(ctx, "ui.when")}
	}
}

// timeLayouts are the formats of an instant in UTC that forms accept.
var timeLayouts = []string{
	"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano, "2006-01-02 15:04", "2006-01-02 15:04:05",
}

// ParseTime parses a future instant. wrong is the text id of the error, if any.
func ParseTime(text string, now engine.Instant) (at engine.Instant, wrong string) {
	text = strings.TrimSpace(text)
	for _, form := range timeLayouts {
		if t, err := time.Parse(form, text); err == nil && t.Year() < 9999 {
			if i := engine.At(t); i > now {
				return i, ""
			}
			return 0, "ui.past"
		}
	}
	return 0, "ui.moment"
}

// DraftValues returns the form values of a draft.
func DraftValues(d template.Draft) url.Values {
	v := url.Values{}
	set := func(name, text string) {
		if text != "" {
			v.Set(name, text)
		}
	}
	for name, text := range map[string]string{
		page.SendMessageID: d.MessageID, page.SendPartitionKey: d.PartitionKey, page.SendCorrelationID: d.CorrelationID, page.SendSubject: d.Subject,
		page.SendTo: d.To, page.SendReplyTo: d.ReplyTo, page.SendReplyToSession: d.ReplyToSessionID, page.SendContentType: d.ContentType,
		page.SendTTL: d.TimeToLive, page.SendBody: d.Body, page.SendIn: d.Delay, page.SendAt: d.ScheduledEnqueueTime,
	} {
		set(name, text)
	}
	switch {
	case d.Delay != "":
		v.Set(page.SendSchedule, "in")
	case d.ScheduledEnqueueTime != "":
		v.Set(page.SendSchedule, "at")
	}
	if d.SessionID != nil {
		set(page.SendSessionID, *d.SessionID)
	}
	if d.Repeat > 1 {
		v.Set(page.SendRepeat, strconv.FormatInt(d.Repeat, 10))
	}
	if d.Every > 0 {
		v.Set(page.SendEvery, pages.FormatDuration(d.Every))
	}
	if d.Placeholders {
		v.Set(page.SendPlaceholders, "on")
	}
	for i, p := range d.Properties {
		row := page.SendPropertyPrefix + strconv.Itoa(i)
		v.Set(row+page.SendPropertyName, p.Name)
		v.Set(row+page.SendPropertyKind, cmp.Or(p.Kind, "string"))
		v.Set(row+page.SendPropertyValue, p.Value)
	}
	return v
}
