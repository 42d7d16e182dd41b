package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/archive"
	"mayfly/storage/inspect"
)

func describeVerify() cli.Command {
	return cli.Command{
		Name: "verify", Summary: "Check a store or a backup by reading all of it.", Flags: &verifyCommand{},
		Detail: "The check reads everything, including message bodies, as of one moment, and changes nothing. A server may be running. Each problem is printed on one line, and the exit code is 1. Every row of a store and every frame of a backup has a checksum, so any changed bit is detected. The exception is the write-ahead log (the file ending in -wal) of a server that was killed: SQLite treats the first invalid frame as the end of the log, and later changes are silently lost.",
		Examples: []cli.Example{
			{Line: "mayfly verify", Text: "Check the store in the data folder."},
			{Line: "mayfly verify sqlite:orders.db", Text: "Check a store by its URL, as in serve --store."},
			{Line: "mayfly verify monday.backup", Text: "Check a backup."},
		},
	}
}

// verifyCommand checks a store or a backup.
type verifyCommand struct {
	File string `arg:"" optional:"" help:"Backup file, or URL of a store such as sqlite:orders.db. - reads a backup from standard input. Default: the store of --store."`
	storeFlags
}

// Run checks the store or the backup.
func (c *verifyCommand) Run(ctx context.Context, s cli.Streams) error {
	switch {
	case c.File != "" && !isStore(c.File):
		return c.verifyBackup(ctx, s)
	case c.File != "" && c.Store != "" && c.Store != c.File:
		return cli.UsageErrorf("give the store as %s or with --store, not both", cli.StoreLocation(c.File))
	case c.File != "":
		c.Store = c.File
	}
	at, err := c.findStore(ctx)
	if err != nil {
		return err
	}
	r, aside, epoch, err := c.verifyStore(ctx, at)
	if err != nil && r.Sound() {
		return err
	}
	if !r.Sound() {
		err = errors.Join(reportFaults(s, cli.StoreLocation(at.URL), r), err)
	} else {
		_, err = fmt.Fprintf(s.Out, "%s is sound: %s; epoch %d.\n", cli.StoreLocation(at.URL), describeBackupCounts(r.Counts), epoch)
	}
	return errors.Join(err, printSetAside(s.Out, aside))
}

// isStore reports whether a word is the URL of a store rather than a file.
func isStore(word string) bool {
	scheme, _, ok := strings.Cut(word, ":")
	return ok && slices.Contains([]string{"sqlite", "mongodb", "mongodb+srv", "memory"}, strings.ToLower(scheme))
}

// printSetAside prints the data that was set aside.
func printSetAside(out io.Writer, aside []string) error {
	if len(aside) == 0 {
		return nil
	}
	_, err := fmt.Fprintln(out, "Damaged data that was set aside, in the table aside of the file:")
	for _, line := range aside {
		if err == nil {
			_, err = fmt.Fprintln(out, "  "+cli.Printable(line, maxSetAsideBytes))
		}
	}
	return err
}

// maxSetAsideBytes limits the bytes that are printed of a row that was set aside.
const maxSetAsideBytes = 300

func (c *verifyCommand) verifyStore(ctx context.Context, at storage.Location) (r inspect.Report, aside []string, epoch uint64, err error) {
	l, err := storage.OpenSnapshot(ctx, at.URL, storage.Options{Namespace: at.Namespace})
	if err != nil {
		return r, nil, 0, err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	var wrong []string
	if file, ok := l.(interface {
		Integrity(ctx context.Context) ([]string, error)
		Aside(ctx context.Context) ([]string, error)
	}); ok {
		if wrong, err = file.Integrity(ctx); err != nil {
			return r, nil, 0, err
		}
		if aside, err = file.Aside(ctx); err != nil {
			return r, nil, 0, err
		}
	}
	r, err = inspect.Store(ctx, l)
	for i, said := range wrong {
		wrong[i] = said + "."
	}
	r.Findings = append(wrong, r.Findings...)
	return r, aside, l.Epoch(), err
}

func (c *verifyCommand) verifyBackup(ctx context.Context, s cli.Streams) error {
	in, name := s.In, "standard input"
	if c.File != "-" {
		name = c.File
		f, err := os.Open(c.File)
		if err != nil {
			return fmt.Errorf("the backup cannot be read: %w", err)
		}
		defer f.Close() //nolint:errcheck // opened for reading only
		in = f
	}
	i := inspect.New()
	sum, err := archive.Read(ctx, bufio.NewReaderSize(in, 1<<20), archive.Visitor{
		Record: func(r engine.Record) error {
			i.AddRecord(r)
			return nil
		},
		Event: func(e engine.HistoryEvent) error {
			i.AddEvent(e)
			return nil
		},
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r := i.Finish()
	if !r.Sound() {
		return reportFaults(s, name, r)
	}
	_, err = fmt.Fprintf(s.Out, "%s is whole and sound: %s; of namespace %s, kept in %s, %s.\n",
		name, describeBackupCounts(r.Counts), cli.Printable(sum.Namespace, 60), cli.Printable(sum.Source, 20), sum.Made.Time().Local().Format(time.DateTime))
	return err
}

// reportFaults prints the faults in r, the report about `what`, and returns an error with their
// number.
func reportFaults(s cli.Streams, what string, r inspect.Report) error {
	if _, err := io.WriteString(s.Out, formatFaults(r)+"\n"); err != nil {
		return err
	}
	return fmt.Errorf("%s is not sound: %s wrong", what, cli.Pluralize(int64(len(r.Findings)+r.Omitted), "thing is", "things are"))
}
