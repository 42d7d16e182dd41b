package dashboard

import (
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"mayfly/views/page/entity"
	"mayfly/web/dashboard/pages"
)

// viewNoteInterval is how often views of a temporary entity are noted in its use history. They do not
// count as use (IDLE-7).
const viewNoteInterval = time.Minute

// viewTimes remembers when a view of each entity was last noted. Its zero value is ready to use,
// and it is safe for concurrent use.
type viewTimes struct {
	mu   sync.Mutex
	last map[string]time.Time // time of the last noted view, by folded path of the entity
}

// shouldNote reports whether a view of the entity at `path` must be noted, because none was noted
// within viewNoteInterval before `now`. If so, it remembers this view as noted.
func (v *viewTimes) shouldNote(path string, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if at, ok := v.last[path]; ok && now.Sub(at) < viewNoteInterval {
		return false
	}
	if v.last == nil || len(v.last) > 1000 {
		v.last = map[string]time.Time{} // at worst a view is noted twice
	}
	v.last[path] = now
	return true
}

// entityPage serves the page of an entity.
func (d *Handler) entityPage(c echo.Context) error {
	p, at, err := d.openPage(c)
	if err != nil {
		return err
	}
	if m, ok := p.(entity.Entity); ok && m.Idle.Clock.Of > 0 {
		d.noteView(c, at)
	}
	return d.writeOpened(c, p)
}

// noteView notes a view of a temporary entity in its use history.
func (d *Handler) noteView(c echo.Context, at pages.Address) {
	if !d.viewTimes.shouldNote(at.Path.Fold(), time.Now()) {
		return
	}
	if err := d.b.RecordView(c.Request().Context(), at.Path, "view", actor(c)); err != nil {
		d.log.Debug("the time of a page view was not stored", "err", err)
	}
}
