package ui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/views/component"
	"mayfly/views/locale"
	"mayfly/views/page"
	"mayfly/web/show"
)

const (
	// mostKeys is how many messages of a table one form acts on: as many as a
	// search lists.
	mostKeys = 500
	// mostResubmitted is how many dead letters go back in one request.
	mostResubmitted = 5000
)

// A tally is what became of several messages.
type tally struct {
	done   int
	failed map[string]int // by what the broker said, in the words of the notice
	err    error          // of the first that failed in a way that ends it all
}

func (t *tally) note(err error) {
	if t.failed == nil {
		t.failed = map[string]int{}
	}
	switch {
	case err == nil:
		t.done++
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
		n = because(n, t.err)
	}
	return n
}

// doMany does something to several messages, and says where that is taken back as
// far as it can be; empty if nothing of it can.
func (d *Door) doMany(ctx context.Context, keys []engine.Key, deed engine.Deed, actor string) (t tally, undo string, err error) {
	var deeds []engine.Deed
	err = d.b.Read(ctx, func(r broker.Reader) error {
		deeds, t = nil, tally{}
		for _, k := range keys {
			row, err := r.Message(k)
			if err != nil {
				t.note(err)
				continue
			}
			one := deed
			one.Target = engine.Target{Key: k, Path: row.Path, Seq: row.Message.Seq}
			deeds = append(deeds, one)
		}
		return nil
	})
	if err != nil {
		return t, "", err //nolint:wrapcheck // it says what it is about
	}
	all, err := d.doEach(ctx, deeds, actor)
	var was job.Reversal
	for i, is := range all {
		if is.Dropped {
			t.failed = with(t.failed, "ui.bulk.dropped")
			continue
		}
		t.note(is.Err)
		if is.Err == nil {
			was.Add(deeds[i], is)
		}
	}
	if err != nil && len(all) == 0 {
		return t, "", err
	}
	t.err = cmp.Or(t.err, err)
	return t, d.takeBack(was), nil //nolint:contextcheck // whoever takes it back has a request of their own
}

func with(n map[string]int, id string) map[string]int {
	if n == nil {
		n = map[string]int{}
	}
	n[id]++
	return n
}

// A bulk is what a form does to the messages that were chosen in a table.
type bulk struct {
	deed engine.DeedKind // zero: see breakLocks
	says string          // the id of what is said of those it was done to
	job  job.Kind        // what does the same to all that match; empty: nothing does
	asks bool            // first, whatever is known already
}

func bulks() map[string]bulk {
	return map[string]bulk{
		"bulk/delete":      {engine.DeedDelete, "ui.bulk.deleted", job.Delete, true},
		"bulk/cancel":      {engine.DeedDelete, "ui.bulk.cancelled", job.Delete, true},
		"bulk/dead-letter": {engine.DeedDeadLetter, "ui.bulk.dead", job.DeadLetter, true},
		"bulk/move":        {engine.DeedMove, "ui.bulk.moved", job.Move, true},
		"bulk/reschedule":  {engine.DeedReschedule, "ui.bulk.rescheduled", job.Reschedule, true},
		"bulk/resubmit":    {engine.DeedMove, "ui.bulk.resubmitted", job.Resubmit, false},
		"bulk/copy":        {engine.DeedCopy, "ui.bulk.copied", job.Copy, false},
		"bulk/extend":      {engine.DeedExtend, "ui.bulk.extended", job.Extend, false},
		"bulk/send-now":    {engine.DeedSendNow, "ui.bulk.sentnow", job.SendNow, false},
		"bulk/return":      {engine.DeedReturn, "ui.bulk.returned", job.Return, false},
		"bulk/break-lock":  {says: "ui.bulk.broken"},
		"bulk/export":      {},
	}
}

