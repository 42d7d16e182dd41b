package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/dashboard/pages"
)

// createStarter creates a sample queue, if it does not exist, and fills it with twenty messages
// whose times to live range from seconds to half an hour.
func (d *Handler) createStarter(c echo.Context, _ pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	config := engine.Config{DeadLetteringOnMessageExpiration: true}
	if _, err := d.b.Create(ctx, engine.Queue, pages.StarterQueue, config, actor(c)); err != nil && !errors.Is(err, engine.ErrExists) {
		return err
	}
	batch, err := d.starterMessages(ctx)
	if err != nil {
		return err
	}
	if _, err := d.b.Send(ctx, pages.StarterQueue, batch, actor(c)); err != nil {
		return err
	}
	return d.redirectWithNotice(c, d.pages.EntityURL(engine.Queue, pages.StarterQueue), component.Notice{
		Title: locale.N(ctx, "ui.sent", len(batch), locale.Args{"Name": pages.StarterQueue}), Detail: locale.T(ctx, "ui.starter", locale.Args{"To": pages.DisplayPath(engine.Path(pages.StarterQueue).DeadLetter())}),
	})
}

// starterGroups are the subjects of the sample messages, with their times to live.
var starterGroups = []struct {
	subject, region string
	ttls            []time.Duration // zero means never
	wait            time.Duration   // until the message becomes active; zero means at once
}{
	{"order.placed", "eu", []time.Duration{15 * time.Second, 25 * time.Second, 40 * time.Second, time.Minute, 90 * time.Second}, 0},
	{"order.paid", "eu", []time.Duration{2 * time.Minute, 3 * time.Minute, 5 * time.Minute, 8 * time.Minute}, 0},
	{"payment.captured", "us", []time.Duration{10 * time.Minute, 15 * time.Minute, 20 * time.Minute, 30 * time.Minute}, 0},
	{"price.changed", "us", []time.Duration{20 * time.Second, 45 * time.Second, 75 * time.Second}, 0},
	{"invoice.due", "ap", []time.Duration{0}, 0},
	{"reminder.sent", "ap", []time.Duration{30 * time.Second, time.Minute, 0}, 20 * time.Second},
}

func (d *Handler) starterMessages(ctx context.Context) ([]broker.Outgoing, error) {
	now, err := d.b.Now(ctx)
	if err != nil {
		return nil, fmt.Errorf("look at the clock: %w", err)
	}
	var out []broker.Outgoing
	for _, k := range starterGroups {
		for i, ttl := range k.ttls {
			n := len(out) + 1
			body, err := json.Marshal(map[string]any{
				"number": n, "region": k.region, "total": json.Number(strconv.Itoa(17*n) + ".90"), "customer": map[string]int{"id": 4400 + n},
			})
			if err != nil {
				return nil, fmt.Errorf("write a body: %w", err)
			}
			m := engine.Content{
				MessageID: k.subject + "-" + strconv.Itoa(n), Subject: k.subject, ContentType: "application/json", TTL: ttl,
				Properties: value.Properties{{Name: "region", Value: value.OfString(k.region)}, {Name: "attempt", Value: value.OfInt(int32(i + 1))}},
			}
			if k.wait > 0 {
				m.ScheduledFor = now.Add(k.wait * time.Duration(i+1))
			}
			out = append(out, broker.Outgoing{Content: m, Body: body})
		}
	}
	return out, nil
}
