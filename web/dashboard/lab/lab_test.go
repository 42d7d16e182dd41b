package lab

import (
	"context"
	"errors"
	"testing"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/web/dashboard/pages"
)

// TestOutcomeForNobody checks that outcome returns the cause if the request was cancelled, without
// evaluating rules.
func TestOutcomeForNobody(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if _, err := outcome(ctx, new(pages.Pages), []engine.EntityState{{}}, filter.Message{}, ""); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
