package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mayfly/engine"
	"mayfly/engine/fleet"
)

var _ fleet.Catalogue = Catalogue{}

// A Catalogue is the namespaces beside the one in a store's file. Each has a folder
// of its own, which anybody may look into:
//
//	mayfly.db                                       the store
//	mayfly.db.namespaces/shop/store.db              what is in the namespace shop
//	mayfly.db.namespaces/shop/namespace.json        what it is
//	mayfly.db.removed/shop.1                        that folder of one that was removed
//
// The folder of one that is removed is moved, and stays until somebody deletes it.
type Catalogue struct {
	Path   string       // of the store's file
	Logger *slog.Logger // of what cannot be read; nil: nobody hears of it
}

const (
	storeFile = "store.db"
	aboutFile = "namespace.json"
)

// Store is the file of a namespace.
func (c Catalogue) Store(name string) string {
	return filepath.Join(c.folder(), name, storeFile)
}

func (c Catalogue) folder() string { return c.Path + beside }

// beside is what the folder's name ends with.
const beside = ".namespaces"

// Named is the namespace whose store a file is by where it lies; empty: that does not say.
func Named(path string) string {
	full, err := filepath.Abs(path)
	folder, file := filepath.Split(full)
	name := filepath.Base(folder)
	if err != nil || file != storeFile || !strings.HasSuffix(filepath.Dir(filepath.Clean(folder)), beside) {
		return ""
	}
	if parsed, err := fleet.ParseName(name); err != nil || parsed != name {
		return ""
	}
	return name
}

// List implements [fleet.Catalogue]. A folder that says nothing of itself is a
// namespace with the server's limits.
func (c Catalogue) List(context.Context) (all []fleet.Spec, err error) {
	found, err := os.ReadDir(c.folder())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // then the store cannot be opened either, which says why
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for namespaces: %w", err)
	}
	for _, d := range found {
		if name, err := fleet.ParseName(d.Name()); err == nil && name == d.Name() && d.IsDir() {
			all = append(all, c.about(name))
		}
	}
	return all, nil
}

// about is what a namespace says of itself.
func (c Catalogue) about(name string) (s fleet.Spec) {
	raw, err := os.ReadFile(filepath.Join(c.folder(), name, aboutFile))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		s = fleet.Spec{}
		if c.Logger != nil && !errors.Is(err, fs.ErrNotExist) {
			c.Logger.Warn("what a namespace is cannot be read; it has the server's limits", "namespace", name, "err", err)
		}
	}
	s.Name, s.Kept, s.Temporary, s.Until = name, "", false, time.Time{} // what is kept in a file is not temporary
	return s
}

// newPattern is what folders are called that are not a namespace yet.
const newPattern = ".new-*"

// Add implements [fleet.Catalogue]. The folder comes with what the namespace is, or
// not at all. One that was not finished before is cleared away.
func (c Catalogue) Add(_ context.Context, s fleet.Spec) (fleet.Spec, error) {
	at := filepath.Join(c.folder(), s.Name)
	if err := os.MkdirAll(c.folder(), 0o700); err != nil {
		return s, fmt.Errorf("make a namespace: %w", err)
	}
	if _, err := os.Lstat(at); err == nil {
		return s, &engine.Refusal{Kind: fleet.ErrTaken, Text: fmt.Sprintf("There is a namespace '%s' already: %s.", s.Name, at)}
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return s, fmt.Errorf("make a namespace: %w", err)
	}
	c.clear()
	fresh, err := os.MkdirTemp(c.folder(), newPattern)
	if err != nil {
		return s, fmt.Errorf("make a namespace: %w", err)
	}
	err = errors.Join(writeDurably(filepath.Join(fresh, aboutFile), append(raw, '\n')), syncFolder(fresh))
	if err == nil {
		err = os.Rename(fresh, at)
	}
	if err != nil {
		return s, errors.Join(fmt.Errorf("make a namespace: %w", err), os.RemoveAll(fresh))
	}
	return s, syncFolder(c.folder())
}

// clear removes what an Add has left that did not come to its end.
func (c Catalogue) clear() {
	found, err := os.ReadDir(c.folder())
	for _, d := range found {
		if unfinished, _ := filepath.Match(newPattern, d.Name()); unfinished && err == nil { //nolint:errcheck // the pattern is good
			err = os.RemoveAll(filepath.Join(c.folder(), d.Name()))
		}
	}
	if err != nil && c.Logger != nil {
		c.Logger.Warn("what a namespace was to be that was not finished is still there", "err", err)
	}
}

func writeDurably(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// syncFolder makes the names in a folder durable, where the system lets it.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() //nolint:errcheck // Windows cannot
	return d.Close()
}

// Change implements [fleet.Catalogue]. A crash leaves what it was or what it is to be.
func (c Catalogue) Change(_ context.Context, s fleet.Spec) error {
	at := filepath.Join(c.folder(), s.Name)
	if _, err := os.Stat(at); err != nil {
		return fmt.Errorf("change a namespace: %w", err)
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return fmt.Errorf("change a namespace: %w", err)
	}
	next := filepath.Join(at, aboutFile+".new")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("change a namespace: %w", err)
	}
	if err := writeDurably(next, append(raw, '\n')); err != nil {
		return fmt.Errorf("change a namespace: %w", err)
	}
	if err := os.Rename(next, filepath.Join(at, aboutFile)); err != nil {
		return fmt.Errorf("change a namespace: %w", err)
	}
	return syncFolder(at)
}

// Remove implements [fleet.Catalogue]: the folder is moved aside at one stroke.
func (c Catalogue) Remove(_ context.Context, s fleet.Spec, closed func() error) (aside string, err error) {
	at := filepath.Join(c.folder(), s.Name)
	if err := closed(); err != nil {
		return "", err
	}
	removed := c.Path + ".removed"
	if err := os.MkdirAll(removed, 0o700); err != nil {
		return "", err
	}
	for i := 1; ; i++ {
		aside = filepath.Join(removed, fmt.Sprintf("%s.%d", s.Name, i))
		if _, err := os.Lstat(aside); errors.Is(err, fs.ErrNotExist) {
			break
		} else if err != nil {
			return "", err
		}
	}
	if err := os.Rename(at, aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if full, err := filepath.Abs(aside); err == nil {
		aside = full
	}
	return aside, errors.Join(syncFolder(c.folder()), syncFolder(removed))
}
