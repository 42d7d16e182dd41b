package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

const (
	// mostKeys is how many messages of a table one form acts on.
	mostKeys = 100
	// mostResubmitted is how many dead letters go back in one request.
	mostResubmitted = 5000
	// atOnce is how many operations of one request are in the broker together,
	// so that one commit serves many.
	atOnce = 64
)

// errDropped is that a message was dropped as a duplicate, as was asked for.
var errDropped = errors.New("dropped as a duplicate")

// A tally is what became of several messages.
type tally struct {
	done   int
	failed map[string]int // by what the broker said, in the words of the notice
	err    error          // of the first that failed in a way that ends it all
}

// each does one thing to several messages, many at a time.
func each(ctx context.Context, keys []engine.Key, do func(engine.Key) error) tally {
	var (
		mu   sync.Mutex
		wg   sync.WaitGroup
		out  = tally{failed: map[string]int{}}
		next = make(chan engine.Key)
	)
	for range min(atOnce, len(keys)) {
		wg.Go(func() {
			for k := range next {
				err := do(k)
				mu.Lock()
				out.note(err)
				mu.Unlock()
			}
		})
	}
	for _, k := range keys {
		if ctx.Err() != nil {
			break // whoever asked has left
		}
		next <- k
	}
	close(next)
	wg.Wait()
	return out
}

func (t *tally) note(err error) {
	switch {
	case err == nil:
		t.done++
	case errors.Is(err, errDropped):
		t.failed["ui.bulk.dropped"]++
	case errors.Is(err, engine.ErrMessageNotFound):
		t.failed["ui.bulk.gone"]++
	case errors.Is(err, engine.ErrDuplicate):
		t.failed["ui.bulk.duplicate"]++
	case errors.Is(err, engine.ErrNotAllowed):
		t.failed["ui.bulk.refused"]++
	case errors.Is(err, engine.ErrOutOfRange), errors.Is(err, engine.ErrArgument):
		t.failed["ui.bulk.range"]++
	default:
		t.failed["ui.bulk.failed"]++
		if t.err == nil {
			t.err = err
		}
	}
}

// says is what became of them: "18 deleted, 2 are locked".
func (t tally) says(ctx context.Context, id string) component.Notice {
	n := component.Notice{Title: locale.N(ctx, id, t.done)}
	for _, why := range []string{"ui.bulk.dropped", "ui.bulk.duplicate", "ui.bulk.refused", "ui.bulk.gone", "ui.bulk.range", "ui.bulk.failed"} {
		if c := t.failed[why]; c > 0 {
			n.Tone = component.Low
			n.Title += ", " + locale.N(ctx, why, c)
		}
	}
	if t.err != nil {
		n.Detail = told(t.err)
	}
	return n
}

