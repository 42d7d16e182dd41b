package ui

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/web/show"
)

const (
	// undoFor is how long what was done can be taken back. Pages offer it for ten
	// seconds; without a script the button stays, and a page takes time to come.
	undoFor = time.Minute
	// mostUndos is how much can be taken back at once, whoever did it: the oldest
	// goes first.
	mostUndos = 200
)

// undos are what can be taken back, each by whoever did it: its address cannot be
// guessed. They are gone when the server ends; a job's stay, see engine/job.
type undos struct {
	mu    sync.Mutex
	all   map[string]undo // guarded by mu
	order []string        // the oldest first, guarded by mu
}

// An undo takes back one thing, once, and says what became of it.
type undo struct {
	until engine.Instant
	back  func(c echo.Context) (component.Notice, error)
}

// keep remembers how something is taken back, and returns the word for it.
func (u *undos) keep(now engine.Instant, back func(echo.Context) (component.Notice, error)) string {
	word := rand.Text()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == nil {
		u.all = map[string]undo{}
	}
	for len(u.order) > 0 && (len(u.order) >= mostUndos || u.all[u.order[0]].until.Passed(now)) {
		delete(u.all, u.order[0])
		u.order = u.order[1:]
	}
	u.all[word] = undo{until: now.Add(undoFor), back: back}
	u.order = append(u.order, word)
	return word
}

// take is what has been remembered under a word, if it is not too late.
func (u *undos) take(now engine.Instant, word string) (func(echo.Context) (component.Notice, error), bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	is := u.all[word]
	if is.back == nil || is.until.Passed(now) {
		return nil, false
	}
	u.all[word] = undo{until: is.until} // its place in the order stays
	return is.back, true
}

// undo takes back what was just done, and says where it cannot.
func (d *Door) undo(c echo.Context, at show.Place, _ url.Values) error {
	ctx := c.Request().Context()
	back, ok := d.undos.take(engine.At(time.Now()), at.Peer)
	if !ok {
		return d.done(c, d.pages.Home(), component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.late"), Detail: locale.T(ctx, "ui.undo.late.detail")})
	}
	n, err := back(c)
	if err != nil {
		return err
	}
	return d.done(c, d.pages.Home(), n)
}

// undoURL is where what was done is taken back by back.
func (d *Door) undoURL(back func(echo.Context) (component.Notice, error)) string {
	return d.pages.UndoURL(d.undos.keep(engine.At(time.Now()), back))
}

// takeBack is where some deeds are taken back; empty if none of them can be.
func (d *Door) takeBack(was job.Reversal) string {
	if len(was.Items) == 0 {
		return ""
	}
	return d.undoURL(func(c echo.Context) (n component.Notice, err error) {
		ctx := c.Request().Context()
		var deeds []engine.Deed
		left := 0
		err = d.b.Read(ctx, func(r broker.Reader) error {
			deeds, left = was.Deeds(r)
			return nil
		})
		if err != nil {
			return n, err //nolint:wrapcheck // it says what it is about
		}
		done, err := d.doEach(ctx, deeds, actor(c))
		back, why := 0, error(nil)
		for _, is := range done {
			if is.Err == nil {
				back++
			} else if left++; why == nil {
				why = is.Err
			}
		}
		if err != nil && back == 0 {
			return n, err
		}
		return undone(ctx, back, left, why), nil
	})
}

// undone says what became of taking something back: of so many messages it was, of
// left it was not, of one of these perhaps for a reason of its own.
func undone(ctx context.Context, back, left int, why error) component.Notice {
	n := component.Notice{Title: locale.N(ctx, "ui.undone", back)}
	if left == 0 {
		return n
	}
	n.Tone, n.Detail = component.Low, locale.N(ctx, "ui.undone.left", left)
	if back == 0 {
		n.Title = locale.T(ctx, "ui.undo.none")
	}
	if why != nil {
		n = because(n, why)
	}
	return n
}

// mostTogether is how many messages one turn of the broker does something to.
const mostTogether = 256

// doEach does something to each of several messages, a few hundred in a commit. An
// error that ends it comes with what was done before.
func (d *Door) doEach(ctx context.Context, deeds []engine.Deed, actor string) (all []engine.Deeded, err error) {
	for from := 0; from < len(deeds); from += mostTogether {
		part, err := d.b.DoEach(ctx, deeds[from:min(from+mostTogether, len(deeds))], actor, nil)
		if err != nil {
			return all, fmt.Errorf("do something to messages: %w", err)
		}
		all = append(all, part...)
	}
	return all, nil
}

// doOne does something to one message, and says where that is taken back; empty
// if it cannot be.
func (d *Door) doOne(c echo.Context, row engine.Row, deed engine.Deed) (is engine.Deeded, undo string, err error) {
	deed.Target = engine.Target{Key: row.Message.Key, Path: row.Path, Seq: row.Message.Seq}
	all, err := d.doEach(c.Request().Context(), []engine.Deed{deed}, actor(c))
	if err == nil {
		err = all[0].Err
	}
	if err != nil {
		return is, "", err
	}
	var was job.Reversal
	was.Add(deed, all[0])
	return all[0], d.takeBack(was), nil
}
