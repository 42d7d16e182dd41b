package job

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mayfly/engine"
)

// prune drops stopped jobs that are not among the latest maxJobs, and the undo records of stopped
// jobs that are not among the latest maxUndoableJobs. It keeps jobs that are being undone or whose
// undo can be resumed. The caller holds j.starting.
func (j *Jobs) prune(ctx context.Context) {
	all := j.List()
	unfinished := map[ID]bool{} // jobs that are being undone, or whose undo can be resumed
	for i, is := range all {
		if is.Plan.UndoOf != 0 && (!is.State.Stopped() || is.Resumable() && i < maxJobs) {
			unfinished[is.Plan.UndoOf] = true
		}
	}
	for i, is := range all {
		if !is.State.Stopped() || i < maxUndoableJobs || unfinished[is.ID] {
			continue
		}
		if is.UndoRecords > 0 {
			records := is.UndoRecords
			is.UndoRecords, is.UndoMessages = 0, 0
			if err := j.store(ctx, is); err != nil {
				j.log.WarnContext(ctx, "a job was not stored", "job", is.ID, "err", err)
				continue
			}
			for n := range records {
				j.dropSetting(ctx, undoKey(is.ID, n))
			}
		}
		j.mu.Lock()
		if l := j.all[is.ID]; i >= maxJobs {
			delete(j.all, is.ID)
		} else {
			l.job = is
		}
		j.mu.Unlock()
		if i >= maxJobs {
			j.dropSetting(ctx, recordKey(is.ID))
		}
	}
}

// dropSetting drops a setting of a job. If that fails, dropOrphans drops an undo record at the next start.
func (j *Jobs) dropSetting(ctx context.Context, key string) {
	if err := j.b.DropSetting(ctx, key); err != nil && !errors.Is(err, engine.ErrNotFound) {
		j.log.WarnContext(ctx, "a setting of an old job was not deleted", "key", key, "err", err)
	}
}

// dropOrphans drops undo records that no job refers to, because the server ended while prune ran.
func (j *Jobs) dropOrphans(ctx context.Context) error {
	kept, err := j.b.Settings(ctx, undoPrefix)
	if err != nil {
		return fmt.Errorf("read the undo records of jobs: %w", err)
	}
	known := map[string]bool{}
	for id, l := range j.all {
		for n := range l.job.UndoRecords {
			known[undoKey(id, n)] = true
		}
	}
	for _, s := range kept {
		if strings.HasPrefix(s.Key, undoPrefix) && !known[s.Key] {
			j.dropSetting(ctx, s.Key)
		}
	}
	return nil
}
