package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/archive"
	"mayfly/storage/inspect"
)

func describeRestore() description {
	return description{
		name: "restore", summary: "Restore a backup into an empty store.", command: &restoreCommand{},
		detail: "The whole backup is checked before anything is restored. The store must be empty and owned by no server. In a store that has several namespaces it becomes the one it was, unless --namespace says another. If a restore is interrupted, nobody serves the store until it was restored once more.",
		examples: []example{
			{"mayfly restore monday.backup --store sqlite:new.db", "Makes a store of it; mayfly --store sqlite:new.db serves it."},
		},
	}
}

// restoreCommand restores a backup.
type restoreCommand struct {
	File string `arg:"" help:"The backup."`
	storeFlags
}

// Run checks, then restores.
func (c *restoreCommand) Run(ctx context.Context, s streams) (err error) {
	into, err := c.find(ctx)
	if err != nil {
		return err
	}
	if storage.Kind(into.URL) == "memory" {
		return errors.New("what is restored into memory: is forgotten at once; name a store with --store")
	}
	f, err := opened(c.File)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // what was read was read
	i := inspect.New()
	backup, err := archive.Check(ctx, f, func(r engine.Record) error {
		i.Record(r)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	if r := i.End(); !r.Sound() {
		return fmt.Errorf("%s is whole, but nothing was restored, for what is in it is not sound:\n%s", c.File, wrongs(r))
	}
	if c.Namespace == "" && storage.Kind(into.URL) == "mongodb" {
		if into, err = storage.Find(ctx, into.URL, "", backup.Namespace, storage.Options{}); err != nil {
			return err //nolint:wrapcheck // a sentence
		}
	}
	store, err := storage.Open(ctx, into.URL, storage.Options{
		Namespace: cmp.Or(into.Namespace, backup.Namespace),
		Owner:     engine.Owner{Host: "a restore under way"}, // for servers that wait meanwhile
	})
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	done, err := backup.Restore(ctx, store)
	if err = errors.Join(err, store.Close()); err != nil {
		if done.Begun {
			err = fmt.Errorf("%w; nobody serves the store until the backup was restored once more", err)
		}
		return err
	}
	return c.report(s, into.URL, backup.Counts, done)
}

func (c *restoreCommand) report(s streams, url string, what archive.Counts, done archive.Restored) error {
	what.Events -= done.LeftHistory
	text := fmt.Sprintf("Restored %s into %s: %s.\n", c.File, keptIn(url), told(what))
	if done.Cleared {
		text += "What a restore before this one had left there was removed.\n"
	}
	if done.LeftHistory > 0 {
		text += fmt.Sprintf("The store keeps no history: %s left out.\n", counted(done.LeftHistory, "event was", "events were"))
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// opened is a file that can be read twice.
func opened(name string) (*os.File, error) {
	if name == "-" {
		return nil, errors.New("a backup is read twice to be restored: give its file instead of -")
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

// wrongs are a line each.
func wrongs(r inspect.Report) string {
	lines := r.Wrong
	if r.More > 0 {
		lines = append(lines, fmt.Sprintf("And so on: %d more.", r.More))
	}
	return strings.Join(lines, "\n")
}
