package dashboard

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
	"mayfly/views/page/send"
	"mayfly/web/dashboard/operate"
	"mayfly/web/dashboard/pages"
)

const (
	// maxSelected bounds the selected messages of a table that one form acts on.
	maxSelected = 500
	// maxResubmitted is how many dead letters one request resubmits.
	maxResubmitted = 5000
)

// A bulkResult counts the outcomes of an operation on several messages.
type bulkResult struct {
	done   int
	failed map[string]int // counts by text id, one for each kind of error
	err    error          // the first unexpected error
}

func (t *bulkResult) add(err error) {
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

// notice returns the outcome as a notice, such as "18 deleted, 2 are locked".
func (t bulkResult) notice(ctx context.Context, id string) component.Notice {
	n := component.Notice{Title: locale.N(ctx, id, t.done)}
	for _, why := range []string{"ui.bulk.dropped", "ui.bulk.duplicate", "ui.bulk.refused", "ui.bulk.gone", "ui.bulk.range", "ui.bulk.failed"} {
		if c := t.failed[why]; c > 0 {
			n.Tone = component.Low
			n.Title += ", " + locale.N(ctx, why, c)
		}
	}
	if t.err != nil {
		n = withError(n, t.err)
	}
	return n
}

// operateOnMany runs an operation on several messages, and returns the address that undoes it as far
// as possible, or "" if nothing of it can be undone.
func (d *Handler) operateOnMany(ctx context.Context, keys []engine.Key, operation engine.Operation, actor string) (t bulkResult, undo string, err error) {
	var operations []engine.Operation
	err = d.b.Read(ctx, func(r broker.Reader) error {
		operations, t = nil, bulkResult{}
		for _, k := range keys {
			row, err := r.Message(k)
			if err != nil {
				t.add(err)
				continue
			}
			one := operation
			one.Target = engine.Target{Key: k, Path: row.Path, Seq: row.Message.Seq}
			operations = append(operations, one)
		}
		return nil
	})
	if err != nil {
		return t, "", err
	}
	all, err := d.operateInBatches(ctx, operations, actor)
	var was job.UndoRecord
	for i, is := range all {
		if is.Dropped {
			t.failed = incremented(t.failed, "ui.bulk.dropped")
			continue
		}
		t.add(is.Err)
		if is.Err == nil {
			was.Add(operations[i], is)
		}
	}
	if err != nil && len(all) == 0 {
		return t, "", err
	}
	t.err = cmp.Or(t.err, err)
	return t, d.undoReversal(was), nil //nolint:contextcheck // the undo has a request of its own
}

func incremented(n map[string]int, id string) map[string]int {
	if n == nil {
		n = map[string]int{}
	}
	n[id]++
	return n
}

// A bulkAction is an operation on the messages that were selected in a table.
type bulkAction struct {
	operation engine.OperationKind // zero for actions that engine.Operation does not have
	textID    string               // text id of the notice with the number of successes
	job       job.Kind             // the job for all matching messages; empty if there is none
	confirms  bool                 // the action always asks for confirmation
}

var bulkActions = map[string]bulkAction{
	"bulk/delete":      {engine.OperationDelete, "ui.bulk.deleted", job.Delete, true},
	"bulk/cancel":      {engine.OperationDelete, "ui.bulk.cancelled", job.Delete, true},
	"bulk/dead-letter": {engine.OperationDeadLetter, "ui.bulk.dead", job.DeadLetter, true},
	"bulk/move":        {engine.OperationMove, "ui.bulk.moved", job.Move, true},
	"bulk/reschedule":  {engine.OperationReschedule, "ui.bulk.rescheduled", job.Reschedule, true},
	"bulk/resubmit":    {engine.OperationMove, "ui.bulk.resubmitted", job.Resubmit, false},
	"bulk/copy":        {engine.OperationCopy, "ui.bulk.copied", job.Copy, false},
	"bulk/extend":      {engine.OperationExtend, "ui.bulk.extended", job.Extend, false},
	"bulk/send-now":    {engine.OperationSendNow, "ui.bulk.sentnow", job.SendNow, false},
	"bulk/return":      {engine.OperationReturn, "ui.bulk.returned", job.Return, false},
	"bulk/break-lock":  {textID: "ui.bulk.broken"},
	"bulk/export":      {},
}

// bulk acts on the messages that were selected in a table, or redirects to the job that acts
// on all that match. It asks for confirmation before an operation that cannot be undone.
func (d *Handler) bulk(c echo.Context, at pages.Address, typed url.Values) error {
	ctx, do := c.Request().Context(), bulkActions[at.Action]
	if typed.Has(page.FieldAll) {
		return d.redirectToJob(c, at, do, typed)
	}
	keys, err := selectedKeys(ctx, typed)
	if err != nil {
		return err
	}
	home := operate.BulkListURL(d.pages, at)
	if len(keys) == 0 {
		return d.redirectBack(c, home, component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.bulk.none")})
	}
	if at.Action == "bulk/export" {
		return c.Redirect(http.StatusSeeOther, d.pages.ExportURL(pages.Export{Keys: keys}))
	}
	t := pages.FormState{Values: typed}
	agreed, asked := confirmedCount(typed)
	if asked && int64(len(keys)) > agreed {
		return &pages.LocalizedError{Err: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", len(keys), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})}
	}
	operation, ready, err := d.bulkOperation(c, at, do, keys, &t, asked)
	if err != nil {
		return err
	}
	if !ready {
		code := http.StatusOK
		if len(t.Errors) > 0 {
			code = http.StatusUnprocessableEntity
		}
		return d.writeForm(c, code, at, t)
	}
	if do.operation == 0 {
		return d.redirectBack(c, home, d.breakLocks(c, keys).notice(ctx, do.textID))
	}
	out, undo, err := d.operateOnMany(ctx, keys, operation, actor(c))
	if err != nil {
		return err
	}
	n := out.notice(ctx, do.textID)
	n.Undo = undo
	if out.failed["ui.bulk.duplicate"] > 0 && at.Kind == pages.Entity {
		return d.showUndeliverable(c, at, d.deadLetterPathOf(ctx, keys, at.Path.DeadLetter()), out, n)
	}
	return d.redirectBack(c, home, n)
}

// bulkOperation returns the operation for each of the messages. ready is false if the form must
// be shown first. Errors in the form go to t.Errors.
func (d *Handler) bulkOperation(c echo.Context, at pages.Address, do bulkAction, keys []engine.Key, t *pages.FormState, asked bool) (operation engine.Operation, ready bool, err error) {
	ctx, typed := c.Request().Context(), t.Values
	operation.Kind, operation.DropDuplicate = do.operation, typed.Get(page.FieldDuplicate) != ""
	if do.confirms && !asked {
		return operation, false, nil
	}
	wrong := func(field string, err error) { t.Errors = map[string]component.Text{field: errorMessage(err)} }
	switch at.Action {
	case "bulk/delete", "bulk/cancel":
		name, err := operate.BulkConfirmName(ctx, d.pages, at)
		if err != nil {
			return operation, false, err
		}
		ready = len(keys) <= operate.ConfirmNameAbove || checkTypedName(c, typed, name, t)
		return operation, ready, nil
	case "bulk/dead-letter":
		t.Errors = d.reasonsTooLong(ctx, typed)
		operation.Reason, operation.Description = typed.Get(page.FieldReason), typed.Get(page.FieldDescription)
	case "bulk/extend":
		if !asked && typed.Get(page.FieldBy) == "" {
			return operation, false, nil
		}
		if operation.ExtendBy, err = parseSignedLength(ctx, typed.Get(page.FieldBy)); err != nil {
			wrong(page.FieldBy, err)
		}
	case "bulk/move":
		if operation.To, err = engine.ParsePath(strings.TrimSpace(typed.Get(page.FieldTo)), d.b.Limits()); err != nil {
			wrong(page.FieldTo, err)
		} else if _, err := d.readEntityState(c, operation.To); err != nil {
			wrong(page.FieldTo, err)
		}
		if typed.Get(page.FieldHow) == "copy" {
			operation.Kind = engine.OperationCopy
		}
	case "bulk/reschedule":
		when, field, err := parseDue(ctx, typed, d.b.ClockTime())
		if err == nil && when == 0 {
			field, err = send.SendIn, formError(ctx, "ui.when")
		}
		if err != nil {
			wrong(field, err)
		}
		operation.Until = when
	case "bulk/resubmit", "bulk/copy":
		if typed.Get(page.FieldHow) == "copy" {
			operation.Kind = engine.OperationCopy
		}
		if !asked {
			twice, err := operate.AnyDuplicate(ctx, d.pages, keys)
			return operation, !twice && err == nil, err
		}
	}
	return operation, len(t.Errors) == 0, nil
}

// redirectToJob redirects to the form of a job on all messages that match the table's query. That
// form counts them before the job starts.
func (d *Handler) redirectToJob(c echo.Context, at pages.Address, do bulkAction, typed url.Values) error {
	of := pages.Export{Path: typed.Get(page.FieldJobPath), Query: typed.Get(page.FieldQuery)}
	if at.Action == "bulk/export" {
		return c.Redirect(http.StatusSeeOther, d.pages.ExportURL(of))
	}
	if do.job == "" {
		return &pages.LocalizedError{Err: engine.ErrNotAllowed, Text: locale.T(c.Request().Context(), "ui.bulk.chosen")}
	}
	return c.Redirect(http.StatusSeeOther, d.pages.NewJobURL(do.job, of, typed.Get(page.FieldBy)))
}

// breakLocks ends the locks of messages as if they had expired (OPS-6).
func (d *Handler) breakLocks(c echo.Context, keys []engine.Key) (t bulkResult) {
	for _, k := range keys {
		t.add(d.b.BreakLock(c.Request().Context(), k, actor(c)))
	}
	return t
}

// selectedKeys returns the keys of the selected rows, each once.
func selectedKeys(ctx context.Context, typed url.Values) (keys []engine.Key, err error) {
	all := typed[page.FieldKey]
	if len(all) > maxSelected {
		return nil, formError(ctx, "ui.bulk.many")
	}
	for _, text := range all {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || n == 0 {
			return nil, formError(ctx, "ui.bulk.key")
		}
		if k := engine.Key(n); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// reasonsTooLong returns the errors, by field, of a dead-letter reason or description that is too
// long.
func (d *Handler) reasonsTooLong(ctx context.Context, typed url.Values) map[string]component.Text {
	wrong := map[string]component.Text{}
	for _, field := range []string{page.FieldReason, page.FieldDescription} {
		if most := d.b.Limits().ReasonLength; runes(typed.Get(field)) > most {
			wrong[field] = component.Text{S: locale.N(ctx, "ui.long", int(most))}
		}
	}
	return wrong
}

// resubmitAll resubmits the dead letters that exist now, the oldest maxResubmitted at most. Dead
// letters that arrive in the meantime stay.
func (d *Handler) resubmitAll(c echo.Context, at pages.Address, typed url.Values) error {
	ctx := c.Request().Context()
	t := pages.FormState{Values: typed}
	how := typed.Get(page.FieldHow)
	agreed, asked := confirmedCount(typed)
	if !asked || how != "" && how != "move" && how != "copy" {
		return d.writeForm(c, http.StatusUnprocessableEntity, at, t)
	}
	keys, all, err := d.deadLetters(ctx, deadLetterPath(at))
	if err != nil {
		return err
	}
	if broker.ConfirmedCount(agreed).Check(all) != nil {
		return d.writeFormError(c, at, t, &pages.LocalizedError{Err: engine.ErrChanged, Text: locale.N(ctx, "ui.changed", int(all), locale.Args{"Agreed": locale.Number(ctx, int(agreed))})})
	}
	operation := engine.Operation{Kind: engine.OperationMove, DropDuplicate: typed.Get(page.FieldDuplicate) != ""}
	if how == "copy" {
		operation.Kind = engine.OperationCopy
	}
	out, undo, err := d.operateOnMany(ctx, keys, operation, actor(c))
	if err != nil {
		return err
	}
	n := out.notice(ctx, "ui.bulk.resubmitted")
	n.Undo = undo
	if left := int(all) - len(keys); left > 0 {
		n.Detail = locale.N(ctx, "ui.resubmit.left", left)
	}
	if out.failed["ui.bulk.duplicate"] > 0 {
		return d.showUndeliverable(c, at, deadLetterPath(at), out, n)
	}
	return d.redirectBack(c, d.pages.EntityURL(at.EntityType, at.Path), n)
}

// showUndeliverable redirects to the dead-letter queue at `where`, with a notice of how many dead
// letters stayed there because the target would have dropped them as duplicates.
func (d *Handler) showUndeliverable(c echo.Context, at pages.Address, where engine.Path, out bulkResult, n component.Notice) error {
	so := locale.N(c.Request().Context(), "ui.resubmit.stayed", out.failed["ui.bulk.duplicate"])
	n.Detail = strings.TrimSpace(so + " " + n.Detail)
	return d.redirectWithNotice(c, d.pages.EntityURL(at.EntityType, where), n)
}

// deadLetterPathOf returns the dead-letter queue that holds the first dead letter among the
// messages, or `other` if there is no dead letter among them.
func (d *Handler) deadLetterPathOf(ctx context.Context, keys []engine.Key, other engine.Path) engine.Path {
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
	if err != nil { // the notice is shown anyway
		return other
	}
	return where
}

// deadLetterPath returns the dead-letter queue or transfer dead-letter queue of an address.
func deadLetterPath(at pages.Address) engine.Path {
	if at.Query.Get("dlq") == string(page.TabTransfers) {
		return at.Path.Transfer()
	}
	return at.Path.DeadLetter()
}

// deadLetters returns the keys of the oldest dead letters of a path that are not locked, and
// how many unlocked ones there are in all.
func (d *Handler) deadLetters(ctx context.Context, path engine.Path) (keys []engine.Key, all int64, err error) {
	err = d.b.Read(ctx, func(r broker.Reader) error {
		e, err := r.State(path.Entity())
		if err != nil {
			return err
		}
		all = e.Counts.DeadLetter - e.Counts.DeadLocked
		switch {
		case path.IsTransfer():
			all = e.Counts.TransferDeadLetter
		case e.Kind == engine.Topic:
			return pages.ErrPageNotFound
		}
		rows, err := r.Browse(engine.Browse{Path: path, From: 1, Limit: maxResubmitted})
		for _, row := range rows {
			if !row.Message.Locked() {
				keys = append(keys, row.Message.Key)
			}
		}
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list the dead letters of %s: %w", path, err)
	}
	return keys, all, nil
}
