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
	"mayfly/views/page/send"
	"mayfly/web/dashboard/pages"
)

// templateFields maps the members of a draft to the fields of the form.
func templateFields() map[string]string {
	return map[string]string{
		template.FieldMessageID: send.SendMessageID, template.FieldSession: send.SendSessionID, "partitionKey": send.SendPartitionKey,
		"correlationId": send.SendCorrelationID, "subject": send.SendSubject, "to": send.SendTo, "replyTo": send.SendReplyTo,
		"replyToSessionId": send.SendReplyToSession, "contentType": send.SendContentType, template.FieldTTL: send.SendTTL,
		template.FieldSchedule: send.SendAt, template.FieldDelay: send.SendIn, template.FieldBody: send.SendBody,
		template.FieldRepeat: send.SendRepeat, template.FieldEvery: send.SendEvery,
	}
}

// ParseDraft reads the form of a message. Errors go to t.Errors; the compiled draft is nil if a
// placeholder is wrong.
func ParseDraft(ctx context.Context, t pages.FormState, now engine.Instant) (template.Draft, *template.CompiledDraft) {
	get := t.Values.Get
	d := template.Draft{
		MessageID: get(send.SendMessageID), PartitionKey: get(send.SendPartitionKey), CorrelationID: get(send.SendCorrelationID), Subject: get(send.SendSubject),
		To: get(send.SendTo), ReplyTo: get(send.SendReplyTo), ReplyToSessionID: get(send.SendReplyToSession), ContentType: get(send.SendContentType),
		TimeToLive: trimDuration(get(send.SendTTL)), Body: strings.ReplaceAll(get(send.SendBody), "\r\n", "\n"), Placeholders: t.Values.Has(send.SendPlaceholders),
	}
	if id := get(send.SendSessionID); id != "" {
		d.SessionID = &id
	}
	parseSchedule(ctx, t, &d, now)
	if text := strings.TrimSpace(get(send.SendRepeat)); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > template.MaxMessages {
			t.Errors[send.SendRepeat] = component.Text{S: locale.T(ctx, "ui.repeat", locale.Args{"Most": locale.Number(ctx, template.MaxMessages)})}
		} else if n > 1 {
			d.Repeat = n
		}
	}
	if text := strings.TrimSpace(get(send.SendEvery)); text != "" {
		every, never, err := engine.ParseDuration(pages.RemoveSpaces(text))
		if err != nil || never {
			t.Errors[send.SendEvery] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		d.Every = every
	}
	var rows []int // numbers of the form's rows, by index of the draft's properties
	for i, row := range pages.SubmittedRows(t, send.SendPropertyPrefix) {
		if row.Name == "" && row.Value == "" {
			continue
		}
		if row.Name == "" {
			t.Errors[send.SendPropertyPrefix+strconv.Itoa(i)] = component.Text{S: locale.T(ctx, "ui.property.name")}
		}
		d.Properties, rows = append(d.Properties, template.Property{Name: row.Name, Kind: row.Kind, Value: row.Value}), append(rows, i)
	}
	m, err := d.Compile()
	for _, e := range template.FieldErrors(err) {
		setFieldError(t, e, rows, component.ServerText(e.Text))
	}
	return d, m
}

// CheckDraft checks a draft by making its first messages. Errors of fields go to t.Errors. Any
// other error is returned.
func CheckDraft(ctx context.Context, t pages.FormState, m *template.CompiledDraft, now engine.Instant, seed template.Seed, l engine.Limits) error {
	err := m.Check(now, seed, l)
	all := template.FieldErrors(err)
	if len(all) == 0 {
		return err
	}
	var rows []int
	for i, row := range pages.SubmittedRows(t, send.SendPropertyPrefix) {
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
		t.Errors[send.SendPropertyPrefix+strconv.Itoa(rows[e.Row])] = text
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

// parseSchedule reads the time at which a message becomes active into d.
func parseSchedule(ctx context.Context, t pages.FormState, d *template.Draft, now engine.Instant) {
	switch t.Values.Get(send.SendSchedule) {
	case "", "now":
	case "in":
		d.Delay = trimDuration(t.Values.Get(send.SendIn))
		delay, never, err := engine.ParseDuration(d.Delay)
		if !strings.Contains(d.Delay, "{{") && (err != nil || never || delay <= 0) {
			t.Errors[send.SendIn] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
	case "at":
		at, wrong := ParseTime(t.Values.Get(send.SendAt), now)
		if wrong != "" {
			t.Errors[send.SendAt] = component.Text{S: locale.T(ctx, wrong)}
		}
		d.ScheduledEnqueueTime = at.Time().UTC().Format(time.RFC3339Nano)
	default:
		t.Errors[send.SendSchedule] = component.Text{S: locale.T(ctx, "ui.when")}
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
		send.SendMessageID: d.MessageID, send.SendPartitionKey: d.PartitionKey, send.SendCorrelationID: d.CorrelationID, send.SendSubject: d.Subject,
		send.SendTo: d.To, send.SendReplyTo: d.ReplyTo, send.SendReplyToSession: d.ReplyToSessionID, send.SendContentType: d.ContentType,
		send.SendTTL: d.TimeToLive, send.SendBody: d.Body, send.SendIn: d.Delay, send.SendAt: d.ScheduledEnqueueTime,
	} {
		set(name, text)
	}
	switch {
	case d.Delay != "":
		v.Set(send.SendSchedule, "in")
	case d.ScheduledEnqueueTime != "":
		v.Set(send.SendSchedule, "at")
	}
	if d.SessionID != nil {
		set(send.SendSessionID, *d.SessionID)
	}
	if d.Repeat > 1 {
		v.Set(send.SendRepeat, strconv.FormatInt(d.Repeat, 10))
	}
	if d.Every > 0 {
		v.Set(send.SendEvery, pages.FormatDuration(d.Every))
	}
	if d.Placeholders {
		v.Set(send.SendPlaceholders, "on")
	}
	for i, p := range d.Properties {
		row := send.SendPropertyPrefix + strconv.Itoa(i)
		v.Set(row+send.SendPropertyName, p.Name)
		v.Set(row+send.SendPropertyKind, cmp.Or(p.Kind, "string"))
		v.Set(row+send.SendPropertyValue, p.Value)
	}
	return v
}
