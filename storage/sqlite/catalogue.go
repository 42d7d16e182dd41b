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
	"mayfly/engine/namespaces"
)

var _ namespaces.Catalogue = Catalogue{}

// A Catalogue keeps the namespaces beside the one in a store's file. Each has a folder of its
// own:
//
//	mayfly.db                                       the store
//	mayfly.db.namespaces/shop/store.db              the content of the namespace shop
//	mayfly.db.namespaces/shop/namespace.json        its description
//	mayfly.db.removed/shop.1                        the folder of a removed namespace
//
// The folder of a removed namespace stays there until an operator deletes it.
type Catalogue struct {
	Path   string       // of the store's file
	Logger *slog.Logger // logs what cannot be read; nil means no logging
}

const (
	storeFile = "store.db"
	aboutFile = "namespace.json"
)

// StorePath returns the file of a namespace's store.
func (c Catalogue) StorePath(name string) string {
	return filepath.Join(c.dir(), name, storeFile)
}

func (c Catalogue) dir() string { return c.Path + namespacesSuffix }

// namespacesSuffix is appended to the path of a store's file to name the folder of the other
// namespaces.
const namespacesSuffix = ".namespaces"

// NamespaceOf returns the name of the namespace whose store is in the file path, or "" if the
// file is not in a catalogue's folder.
func NamespaceOf(path string) string {
	full, err := filepath.Abs(path)
	folder, file := filepath.Split(full)
	name := filepath.Base(folder)
	if err != nil || file != storeFile || !strings.HasSuffix(filepath.Dir(filepath.Clean(folder)), namespacesSuffix) {
		return ""
	}
	if parsed, err := namespaces.ParseName(name); err != nil || parsed != name {
		return ""
	}
	return name
}

// List implements [namespaces.Catalogue]. A folder without a description is a namespace with the
// server's limits.
func (c Catalogue) List(context.Context) (all []namespaces.Spec, err error) {
	found, err := os.ReadDir(c.dir())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) { // then opening the store fails too, with the reason
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("find namespaces: %w", err)
	}
	for _, d := range found {
		if name, err := namespaces.ParseName(d.Name()); err == nil && name == d.Name() && d.IsDir() {
			all = append(all, c.readSpec(name))
		}
	}
	return all, nil
}

// readSpec reads a namespace's description.
func (c Catalogue) readSpec(name string) (s namespaces.Spec) {
	raw, err := os.ReadFile(filepath.Join(c.dir(), name, aboutFile))
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		s = namespaces.Spec{}
		if c.Logger != nil && !errors.Is(err, fs.ErrNotExist) {
			c.Logger.Warn("the properties of a namespace cannot be read; using the server's limits", "namespace", name, "err", err)
		}
	}
	s.Name, s.StoredName, s.Temporary, s.Until = name, "", false, time.Time{} // a namespace in a file is not temporary
	return s
}

// newPattern matches folders that are not a namespace yet.
const newPattern = ".new-*"

// Add implements [namespaces.Catalogue]. The folder appears with its description, or not at all.
// Unfinished folders of earlier calls are removed.
func (c Catalogue) Add(_ context.Context, s namespaces.Spec) (namespaces.Spec, error) {
	at := filepath.Join(c.dir(), s.Name)
	if err := os.MkdirAll(c.dir(), 0o700); err != nil {
		return s, fmt.Errorf("create a namespace: %w", err)
	}
	if _, err := os.Lstat(at); err == nil {
		return s, engine.Refuse(namespaces.ErrNamespaceExists, "The namespace '%s' already exists: %s.", s.Name, at)
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return s, fmt.Errorf("create a namespace: %w", err)
	}
	c.removeUnfinished()
	fresh, err := os.MkdirTemp(c.dir(), newPattern)
	if err != nil {
		return s, fmt.Errorf("create a namespace: %w", err)
	}
	err = errors.Join(writeDurably(filepath.Join(fresh, aboutFile), append(raw, '\n')), syncFolder(fresh))
	if err == nil {
		err = os.Rename(fresh, at)
	}
	if err != nil {
		return s, errors.Join(fmt.Errorf("create a namespace: %w", err), os.RemoveAll(fresh))
	}
	return s, syncFolder(c.dir())
}

// removeUnfinished removes folders that an interrupted Add left.
func (c Catalogue) removeUnfinished() {
	found, err := os.ReadDir(c.dir())
	for _, d := range found {
		if unfinished, _ := filepath.Match(newPattern, d.Name()); unfinished && err == nil { //nolint:errcheck // the pattern is valid
			err = os.RemoveAll(filepath.Join(c.dir(), d.Name()))
		}
	}
	if err != nil && c.Logger != nil {
		c.Logger.Warn("the file of an unfinished namespace was not deleted", "err", err)
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

// syncFolder makes the names in a folder durable, if the system can.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() //nolint:errcheck // Windows cannot
	return d.Close()
}

// Change implements [namespaces.Catalogue]. It is atomic.
func (c Catalogue) Change(_ context.Context, s namespaces.Spec) error {
	at := filepath.Join(c.dir(), s.Name)
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

// Remove implements [namespaces.Catalogue]. It calls closed, then moves the folder aside
// atomically and returns its new path.
func (c Catalogue) Remove(_ context.Context, s namespaces.Spec, closed func() error) (aside string, err error) {
	at := filepath.Join(c.dir(), s.Name)
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
	return aside, errors.Join(syncFolder(c.dir()), syncFolder(removed))
}