// bulk acts on the messages that were chosen in a table, or leads to the job that
// acts on all that match. What cannot be undone asks first.
func (d *Door) bulk(c echo.Context, at show.Place, typed url.Values) error {
	ctx, do := c.Request().Context(), bulks()[at.Do]
	if typed.Has(page.AskAll) {
		return d.bulkAll(c, at, do, typed)
	}
	keys, err := chosen(ctx, typed)
	if err != nil {
		return err
	}
	home := d.pages.BulkHome(at)
	if len(keys) == 0 {
		return d.done(c, home, component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.bulk.none")})
	}
	if at.Do == "bulk/export" {
		return c.Redirect(http.StatusSeeOther, d.pages.ExportURL(show.Export{Keys: keys}))
	}
	t := show.Typed{Values: typed}
	agreed, asked := agreedTo(typed)
	if asked && int64(len(keys)) > agreed {
		return &show.Refusal{Kind: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", len(keys), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})}
	}
	deed, ready, err := d.bulkDeed(c, at, do, keys, &t, asked)
	if err != nil {
		return err
	}
	if !ready {
		code := http.StatusOK
		if len(t.Errors) > 0 {
			code = http.StatusUnprocessableEntity
		}
		return d.form(c, code, at, t)
	}
	if do.deed == 0 {
		return d.done(c, home, d.breakLocks(c, keys).says(ctx, do.says))
	}
	out, undo, err := d.doMany(ctx, keys, deed, actor(c))
	if err != nil {
		return err
	}
	n := out.says(ctx, do.says)
	n.Undo = undo
	if out.failed["ui.bulk.duplicate"] > 0 && at.Kind == show.Entity {
		return d.stayed(c, at, d.lies(ctx, keys, at.Path.DeadLetter()), out, n)
	}
	return d.done(c, home, n)
}

// bulkDeed is what is done to each of the messages. It is not ready where something
// has to be asked first; t says what was wrong with what was typed.
func (d *Door) bulkDeed(c echo.Context, at show.Place, do bulk, keys []engine.Key, t *show.Typed, asked bool) (deed engine.Deed, ready bool, err error) {
	ctx, typed := c.Request().Context(), t.Values
	deed.Kind, deed.DropDuplicate = do.deed, typed.Get(page.AskDuplicate) != ""
	if do.asks && !asked {
		return deed, false, nil
	}
	wrong := func(field string, err error) { t.Errors = map[string]component.Text{field: why(err)} }
	switch at.Do {
	case "bulk/delete", "bulk/cancel":
		name, err := d.pages.BulkName(ctx, at)
		if err != nil {
			return deed, false, err //nolint:wrapcheck // it says what it is about
		}
		ready = len(keys) <= show.TypeNameOver || nameTyped(c, typed, name, t)
		return deed, ready, nil
	case "bulk/dead-letter":
		t.Errors = d.reasonsTooLong(ctx, typed)
		deed.Reason, deed.Description = typed.Get(page.AskReason), typed.Get(page.AskDescription)
	case "bulk/extend":
		if !asked && typed.Get(page.AskBy) == "" {
			return deed, false, nil
		}
		if deed.By, err = signed(ctx, typed.Get(page.AskBy)); err != nil {
			wrong(page.AskBy, err)
		}
	case "bulk/move":
		if deed.To, err = engine.ParsePath(strings.TrimSpace(typed.Get(page.AskTo)), d.b.Limits()); err != nil {
			wrong(page.AskTo, err)
		} else if _, err := d.state(c, deed.To); err != nil {
			wrong(page.AskTo, err)
		}
		if typed.Get(page.AskHow) == "copy" {
			deed.Kind = engine.DeedCopy
		}
	case "bulk/reschedule":
		when, field, err := due(ctx, typed, d.b.Clock())
		if err == nil && when == 0 {
			field, err = page.SendIn, refuse(ctx, "ui.when")
		}
		if err != nil {
			wrong(field, err)
		}
		deed.Until = when
	case "bulk/resubmit", "bulk/copy":
		if typed.Get(page.AskHow) == "copy" {
			deed.Kind = engine.DeedCopy
		}
		if !asked {
			twice, err := d.pages.AnyDuplicate(ctx, keys)
			return deed, !twice && err == nil, err //nolint:wrapcheck // it says what it is about
		}
	}
	return deed, len(t.Errors) == 0, nil
}

// bulkAll leads to the form of the job that does something to all messages that
// match what a table shows: it counts them before anything is done.
func (d *Door) bulkAll(c echo.Context, at show.Place, do bulk, typed url.Values) error {
	of := show.Export{Path: typed.Get(page.AskAt), Query: typed.Get(page.AskQuery)}
	if at.Do == "bulk/export" {
		return c.Redirect(http.StatusSeeOther, d.pages.ExportURL(of))
	}
	if do.job == "" {
		return &show.Refusal{Kind: engine.ErrNotAllowed, Text: locale.T(c.Request().Context(), "ui.bulk.chosen")}
	}
	return c.Redirect(http.StatusSeeOther, d.pages.NewJobURL(do.job, of, typed.Get(page.AskBy)))
}

// breakLocks ends the locks of messages as if they had run out (OPS-6).
func (d *Door) breakLocks(c echo.Context, keys []engine.Key) (t tally) {
	for _, k := range keys {
		t.note(d.b.BreakLock(c.Request().Context(), k, actor(c)))
	}
	return t
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
func (d *Door) reasonsTooLong(ctx context.Context, typed url.Values) map[string]component.Text {
	wrong := map[string]component.Text{}
	for _, field := range []string{page.AskReason, page.AskDescription} {
		if most := d.b.Limits().ReasonLength; runes(typed.Get(field)) > most {
			wrong[field] = component.Text{S: locale.N(ctx, "ui.long", int(most))}
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
		return d.again(c, at, t, &show.Refusal{Kind: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", int(all), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})})
	}
	deed := engine.Deed{Kind: engine.DeedMove, DropDuplicate: typed.Get(page.AskDuplicate) != ""}
	if how == "copy" {
		deed.Kind = engine.DeedCopy
	}
	out, undo, err := d.doMany(ctx, keys, deed, actor(c))
	if err != nil {
		return err
	}
	n := out.says(ctx, "ui.bulk.resubmitted")
	n.Undo = undo
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