// bulk acts on the messages that were chosen in a table. What cannot be undone
// asks first.
func (d *Door) bulk(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	keys, err := chosen(ctx, typed)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		return d.done(c, d.pages.EntityURL(at.Entity, at.Path), component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.bulk.none")})
	}
	t := show.Typed{Values: typed}
	agreed, asked := agreedTo(typed)
	if asked && int64(len(keys)) > agreed {
		return &engine.Refusal{Kind: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", len(keys), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})}
	}
	var do func(engine.Key) error
	id := ""
	switch at.Do {
	case "bulk/delete":
		if !asked {
			return d.form(c, http.StatusOK, at, t)
		}
		e, err := d.state(c, at.Path)
		if err != nil {
			return err
		}
		if len(keys) > show.TypeNameOver && !nameTyped(c, typed, e.Path.Name(), &t) {
			return d.form(c, http.StatusUnprocessableEntity, at, t)
		}
		id, do = "ui.bulk.deleted", func(k engine.Key) error { return d.b.DeleteOne(ctx, k, actor(c)) }
	case "bulk/dead-letter":
		if !asked {
			return d.form(c, http.StatusOK, at, t)
		}
		if wrong := d.reasonsTooLong(ctx, typed); len(wrong) > 0 {
			t.Errors = wrong
			return d.form(c, http.StatusUnprocessableEntity, at, t)
		}
		id, do = "ui.bulk.dead", func(k engine.Key) error {
			return d.b.DeadLetterOne(ctx, k, typed.Get(page.AskReason), typed.Get(page.AskDescription), actor(c))
		}
	case "bulk/extend":
		by, err := signed(ctx, typed.Get(page.AskBy))
		if err != nil {
			return d.againOr(c, at, typed, page.AskBy, err)
		}
		id, do = "ui.bulk.extended", func(k engine.Key) error { return d.extendQuietly(c, k, by) }
	default:
		if !asked {
			twice, err := d.pages.AnyDuplicate(ctx, keys)
			if err != nil {
				return err //nolint:wrapcheck // it says what it is about
			}
			if twice {
				return d.form(c, http.StatusOK, at, t)
			}
		}
		id, do = "ui.bulk.resubmitted", d.mover(c, typed)
	}
	out := each(ctx, keys, do)
	n := out.says(ctx, id)
	if out.failed["ui.bulk.duplicate"] > 0 {
		return d.stayed(c, at, d.lies(ctx, keys, at.Path.DeadLetter()), out, n)
	}
	return d.done(c, d.pages.EntityURL(at.Entity, at.Path), n)
}

func (d *Door) extendQuietly(c echo.Context, k engine.Key, by time.Duration) error {
	_, _, err := d.extendOne(c, k, by)
	return err
}

func (d *Door) mover(c echo.Context, typed url.Values) func(engine.Key) error {
	keep, drop := typed.Get(page.AskHow) == "copy", typed.Get(page.AskDuplicate) != ""
	return func(k engine.Key) error {
		seq, err := d.b.Move(c.Request().Context(), engine.Move{Key: k, Copy: keep, DropDuplicate: drop}, actor(c))
		if err == nil && seq == 0 {
			return errDropped
		}
		return err //nolint:wrapcheck // it is counted
	}
}

// chosen are the keys of the rows that were chosen, each once.
func chosen(ctx context.Context, typed url.Values) (keys []engine.Key, err error) {
	all := typed[page.AskKey]
	if len(all) > mostKeys {
		return nil, refuse(ctx, "ui.bulk.many")
	}
	for _, text := range all {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return nil, refuse(ctx, "ui.bulk.key")
		}
		if k := engine.Key(n); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// reasonsTooLong says what is wrong with a reason before it is used many times.
func (d *Door) reasonsTooLong(ctx context.Context, typed url.Values) map[string]string {
	wrong := map[string]string{}
	for _, field := range []string{page.AskReason, page.AskDescription} {
		if most := d.b.Limits().ReasonLength; runes(typed.Get(field)) > most {
			wrong[field] = locale.N(ctx, "ui.long", int(most))
		}
	}
	return wrong
}

// resubmitAll sends the dead letters back that are there now: those that come
// meanwhile stay.
func (d *Door) resubmitAll(c echo.Context, at show.Place, typed url.Values) error {
	ctx := c.Request().Context()
	t := show.Typed{Values: typed}
	how := typed.Get(page.AskHow)
	agreed, asked := agreedTo(typed)
	if !asked || how != "" && how != "move" && how != "copy" {
		return d.form(c, http.StatusUnprocessableEntity, at, t)
	}
	keys, all, err := d.deadLetters(ctx, deadOf(at))
	if err != nil {
		return err
	}
	if broker.Agreed(agreed).Check(all) != nil {
		return d.again(c, at, t, &engine.Refusal{Kind: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", int(all), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})})
	}
	out := each(ctx, keys, d.mover(c, typed))
	n := out.says(ctx, "ui.bulk.resubmitted")
	if left := int(all) - len(keys); left > 0 {
		n.Detail = locale.N(ctx, "ui.resubmit.left", left)
	}
	if out.failed["ui.bulk.duplicate"] > 0 {
		return d.stayed(c, at, deadOf(at), out, n)
	}
	return d.done(c, d.pages.EntityURL(at.Entity, at.Path), n)
}

// stayed leads to the dead letters that were not resubmitted, since they would
// have been dropped as duplicates, and says that they are there.
func (d *Door) stayed(c echo.Context, at show.Place, where engine.Path, out tally, n component.Notice) error {
	so := locale.N(c.Request().Context(), "ui.resubmit.stayed", out.failed["ui.bulk.duplicate"])
	n.Detail = strings.TrimSpace(so + " " + n.Detail)
	return d.goTo(c, d.pages.EntityURL(at.Entity, where), n)
}

// lies is the queue of dead letters in which the first of some messages lies;
// other if none of them is in one.
func (d *Door) lies(ctx context.Context, keys []engine.Key, other engine.Path) engine.Path {
	where := other
	err := d.b.Read(ctx, func(r broker.Reader) error {
		for _, k := range keys {
			if row, err := r.Message(k); err == nil && row.Path.IsDeadLetter() {
				where = row.Path
				break
			}
		}
		return nil
	})
	if err != nil { // what was done is told all the same
		return other
	}
	return where
}

// deadOf is where the dead letters lie that an address is about.
func deadOf(at show.Place) engine.Path {
	if at.Query.Get("dlq") == string(page.Transfers) {
		return at.Path.Transfer()
	}
	return at.Path.DeadLetter()
}

// deadLetters are the keys of the dead letters of a place that nobody holds, the
// oldest, and how many there are of them in all.
func (d *Door) deadLetters(ctx context.Context, path engine.Path) (keys []engine.Key, all int64, err error) {
	err = d.b.Read(ctx, func(r broker.Reader) error {
		e, err := r.State(path.Entity())
		if err != nil {
			return err //nolint:wrapcheck // it says what it is about
		}
		all = e.Counts.DeadLetter - e.Counts.DeadLocked
		switch {
		case path.IsTransfer():
			all = e.Counts.TransferDeadLetter
		case e.Kind == engine.Topic:
			return show.ErrNoPage
		}
		rows, err := r.Browse(engine.Browse{Path: path, From: 1, Limit: mostResubmitted})
		for _, row := range rows {
			if !row.Message.Locked() {
				keys = append(keys, row.Message.Key)
			}
		}
		return err //nolint:wrapcheck // it says what it is about
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list the dead letters of %s: %w", path, err)
	}
	return keys, all, nil
}
