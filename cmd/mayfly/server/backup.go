package server

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

	"mayfly/cmd/mayfly/cli"
	"mayfly/engine"
	"mayfly/storage"
	"mayfly/storage/archive"
)

// storeFlags name the store for commands that open it directly, without a server.
type storeFlags struct {
	Store     string `placeholder:"URL" env:"MAYFLY_STORE" help:"The store: sqlite:PATH or mongodb://HOST/DATABASE. Default: sqlite:${data}."`
	Namespace string `placeholder:"NAME" help:"Namespace, in a store with several. Default: the server's own, from MAYFLY_NAMESPACE; for a restore on MongoDB, the namespace of the backup."`
}

// findStore returns the location of the store, by default of the one that serve uses.
func (k storeFlags) findStore(ctx context.Context) (storage.Location, error) {
	own := os.Getenv("MAYFLY_NAMESPACE")
	store, err := completeStore(k.Store, own)
	if err != nil {
		return storage.Location{}, err
	}
	if _, err := completeStore(store, k.Namespace); err != nil {
		return storage.Location{}, err
	}
	return storage.Locate(ctx, store, own, k.Namespace, storage.Options{})
}

func describeBackup() cli.Command {
	return cli.Command{
		Name: "backup", Summary: "Back up a store to a file, even while its server is running.", Flags: &backupCommand{},
		Detail: "A backup is consistent: it captures one moment, even while a server is running. You can restore it into another kind of store. Check it with mayfly verify FILE.",
		Examples: []cli.Example{
			{Line: "mayfly backup monday.backup", Text: "Back up the store in the data folder."},
			{Line: "mayfly backup - --store mongodb://db.example/mayfly | gzip > monday.backup.gz", Text: "Write a backup of a namespace on MongoDB to a pipe."},
		},
	}
}

// backupCommand writes a backup of a store.
type backupCommand struct {
	File string `arg:"" help:"File to write the backup to; - is standard output."`
	storeFlags
	NoHistory bool `help:"Leave the history out."`
	Force     bool `short:"f" help:"Overwrite an existing file."`
}

// Run writes a temporary file next to the target and renames it once it is complete and
// durable.
func (c *backupCommand) Run(ctx context.Context, s cli.Streams) (err error) {
	place, err := c.targetPath()
	if err != nil {
		return err
	}
	from, err := c.findStore(ctx)
	if err != nil {
		return err
	}
	l, err := storage.OpenSnapshot(ctx, from.URL, storage.Options{Namespace: from.Namespace})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	write := func(w io.Writer) (archive.Summary, error) {
		return archive.Write(ctx, w, l, archive.Header{
			Namespace: cmp.Or(from.Name, "default"), Source: storage.Kind(from.URL), Made: engine.At(time.Now()), History: !c.NoHistory,
		})
	}
	if c.File == "-" {
		sum, err := write(s.Out)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.Err, "Wrote %s: %s.\n", cli.FormatSize(sum.Bytes), describeBackupCounts(sum.Counts))
		return err
	}
	var sum archive.Summary
	if err := writeFileAtomically(place, func(w io.Writer) (err error) {
		if sum, err = write(w); err != nil {
			return err
		}
		_, err = c.targetPath() // the file may have been created meanwhile
		return err
	}); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "Wrote %s to %s: %s.\n", cli.FormatSize(sum.Bytes), c.File, describeBackupCounts(sum.Counts))
	return err
}

// targetPath returns the path of the backup with symbolic links resolved, or "" for standard output.
// It returns an error if the file exists and --force is not set.
func (c *backupCommand) targetPath() (string, error) {
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
		return "", fmt.Errorf("%s already exists; overwrite it with --force", c.File)
	default:
		return full, nil
	}
}

// writeFileAtomically writes a temporary file that only its owner may read, syncs it, and renames it
// to path. A file at path is therefore always complete.
func writeFileAtomically(path string, write func(io.Writer) error) (err error) {
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
		return fmt.Errorf("the backup cannot be renamed: %w", err)
	}
	syncDir(filepath.Dir(path))
	return nil
}

// syncDir makes the file names in a folder durable, where the system supports it.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()  //nolint:errcheck // the file is complete under either name
		_ = d.Close() //nolint:errcheck // nothing was written
	}
}

// describeBackupCounts describes the contents of a backup in words.
func describeBackupCounts(c archive.Counts) string {
	var parts []string
	for _, p := range []struct {
		n         int64
		one, many string
	}{{c.Queues, "queue", "queues"}, {c.Topics, "topic", "topics"}, {c.Subscriptions, "subscription", "subscriptions"}} {
		if p.n > 0 {
			parts = append(parts, cli.Pluralize(p.n, p.one, p.many))
		}
	}
	text := cli.MessageCount(c.Messages)
	if c.BodyBytes > 0 {
		text += " with " + cli.FormatSize(c.BodyBytes) + " of bodies"
	}
	parts = append(parts, text)
	if c.Events > 0 {
		parts = append(parts, cli.Pluralize(c.Events, "event", "events"))
	}
	return strings.Join(parts, ", ")
}
