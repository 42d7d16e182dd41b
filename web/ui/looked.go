package ui

import (
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/web/show"
)

// lookEvery is how often looking at a temporary entity is noted in its ledger,
// where it does not count (IDLE-7).
const lookEvery = time.Minute

// views remembers when entities were last looked at. Its zero value is ready;
// it is safe for concurrent use.
type views struct {
	mu   sync.Mutex
	last map[string]time.Time // by folded path
}

// due says whether looking at path is to be noted at now, and if so that it was.
func (v *views) due(path string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if at, ok := v.last[path]; ok && now.Sub(at) < lookEvery {
		return false
	}
	if v.last == nil || len(v.last) > 1000 {
		v.last = map[string]time.Time{} // at worst something is noted twice
	}
	v.last[path] = now
	return true
}

// looked notes in the ledger of a temporary entity that somebody looked at it.
func (d *Door) looked(c echo.Context, at show.Place) {
	if !d.views.due(at.Path.Fold(), time.Now()) {
		return
	}
	if err := d.b.Looked(c.Request().Context(), at.Path, "view", actor(c)); err != nil {
		d.log.Debug("a look was not noted", "err", err)
	}
}
