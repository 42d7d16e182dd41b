package dashboard

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
	"mayfly/web/dashboard/pages"
)

const (
	// undoLifetime is how long an operation can be undone. Pages offer the undo for ten seconds,
	// but without a script the button stays, and a page takes time to load.
	undoLifetime = time.Minute
	// maxUndos is how many operations of all users together can be undone. One more drops the
	// oldest.
	maxUndos = 200
)

// An undoStore holds recent operations that can be undone. Their addresses cannot be guessed, so
// only their own users can undo them. They are lost when the server stops. The undo of a job is
// stored with the job, see engine/job.
type undoStore struct {
	mu      sync.Mutex
	entries map[string]undoEntry // guarded by mu
	order   []string             // the oldest first, guarded by mu
}

// An undoEntry undoes one operation, once, and returns a notice about it.
type undoEntry struct {
	until engine.Instant
	run   func(c echo.Context) (component.Notice, error)
}

// keep stores an undo, and returns the random word for its address.
func (u *undoStore) keep(now engine.Instant, back func(echo.Context) (component.Notice, error)) string {
	word := rand.Text()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.entries == nil {
		u.entries = map[string]undoEntry{}
	}
	for len(u.order) > 0 && (len(u.order) >= maxUndos || u.entries[u.order[0]].until.Passed(now)) {
		delete(u.entries, u.order[0])
		u.order = u.order[1:]
	}
	u.entries[word] = undoEntry{until: now.Add(undoLifetime), run: back}
	u.order = append(u.order, word)
	return word
}

// take returns the undo with the given word, unless it has expired or was taken before.
func (u *undoStore) take(now engine.Instant, word string) (func(echo.Context) (component.Notice, error), bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	is := u.entries[word]
	if is.run == nil || is.until.Passed(now) {
		return nil, false
	}
	u.entries[word] = undoEntry{until: is.until} // u.order keeps the word until it expires
	return is.run, true
}

// undoOperation undoes a recent operation, or shows why it cannot.
func (d *Handler) undoOperation(c echo.Context, at pages.Address, _ url.Values) error {
	ctx := c.Request().Context()
	back, ok := d.undos.take(engine.At(time.Now()), at.StringID)
	if !ok {
		return d.redirectBack(c, d.pages.Home(), component.Notice{Tone: component.Low, Title: locale.T(ctx, "ui.undo.late"), Detail: locale.T(ctx, "ui.undo.late.detail")})
	}
	n, err := back(c)
	if err != nil {
		return err
	}
	return d.redirectBack(c, d.pages.Home(), n)
}

// keepUndo stores an undo, and returns the address that calls `back` when a form is sent to it.
func (d *Handler) keepUndo(back func(echo.Context) (component.Notice, error)) string {
	return d.pages.UndoURL(d.undos.keep(engine.At(time.Now()), back))
}

// undoReversal returns the address that undoes operations, or "" if none can be undone.
func (d *Handler) undoReversal(was job.UndoRecord) string {
	if len(was.Items) == 0 {
		return ""
	}
	return d.keepUndo(func(c echo.Context) (n component.Notice, err error) {
		ctx := c.Request().Context()
		var operations []engine.Operation
		left := 0
		err = d.b.Read(ctx, func(r broker.Reader) error {
			operations, left = was.Operations(r)
			return nil
		})
		if err != nil {
			return n, err
		}
		done, err := d.operateInBatches(ctx, operations, actor(c))
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
		return undoNotice(ctx, back, left, why), nil
	})
}

// undoNotice returns the notice of an undo that restored `back` messages and could not restore
// `left` messages. `why` is the error of one that it could not restore, or nil if there is none.
func undoNotice(ctx context.Context, back, left int, why error) component.Notice {
	n := component.Notice{Title: locale.N(ctx, "ui.undone", back)}
	if left == 0 {
		return n
	}
	n.Tone, n.Detail = component.Low, locale.N(ctx, "ui.undone.left", left)
	if back == 0 {
		n.Title = locale.T(ctx, "ui.undo.none")
	}
	if why != nil {
		n = withError(n, why)
	}
	return n
}

// operationBatch is how many messages one turn of the broker changes.
const operationBatch = 256

// operateInBatches runs operations on several messages, operationBatch of them in a turn of the
// broker. If a turn fails, it returns the error with the results of the turns before.
func (d *Handler) operateInBatches(ctx context.Context, operations []engine.Operation, actor string) (all []engine.OperationResult, err error) {
	for from := 0; from < len(operations); from += operationBatch {
		part, err := d.b.ApplyOperations(ctx, operations[from:min(from+operationBatch, len(operations))], actor, nil)
		if err != nil {
			return all, fmt.Errorf("do something to messages: %w", err)
		}
		all = append(all, part...)
	}
	return all, nil
}

// operateOnOne runs an operation on one message, and returns the address that undoes it, or "" if it
// cannot be undone.
func (d *Handler) operateOnOne(c echo.Context, row engine.Row, operation engine.Operation) (is engine.OperationResult, undo string, err error) {
	operation.Target = engine.Target{Key: row.Message.Key, Path: row.Path, Seq: row.Message.Seq}
	all, err := d.operateInBatches(c.Request().Context(), []engine.Operation{operation}, actor(c))
	if err == nil {
		err = all[0].Err
	}
	if err != nil {
		return is, "", err
	}
	var was job.UndoRecord
	was.Add(operation, all[0])
	return all[0], d.undoReversal(was), nil
}
