package show

import (
	"time"

	"mayfly/views/view"
)

// Refreshing is a page that changes by the passing of time alone, in a way that
// browsers cannot see to: rates fall, buckets of the horizon pass messages on.
type Refreshing struct {
	view.Page
	Every time.Duration
}

// Refresh is how long what was rendered stays true when nothing happens.
func (r Refreshing) Refresh() time.Duration { return r.Every }
