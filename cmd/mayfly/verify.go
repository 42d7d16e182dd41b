package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/archive"
	"mayfly/storage/inspect"
)

func describeVerify() description {
	return description{
		name: "verify", summary: "Check a store or a backup, by reading all of it.", command: &verifyCommand{},
		detail: "It reads everything there is, bodies too, as it was at one moment, and changes nothing. A server can go on working meanwhile. What is wrong is said in a line each, and the exit code is 1.",
		examples: []example{
			{"mayfly verify", "Checks the store in the data folder."},
			{"mayfly verify monday.backup", "Checks a backup."},
		},
	}
}

// verifyCommand checks a store or a backup.
type verifyCommand struct {
	File string `arg:"" optional:"" help:"A backup to check instead of the store; - is standard input."`
	storeFlags
}

// Run checks.
func (c *verifyCommand) Run(ctx context.Context, s streams) error {
	if c.File != "" {
		return c.backup(ctx, s)
	}
	at, err := c.find(ctx)
	if err != nil {
		return err
	}
	r, epoch, err := c.store(ctx, at)
	if err != nil && r.Sound() {
		return err
	}
	if !r.Sound() {
		return errors.Join(unsound(s, keptIn(at.URL), r), err)
	}
	_, err = fmt.Fprintf(s.out, "%s is sound: %s; epoch %d.\n", keptIn(at.URL), told(r.Counts), epoch)
	return err
}

func (c *verifyCommand) store(ctx context.Context, at storage.Place) (r inspect.Report, epoch uint64, err error) {
	l, err := storage.Look(ctx, at.URL, storage.Options{Namespace: at.Namespace})
	if err != nil {
		return r, 0, err //nolint:wrapcheck // a sentence
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var wrong []string
	if file, ok := l.(interface {
		Integrity(ctx context.Context) ([]string, error)
	}); ok {
		if wrong, err = file.Integrity(ctx); err != nil {
			return r, 0, err //nolint:wrapcheck // a sentence
		}
	}
	r, err = inspect.Store(ctx, l)
	for i, said := range wrong {
		wrong[i] = "SQLite says: " + said + "."
	}
	r.Wrong = append(wrong, r.Wrong...)
	return r, l.Epoch(), err
}

func (c *verifyCommand) backup(ctx context.Context, s streams) error {
	in, name := s.in, "standard input"
	if c.File != "-" {
		name = c.File
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("the backup cannot be read: %w", err)
		}
		defer f.Close() //nolint:errcheck // what was read was read
		in = f
	}
	i := inspect.New()
	sum, err := archive.Read(ctx, bufio.NewReaderSize(in, 1<<20), archive.Visitor{
		Record: func(r engine.Record) error {
			i.Record(r)
			return nil
		},
		Event: func(e engine.PastEvent) error {
			i.Event(e)
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := i.End()
	if !r.Sound() {
		return unsound(s, name, r)
	}
	_, err = fmt.Fprintf(s.out, "%s is whole and sound: %s; of namespace %s, kept in %s, %s.\n",
		name, told(r.Counts), printable(sum.Namespace, 60), printable(sum.Source, 20), sum.Made.Time().Local().Format(time.DateTime))
	return err
}

// unsound prints what is wrong and is the error to return.
func unsound(s streams, what string, r inspect.Report) error {
	if _, err := io.WriteString(s.out, wrongs(r)+"\n"); err != nil {
		return err
	}
	return fmt.Errorf("%s is not sound: %s wrong", what, counted(int64(len(r.Wrong)+r.More), "thing is", "things are"))
}
