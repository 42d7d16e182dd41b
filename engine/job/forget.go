package job

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/engine"
)

// forget lets go of the oldest jobs that are over, and of what is not to be taken back
// any more. j.starting is held.
func (j *Jobs) forget(ctx context.Context) {
	all := j.List()
	unfinished := map[ID]bool{} // that are being taken back, or whose undo may go on
	for i, is := range all {
		if is.Plan.Of != 0 && (!is.State.Over() || is.Resumable() && i < jobsKept) {
			unfinished[is.Plan.Of] = true
		}
	}
	for i, is := range all {
		if !is.State.Over() || i < undoKept || unfinished[is.ID] {
			continue
		}
		if is.Undoing > 0 {
			records := is.Undoing
			is.Undoing, is.Undoes = 0, 0
			if err := j.keep(ctx, is); err != nil {
				j.log.WarnContext(ctx, "a job is not kept", "job", is.ID, "err", err)
				continue
			}
			for n := range records {
				j.drop(ctx, undoKey(is.ID, n))
			}
		}
		j.mu.Lock()
		if l := j.all[is.ID]; i >= jobsKept {
			delete(j.all, is.ID)
		} else {
			l.job = is
		}
		j.mu.Unlock()
		if i >= jobsKept {
			j.drop(ctx, recordKey(is.ID))
		}
	}
}

// drop forgets a setting of a job; tidy does it later where it cannot be done now.
func (j *Jobs) drop(ctx context.Context, key string) {
	if err := j.b.DropSetting(ctx, key); err != nil && !errors.Is(err, engine.ErrNotFound) {
		j.log.WarnContext(ctx, "a setting of an old job stays", "key", key, "err", err)
	}
}

// tidy forgets what was left of what can be taken back when a server ended between
// the two steps of forget.
func (j *Jobs) tidy(ctx context.Context) error {
	kept, err := j.b.Settings(ctx, undoPrefix)
	if err != nil {
		return fmt.Errorf("read what jobs may take back: %w", err)
	}
	known := map[string]bool{}
	for id, l := range j.all {
		for n := range l.job.Undoing {
			known[undoKey(id, n)] = true
		}
	}
	for _, s := range kept {
		if strings.HasPrefix(s.Key, undoPrefix) && !known[s.Key] {
			j.drop(ctx, s.Key)
		}
	}
	return nil
}
