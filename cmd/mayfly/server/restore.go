package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/archive"
	"mayfly/storage/inspect"
)

func describeRestore() cli.Command {
	return cli.Command{
		Name: "restore", Summary: "Restore a backup into an empty store.", Flags: &restoreCommand{},
		Detail: "The whole backup is checked before anything is restored. The store must be empty, and no server may be using it. On MongoDB, the backup is restored as the namespace it was taken from, unless --namespace names another. If a restore is interrupted, no server opens the store until you restore again.",
		Examples: []cli.Example{
			{Line: "mayfly restore monday.backup --store sqlite:new.db", Text: "Restore into a new store. Start it with mayfly --store sqlite:new.db."},
		},
	}
}

// restoreCommand restores a backup.
type restoreCommand struct {
	File string `arg:"" help:"Backup file."`
	storeFlags
}

// Run checks the backup, then restores it.
func (c *restoreCommand) Run(ctx context.Context, s cli.Streams) (err error) {
	into, err := c.findStore(ctx)
	if err != nil {
		return err
	}
	if storage.Kind(into.URL) == "memory" {
		return errors.New("the store memory: is lost when this command ends; name another store with --store")
	}
	f, err := openBackup(c.File)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // opened for reading only
	i := inspect.New()
	backup, err := archive.Check(ctx, f, func(r engine.Record) error {
		i.AddRecord(r)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if r := i.Finish(); !r.Sound() {
		return fmt.Errorf("%s is complete, but its content is invalid, so nothing was restored:\n%s", c.File, formatFaults(r))
	}
	if c.Namespace == "" && storage.Kind(into.URL) == "mongodb" {
		if into, err = storage.Locate(ctx, into.URL, "", backup.Namespace, storage.Options{}); err != nil {
			return err
		}
	}
	store, err := storage.Open(ctx, into.URL, storage.Options{
		Namespace: cmp.Or(into.Namespace, backup.Namespace),
		Owner:     engine.Owner{Host: "a restore under way"}, // shown by servers that wait meanwhile
	})
	if err != nil {
		return err
	}
	done, err := backup.Restore(ctx, store)
	if err = errors.Join(err, store.Close()); err != nil {
		if done.Started {
			err = fmt.Errorf("%w; no server opens the store until you restore the backup again", err)
		}
		return err
	}
	return c.report(s, into.URL, backup.Counts, done)
}

func (c *restoreCommand) report(s cli.Streams, url string, what archive.Counts, done archive.RestoreResult) error {
	what.Events -= done.SkippedEvents
	text := fmt.Sprintf("Restored %s into %s: %s.\n", c.File, cli.StoreLocation(url), describeBackupCounts(what))
	if done.RemovedUnfinished {
		text += "The remains of an earlier, interrupted restore were removed.\n"
	}
	if done.SkippedEvents > 0 {
		text += fmt.Sprintf("The store keeps no history: %s left out.\n", cli.Pluralize(done.SkippedEvents, "event was", "events were"))
	}
	_, err := io.WriteString(s.Out, text)
	return err
}

// openBackup opens a backup file. It refuses standard input and anything else that is not a
// regular file, because a restore reads the backup twice.
func openBackup(name string) (*os.File, error) {
	if name == "-" {
		return nil, errors.New("a restore reads the backup twice, so it needs a file instead of -")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the backup cannot be read: %w", err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", name)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// formatFaults returns the faults of a report, a line each.
func formatFaults(r inspect.Report) string {
	lines := r.Findings
	if r.Omitted > 0 {
		lines = append(lines, fmt.Sprintf("And so on: %d more.", r.Omitted))
	}
	return strings.Join(lines, "\n")
}
