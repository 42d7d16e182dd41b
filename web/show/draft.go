package show

import (
	"cmp"
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/draft"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
)

// draftFields are the fields of a form, by the members of a draft that are in them.
func draftFields() map[string]string {
	return map[string]string{
		draft.FieldMessageID: page.SendMessageID, draft.FieldSession: page.SendSessionID, "partitionKey": page.SendPartitionKey,
		"correlationId": page.SendCorrelationID, "subject": page.SendSubject, "to": page.SendTo, "replyTo": page.SendReplyTo,
		"replyToSessionId": page.SendReplyToSession, "contentType": page.SendContentType, draft.FieldTTL: page.SendTTL,
		draft.FieldSchedule: page.SendAt, draft.FieldDelay: page.SendIn, draft.FieldBody: page.SendBody,
		draft.FieldRepeat: page.SendRepeat, draft.FieldEvery: page.SendEvery,
	}
}

// ReadDraft reads the form of a message. What is wrong goes to t.Errors; what its
// placeholders are wrong about does, too, and the mould is nil then.
func ReadDraft(ctx context.Context, t Typed, now engine.Instant) (draft.Draft, *draft.Mould) {
	get := t.Values.Get
	d := draft.Draft{
		MessageID: get(page.SendMessageID), PartitionKey: get(page.SendPartitionKey), CorrelationID: get(page.SendCorrelationID), Subject: get(page.SendSubject),
		To: get(page.SendTo), ReplyTo: get(page.SendReplyTo), ReplyToSessionID: get(page.SendReplyToSession), ContentType: get(page.SendContentType),
		TimeToLive: written(get(page.SendTTL)), Body: strings.ReplaceAll(get(page.SendBody), "\r\n", "\n"), Placeholders: t.Values.Has(page.SendPlaceholders),
	}
	if id := get(page.SendSessionID); id != "" {
		d.SessionID = &id
	}
	readSchedule(ctx, t, &d, now)
	if text := strings.TrimSpace(get(page.SendRepeat)); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 || n > draft.MostMessages {
			t.Errors[page.SendRepeat] = component.Text{S: locale.T(ctx, "ui.repeat", locale.Args{"Most": locale.Number(ctx, draft.MostMessages)})}
		} else if n > 1 {
			d.Repeat = n
		}
	}
	if text := strings.TrimSpace(get(page.SendEvery)); text != "" {
		every, never, err := engine.ParseDuration(Spaceless(text))
		if err != nil || never {
			t.Errors[page.SendEvery] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		d.Every = every
	}
	var rows []int // of the form, by the properties of the draft
	for i, row := range SentEntries(t, page.SendPropertyPrefix) {
		if row.Name == "" && row.Value == "" {
			continue
		}
		if row.Name == "" {
			t.Errors[page.SendPropertyPrefix+strconv.Itoa(i)] = component.Text{S: locale.T(ctx, "ui.property.name")}
		}
		d.Properties, rows = append(d.Properties, draft.Property{Name: row.Name, Kind: row.Kind, Value: row.Value}), append(rows, i)
	}
	m, err := d.Compile()
	for _, e := range draft.Wrong(err) {
		note(t, e, rows, component.Said(e.Text))
	}
	return d, m
}

// CheckDraft makes the first messages of a draft; what is wrong with them goes to
// t.Errors, unless it is an error of the broker's.
func CheckDraft(ctx context.Context, t Typed, m *draft.Mould, now engine.Instant, seed draft.Seed, l engine.Limits) error {
	err := m.Check(now, seed, l)
	all := draft.Wrong(err)
	if len(all) == 0 {
		return err //nolint:wrapcheck // it says what it is about
	}
	var rows []int
	for i, row := range SentEntries(t, page.SendPropertyPrefix) {
		if row.Name != "" || row.Value != "" {
			rows = append(rows, i)
		}
	}
	for _, e := range all {
		text := component.Said(e.Text)
		if e.Field == draft.FieldTTL || e.Field == draft.FieldDelay {
			text = component.Text{S: locale.T(ctx, "ui.duration")}
		}
		note(t, e, rows, text)
	}
	return nil
}

// note puts an error beside its field.
func note(t Typed, e *draft.FieldError, rows []int, text component.Text) {
	if e.Field == draft.FieldProperties {
		t.Errors[page.SendPropertyPrefix+strconv.Itoa(rows[e.Row])] = text
		return
	}
	t.Errors[draftFields()[e.Field]] = text
}

// written is a duration as somebody typed it, without spaces that mean nothing.
func written(text string) string {
	if strings.Contains(text, "{{") {
		return strings.TrimSpace(text)
	}
	return Spaceless(text)
}

// readSchedule reads when a message comes.
func readSchedule(ctx context.Context, t Typed, d *draft.Draft, now engine.Instant) {
	switch t.Values.Get(page.SendSchedule) {
	case "", "now":
	case "in":
		d.Delay = written(t.Values.Get(page.SendIn))
		delay, never, err := engine.ParseDuration(d.Delay)
		if !strings.Contains(d.Delay, "{{") && (err != nil || never || delay <= 0) {
			t.Errors[page.SendIn] = component.Text{S: locale.T(ctx, "ui.duration")}
		}
	case "at":
		at, wrong := ReadMoment(t.Values.Get(page.SendAt), now)
		if wrong != "" {
			t.Errors[page.SendAt] = component.Text{S: locale.T(ctx, wrong)}
		}
		d.ScheduledEnqueueTime = at.Time().UTC().Format(time.RFC3339Nano)
	default:
		t.Errors[page.SendSchedule] = component.Text{S: locale.T(ctx, "ui.when")}
	}
}

// moments are the forms of an instant in UTC that a form takes.
var moments = []string{
	"2006-01-02T15:04", "2006-01-02T15:04:05", time.RFC3339Nano, "2006-01-02 15:04", "2006-01-02 15:04:05",
}

// ReadMoment reads an instant ahead; wrong is the id of what is said of another.
func ReadMoment(text string, now engine.Instant) (at engine.Instant, wrong string) {
	text = strings.TrimSpace(text)
	for _, form := range moments {
		if t, err := time.Parse(form, text); err == nil && t.Year() < 9999 {
			if i := engine.At(t); i > now {
				return i, ""
			}
			return 0, "ui.past"
		}
	}
	return 0, "ui.moment"
}

// inWords is a duration as somebody would type it: 1m30s, 2h.
func inWords(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// WriteDraft fills a form with a draft.
func WriteDraft(d draft.Draft) url.Values {
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
		v.Set(page.SendEvery, inWords(d.Every))
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
