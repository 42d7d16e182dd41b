package ui

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

// numberPlace is what stands for the number of a repeated message.
const numberPlace = "{n}"

// send sends what was filled in, as often as was asked.
func (d *Door) send(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed, Errors: map[string]string{}}
	if addRows(typed) {
		return d.form(c, http.StatusOK, at, t)
	}
	now, err := d.b.Now(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	m := d.readMessage(ctx, t, now)
	if len(t.Errors) > 0 {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	sent, err := d.sendAll(c, at.Path, m)
	if err != nil {
		if sent > 0 {
			return d.goTo(c, d.pages.EntityURL(at.Entity, at.Path), component.Notice{
				Tone: component.Critical, Title: locale.N(ctx, "ui.sent.some", sent, locale.Args{"All": locale.Number(ctx, m.repeat)}), Detail: told(err),
			})
		}
		return d.again(c, at, t, err)
	}
	return d.goTo(c, d.pages.EntityURL(at.Entity, at.Path), component.Notice{Title: locale.N(ctx, "ui.sent", sent, locale.Args{"Name": show.Shown(at.Path)})})
}

// A letter is what a form sends: a message, and how often.
type letter struct {
	content engine.Content
	body    string
	repeat  int
}

// readMessage reads a message; what is wrong with it goes to t.Errors.
func (d *Door) readMessage(ctx context.Context, t show.Typed, now engine.Instant) letter {
	get := t.Values.Get
	m := letter{body: strings.ReplaceAll(get(page.SendBody), "\r\n", "\n"), repeat: 1}
	m.content = engine.Content{
		MessageID: d.id(ctx, t, page.SendMessageID), Subject: get(page.SendSubject), ContentType: get(page.SendContentType),
		CorrelationID: get(page.SendCorrelationID), SessionID: d.id(ctx, t, page.SendSessionID), To: get(page.SendTo),
		ReplyTo: get(page.SendReplyTo), ReplyToSessionID: d.id(ctx, t, page.SendReplyToSession), PartitionKey: d.id(ctx, t, page.SendPartitionKey),
	}
	if ttl := strings.TrimSpace(get(page.SendTTL)); ttl != "" && !strings.EqualFold(ttl, "never") {
		var err error
		if m.content.TTL, err = length(ctx, ttl); err != nil {
			t.Errors[page.SendTTL] = told(err)
		}
	}
	at, field, err := due(ctx, t.Values, now)
	if err != nil {
		t.Errors[field] = told(err)
	}
	m.content.ScheduledFor = at
	if text := strings.TrimSpace(get(page.SendRepeat)); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > show.MostRepeats {
			t.Errors[page.SendRepeat] = locale.T(ctx, "ui.repeat", locale.Args{"Most": locale.Number(ctx, show.MostRepeats)})
		}
		m.repeat = n
	}
	m.content.Properties = show.ReadEntries(ctx, t, page.SendPropertyPrefix)
	return m
}

// id is a field whose length is limited (MSG-5).
func (d *Door) id(ctx context.Context, t show.Typed, field string) string {
	text := t.Values.Get(field)
	if most := d.b.Limits().IDLength; runes(text) > most {
		t.Errors[field] = locale.N(ctx, "ui.long", int(most))
	}
	return text
}

// at is the message with its number put in.
func (m letter) at(n int) broker.Outgoing {
	return broker.Outgoing{Content: m.numbered(n), Body: []byte(strings.ReplaceAll(m.body, numberPlace, strconv.Itoa(n)))}
}

func (m letter) numbered(n int) engine.Content {
	c := m.content
	for _, s := range []*string{&c.MessageID, &c.Subject, &c.CorrelationID, &c.SessionID, &c.PartitionKey} {
		*s = strings.ReplaceAll(*s, numberPlace, strconv.Itoa(n))
	}
	if c.MessageID == "" {
		c.MessageID = newMessageID()
	}
	return c
}

// newMessageID is a random UUID, which a message without an id is given as an
// Azure client library would.
func newMessageID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, by its contract
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// sendAll sends in batches that the broker takes, and says how many it took.
func (d *Door) sendAll(c echo.Context, to engine.Path, m letter) (sent int, err error) {
	const batchMost = 100
	half := d.b.Limits().BatchSize / 2 // room for what else counts
	var batch []broker.Outgoing
	size := int64(0)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		if _, err := d.b.Send(c.Request().Context(), to, batch, actor(c)); err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
		sent, batch, size = sent+len(batch), nil, 0
		return nil
	}
	for n := 1; n <= m.repeat; n++ {
		out := m.at(n)
		if len(batch) == batchMost || size+int64(len(out.Body)) > half {
			if err := flush(); err != nil {
				return sent, err
			}
		}
		batch, size = append(batch, out), size+int64(len(out.Body))+256
	}
	return sent, flush()
}
