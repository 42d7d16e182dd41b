package show

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/views/component"
	"mayfly/views/page"
)

// stateOf is where a message stands. Dead letters and deferred ones are that
// first; a lock on them shows beside it.
func stateOf(r engine.Row, now engine.Instant) page.State {
	m := r.Message
	switch {
	case r.Path.IsDeadLetter():
		return page.DeadLetter
	case m.State == engine.Scheduled:
		return page.Scheduled
	case m.State == engine.Deferred:
		return page.Parking
	case m.LockedUntil != 0 && !m.LockedUntil.Passed(now):
		return page.Locked
	default:
		return page.Active
	}
}

// messageRow is a message in a table; lockFor is what a lock lasts there.
func (p *Pages) messageRow(ctx context.Context, r engine.Row, now engine.Instant, lockFor time.Duration) page.MessageRow {
	m := r.Message
	row := page.MessageRow{
		Key: keyText(m.Key), Href: p.MessageURL(m.Key), State: stateOf(r, now), Number: int64(m.Seq),
		Subject: called(r.Content, m.Seq), Size: r.Content.Size(),
		Tries: int(m.DeliveryCount), Max: int(r.Deliveries), At: m.EnqueuedAt.Time(),
		Clock: ttlClock(r, now), Expired: outOfTime(r, now), Hold: hold(r, now, lockFor), Due: dueClock(m, now),
	}
	row.Holder, row.HolderAt = p.holder(ctx, r.Lock.By)
	row.Subject = cut(row.Subject, 200)
	if r.Content.Subject() != "" {
		row.ID = cut(r.Content.MessageID(), 128)
	}
	// Rows come out of the broker decoded once already: there is no error left.
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
			row.Reason, row.Description = cut(x.Reason, 200), cut(x.Description, 300)
			row.Source = x.Source
			if r.Path.IsTransfer() {
				row.For = Shown(engine.Path(x.To))
			}
			row.Aside = x.DeadAt.Time()
		} else if m.State == engine.Deferred {
			row.Aside, row.By = x.DeferredAt.Time(), hand(ctx, x.By)
		}
	}
	return row
}

const (
	mostPills   = 4
	longestPill = 40
)

// pills are the first scalars of a JSON object, as far as its beginning shows
// them, with the digits of numbers as they were sent.
func pills(preview string) (out []page.Pill) {
	if !strings.HasPrefix(preview, "{") {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(preview))
	d.UseNumber()
	var path []string // of the objects that are open, outermost first
	key, wantKey := "", true
	if _, err := d.Token(); err != nil {
		return nil
	}
	for len(out) < mostPills {
		t, err := d.Token()
		if errors.Is(err, io.EOF) || err != nil {
			return out // cut off, or not JSON after all: what was read is true
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
				return out // lists have no names
			}
			continue
		case string:
			if wantKey {
				key, wantKey = v, false
				continue
			}
			out = append(out, page.Pill{Key: pillKey(path, key), Value: cut(v, longestPill)})
		case json.Number:
			out = append(out, page.Pill{Key: pillKey(path, key), Value: cut(v.String(), longestPill)})
		case bool:
			out = append(out, page.Pill{Key: pillKey(path, key), Value: map[bool]string{true: "true", false: "false"}[v]})
		default:
			out = append(out, page.Pill{Key: pillKey(path, key), Value: "null"})
		}
		wantKey = true
	}
	return out
}

func pillKey(path []string, key string) string {
	return cut(strings.Join(append(slices.Clip(path), key), "."), longestPill)
}
