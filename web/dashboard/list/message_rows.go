package list

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/shorten"
	"mayfly/views/component"
	"mayfly/views/page"
	"mayfly/views/page/list"
	"mayfly/web/dashboard/admin"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/recent"
)

// StateOf returns the state of a message for display. A locked dead letter or deferred message is
// shown in that state rather than as locked, because pages show its lock separately.
func StateOf(r engine.Row, now engine.Instant) page.State {
	m := r.Message
	switch {
	case r.Path.IsDeadLetter():
		return page.StateDeadLetter
	case m.State == engine.Scheduled:
		return page.StateScheduled
	case m.State == engine.Deferred:
		return page.StateDeferred
	case m.LockedUntil != 0 && !m.LockedUntil.Passed(now):
		return page.StateLocked
	default:
		return page.StateActive
	}
}

// MessageRow returns a message as a row of a table. lockFor is the lock duration of its
// entity.
func MessageRow(ctx context.Context, p *pages.Pages, r engine.Row, now engine.Instant, lockFor time.Duration) list.MessageRow {
	m := r.Message
	row := list.MessageRow{
		Key: pages.KeyText(m.Key), Href: p.MessageURL(m.Key), State: StateOf(r, now), Number: int64(m.Seq),
		Subject: recent.DisplayName(r.Content, m.Seq), Size: r.Content.Size(),
		Tries: int(m.DeliveryCount), Max: int(r.MaxDeliveries), At: m.EnqueuedAt.Time(),
		Clock: pages.TTLClock(r, now), Expired: pages.HasExpired(r, now), Hold: pages.MessageLock(r, now, lockFor), Due: pages.DueClock(m, now),
	}
	row.Holder, row.HolderURL = admin.LockHolder(ctx, p, r.Lock.By)
	row.Subject = shorten.To(row.Subject, 200)
	if r.Content.Subject() != "" {
		row.ID = shorten.To(r.Content.MessageID(), 128)
	}
	// The broker has decoded every row it returns, so there is no error.
	if c, err := r.Content.Content(); err == nil {
		if c.HasSessionID() {
			row.Session = component.SessionName(ctx, c.SessionID)
		}
		if row.Pills = pills(c.Preview); len(row.Pills) == 0 {
			row.First = c.Preview
		}
	}
	if x := m.Extra; x != nil {
		if r.Path.IsDeadLetter() {
			row.Reason, row.Description = shorten.To(x.Reason, 200), shorten.To(x.Description, 300)
			row.Source = x.Source
			if r.Path.IsTransfer() {
				row.TransferTarget = pages.DisplayPath(engine.Path(x.To))
			}
			row.SetAsideAt = x.DeadAt.Time()
		} else if m.State == engine.Deferred {
			row.SetAsideAt, row.By = x.DeferredAt.Time(), pages.ActorName(ctx, x.By)
		}
	}
	return row
}

const (
	maxPills     = 4
	MaxPillBytes = 40
)

// pills returns the first scalars of a JSON object, as far as its beginning shows them, with
// the digits of numbers as they were sent.
func pills(preview string) (out []list.Pill) {
	if !strings.HasPrefix(preview, "{") {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(preview))
	d.UseNumber()
	var path []string // keys of the objects that are open, outermost first
	key, wantKey := "", true
	if _, err := d.Token(); err != nil {
		return nil
	}
	for len(out) < maxPills {
		t, err := d.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return out // truncated or invalid JSON; the part read so far is valid
		}
		switch v := t.(type) {
		case json.Delim:
			switch v {
			case '{':
				path, wantKey = append(path, key), true
			case '}':
				if len(path) == 0 {
					return out
				}
				path, wantKey = path[:len(path)-1], true
			default:
				return out // array elements have no names
			}
			continue
		case string:
			if wantKey {
				key, wantKey = v, false
				continue
			}
			out = append(out, list.Pill{Key: pillKey(path, key), Value: shorten.To(v, MaxPillBytes)})
		case json.Number:
			out = append(out, list.Pill{Key: pillKey(path, key), Value: shorten.To(v.String(), MaxPillBytes)})
		case bool:
			out = append(out, list.Pill{Key: pillKey(path, key), Value: map[bool]string{true: "true", false: "false"}[v]})
		default:
			out = append(out, list.Pill{Key: pillKey(path, key), Value: "null"})
		}
		wantKey = true
	}
	return out
}

func pillKey(path []string, key string) string {
	return shorten.To(strings.Join(append(slices.Clip(path), key), "."), MaxPillBytes)
}

// MessagesOnPage is how many messages a page of a list has.
const MessagesOnPage = 50
