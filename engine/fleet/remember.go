package fleet

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

const (
	deedKind         = "deed" // on a board
	rememberPatience = 5 * time.Second
	handEvery        = time.Second
	// mostDeeds is how many may wait on the board for somebody to own the server's own
	// namespace: more is only logged.
	mostDeeds = 1000
)

// A deed is what one server leaves on the board for another to remember.
type deed struct {
	Kind  string `json:"kind"`
	About string `json:"about,omitempty"`
	Actor string `json:"actor,omitempty"`
}

// Remember has the server's own namespace remember what was done to the server, by whom:
// kind is one of those with OfServer. Where another server owns that namespace, it does so
// within seconds, by way of the board; while nobody owns it, later. It may be told twice if
// a server dies over it. What cannot be remembered is logged.
func (f *Fleet) Remember(ctx context.Context, kind engine.EventKind, about, actor string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rememberPatience)
	defer cancel()
	err := engine.ErrClosed
	if b := f.main.open(); b != nil {
		err = b.Remember(ctx, kind, about, actor)
	}
	if err != nil && f.o.Board != nil {
		err = f.leaveDeed(ctx, deed{kind.String(), about, actor})
	}
	if err != nil {
		f.log.Warn("activity does not tell what was done", "what", kind, "about", about, "who", actor, "err", err)
	}
}

// leaveDeed leaves one on the board, behind those that are there.
func (f *Fleet) leaveDeed(ctx context.Context, d deed) error {
	there, err := f.o.Board.Notes(ctx, deedKind)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	if len(there) >= mostDeeds {
		return fmt.Errorf("%d wait already that nobody has taken", len(there))
	}
	raw, err := json.Marshal(d)
	if err != nil {
		panic(err) // texts
	}
	id := fmt.Sprintf("%020d-%010d-%s", time.Now().UnixNano(), f.deeds.Add(1), strings.ToLower(rand.Text()[:8])) // they go in this order
	return f.o.Board.PutUp(ctx, deedKind, id, string(raw))                                                       //nolint:wrapcheck // likewise
}

// takeDeeds has the server's own namespace, while it is here, remember what other servers
// have left for it.
func (f *Fleet) takeDeeds() {
	every := time.NewTicker(handEvery)
	defer every.Stop()
	for told := false; ; {
		if b := f.main.open(); b != nil {
			err := f.take(b)
			if err != nil && !told && f.ctx.Err() == nil {
				f.log.Warn("what was done at other servers cannot be told; that is tried again", "err", err)
			}
			told = err != nil
		}
		select {
		case <-every.C:
		case <-f.ctx.Done():
			return
		}
	}
}

func (f *Fleet) take(b *broker.Broker) error {
	ctx, cancel := context.WithTimeout(f.ctx, rememberPatience)
	defer cancel()
	notes, err := f.o.Board.Notes(ctx, deedKind)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	for _, n := range notes {
		var d deed
		kind, ok := engine.EventKind(0), false
		if err := json.Unmarshal([]byte(n.Text), &d); err == nil {
			kind, ok = engine.ServerEvent(d.Kind)
		}
		if !ok {
			f.log.Warn("what was done at another server is not known here", "what", d.Kind, "about", d.About, "who", d.Actor)
		} else if err := b.Remember(ctx, kind, d.About, d.Actor); err != nil {
			return err //nolint:wrapcheck // likewise
		}
		if err := f.o.Board.TakeDown(ctx, deedKind, n.ID); err != nil {
			return err //nolint:wrapcheck // likewise
		}
	}
	return nil
}
