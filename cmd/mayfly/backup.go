package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/archive"
)

// storeFlags name the store that a command works on by itself, without asking a
// server.
type storeFlags struct {
	Store     string `placeholder:"URL" env:"MAYFLY_STORE" help:"The store: sqlite:PATH or mongodb://HOST/DATABASE. Default: sqlite:${data}."`
	Namespace string `placeholder:"NAME" help:"The namespace, in a store that has several. Default: the server's own, which MAYFLY_NAMESPACE names; of a restore on MongoDB what the backup is of."`
}

// find is the store; the same as serve's unless it is said.
func (k storeFlags) find(ctx context.Context) (storage.Place, error) {
	own := Config{Store: k.Store, Namespace: os.Getenv("MAYFLY_NAMESPACE")}
	if err := own.complete(); err != nil {
		return storage.Place{}, err
	}
	said := Config{Store: own.Store, Namespace: k.Namespace}
	if err := said.complete(); err != nil {
		return storage.Place{}, err
	}
	return storage.Find(ctx, own.Store, own.Namespace, said.Namespace, storage.Options{}) //nolint:wrapcheck // a sentence
}

func describeBackup() description {
	return description{
		name: "backup", summary: "Copy a store to a file, also beside its server.", command: &backupCommand{},
		detail: "The backup is of one moment, also while a server goes on working. It can be restored into a store of another kind. To check one: mayfly verify FILE.",
		examples: []example{
			{"mayfly backup monday.backup", "Copies the store in the data folder."},
			{"mayfly backup - --store mongodb://db.example/mayfly | gzip > monday.backup.gz", "Copies a namespace on MongoDB, compressed once more."},
		},
	}
}

// backupCommand writes a backup.
type backupCommand struct {
	File string `arg:"" help:"Where to write the backup; - is standard output."`
	storeFlags
	NoHistory bool `help:"Leave the history out."`
	Force     bool `short:"f" help:"Take the place of a file that is there."`
}

// Run writes the file beside its place, and puts it there when it is whole and
// durable.
func (c *backupCommand) Run(ctx context.Context, s streams) (err error) {
	place, err := c.place()
	if err != nil {
		return err
	}
	from, err := c.find(ctx)
	if err != nil {
		return err
	}
	l, err := storage.Look(ctx, from.URL, storage.Options{Namespace: from.Namespace})
	if err != nil {
		return err //nolint:wrapcheck // a sentence
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	write := func(w io.Writer) (archive.Summary, error) {
		return archive.Write(ctx, w, l, archive.Header{
			Namespace: cmp.Or(from.Name, "default"), Source: storage.Kind(from.URL), Made: engine.At(time.Now()), History: !c.NoHistory,
		})
	}
	if c.File == "-" {
		sum, err := write(s.out)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.err, "Wrote %s: %s.\n", size(sum.Bytes), told(sum.Counts))
		return err
	}
	var sum archive.Summary
	if err := putInPlace(place, func(w io.Writer) (err error) {
		if sum, err = write(w); err != nil {
			return err
		}
		_, err = c.place() // nobody has come before us
		return err
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.out, "Wrote %s to %s: %s.\n", size(sum.Bytes), c.File, told(sum.Counts))
	return err
}

// place is where the file goes, links resolved.
func (c *backupCommand) place() (string, error) {
	if c.File == "-" {
		return "", nil
	}
	full, err := filepath.EvalSymlinks(c.File)
	if errors.Is(err, fs.ErrNotExist) {
		return c.File, nil
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(full)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("the backup cannot be written: %w", err)
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is no file", c.File)
	case !c.Force:
		return "", fmt.Errorf("%s is there already; --force takes its place", c.File)
	default:
		return full, nil
	}
}

// putInPlace has a file written under another name, for its owner alone, and
// renames it when it is durable: what is called path is always whole.
func putInPlace(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if err != nil {
		return fmt.Errorf("the backup cannot be written: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := write(f); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("the backup cannot be written: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("the backup cannot be put in its place: %w", err)
	}
	syncFolder(filepath.Dir(path))
	return nil
}

// syncFolder makes the name of a file durable, where the system lets it.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()  //nolint:errcheck // the file is whole under either name
		_ = d.Close() //nolint:errcheck // nothing was written
	}
}

// told is what there is, for people.
func told(c archive.Counts) string {
	var parts []string
	for _, p := range []struct {
		n         int64
		one, many string
	}{{c.Queues, "queue", "queues"}, {c.Topics, "topic", "topics"}, {c.Subscriptions, "subscription", "subscriptions"}} {
		if p.n > 0 {
			parts = append(parts, counted(p.n, p.one, p.many))
		}
	}
	text := messages(c.Messages)
	if c.BodyBytes > 0 {
		text += " with " + size(c.BodyBytes) + " of bodies"
	}
	parts = append(parts, text)
	if c.Events > 0 {
		parts = append(parts, counted(c.Events, "event", "events"))
	}
	return strings.Join(parts, ", ")
}

func counted(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// size is a number of bytes for people; units are powers of 1024.
func size(n int64) string {
	if n < 1<<10 {
		return counted(n, "byte", "bytes")
	}
	v, unit := float64(n)/(1<<10), 0
	for v >= 1000 && unit < 3 {
		v, unit = v/(1<<10), unit+1
	}
	return fmt.Sprintf("%.3g %s", v, []string{"KiB", "MiB", "GiB", "TiB"}[unit])
}
