package scene

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"mayfly/engine"
)

//go:embed scenes/*.yaml
var own embed.FS

const (
	mostScenes = 200 // in a library
	longestID  = 40
)

// ErrNone is the error for a scene that is not there, ErrNoPlay for a play, and
// ErrTaken for an id that is not to be had.
var (
	ErrNone   = fmt.Errorf("%w: there is no such scene", engine.ErrNotFound)
	ErrNoPlay = fmt.Errorf("%w: no such scene is played", engine.ErrNotFound)
	ErrTaken  = fmt.Errorf("%w: there is such a scene", engine.ErrExists)
)

// A Library is the scenes there are. It is safe for concurrent use.
type Library struct {
	mu   sync.Mutex
	byID map[string]*Scene // guarded by mu
	list []*Scene          // likewise
}

// Open is a library of the program's own scenes.
func Open() (*Library, error) {
	l := &Library{byID: map[string]*Scene{}}
	if err := l.load(own, "scenes"); err != nil {
		return nil, err
	}
	for _, s := range l.list {
		s.Own = true
	}
	return l, nil
}

// Load adds every *.yaml of a folder, in the order of their names: all of them, or
// none.
func (l *Library) Load(folder fs.FS) error { return l.load(folder, ".") }

func (l *Library) load(folder fs.FS, at string) error {
	files, err := fs.Glob(folder, path.Join(at, "*.yaml"))
	if err != nil {
		return fmt.Errorf("find scenes: %w", err)
	}
	if at == "." && len(files) == 0 {
		return refuse("There is no file *.yaml in it.")
	}
	var all []*Scene
	var wrong []error
	for _, name := range files {
		text, err := readFile(folder, name)
		if err == nil {
			var s *Scene
			s, err = Parse(IDOf(name), text)
			all = append(all, s)
		}
		for _, err := range eachOf(err) {
			wrong = append(wrong, fmt.Errorf("%s: %w", path.Base(name), err))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for i, s := range all {
		err := l.room(s)
		if slices.ContainsFunc(all[:i], func(o *Scene) bool { return o.ID == s.ID }) {
			err = &engine.Refusal{Kind: ErrTaken, Text: fmt.Sprintf("Two files have a scene '%s'.", s.ID)}
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", path.Base(files[i]), err))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for _, s := range all {
		if err := l.add(s); err != nil {
			return err
		}
	}
	return nil
}

// readFile reads a scene, and no more than one has.
func readFile(folder fs.FS, name string) ([]byte, error) {
	if info, err := fs.Stat(folder, name); err == nil && info.Size() > MostBytes {
		return nil, refuse("A scene has at most %d bytes, not %d.", MostBytes, info.Size())
	}
	return fs.ReadFile(folder, name) //nolint:wrapcheck // it says the file
}

// IDOf is what a file's scene is called: its name, without a number before it.
func IDOf(file string) string {
	id := strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".yaml"), ".yml")
	if n, rest, ok := strings.Cut(id, "-"); ok && strings.Trim(n, "0123456789") == "" {
		return rest
	}
	return id
}

// CheckID refuses what cannot be a scene's id: engine.ErrArgument.
func CheckID(id string) error {
	if id == "" || len(id) > longestID || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || id[0] == '-' {
		return refuse("A scene is called by up to %d small letters, digits and hyphens, not '%.64s'.", longestID, id)
	}
	return nil
}

// Add understands a scene and keeps it, for as long as the library lasts. One of
// the same id that was added before makes way; one of the program's own, or of a
// folder, does not: ErrTaken.
func (l *Library) Add(id string, text []byte) (*Scene, error) {
	s, err := added(id, text)
	if err != nil {
		return nil, err
	}
	return s, l.add(s)
}

// Check is Add of which nothing stays.
func (l *Library) Check(id string, text []byte) (*Scene, error) {
	s, err := added(id, text)
	if err != nil {
		return nil, err
	}
	return s, l.room(s)
}

// added is a scene as somebody adds it.
func added(id string, text []byte) (*Scene, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	s, err := Parse(id, text)
	if err != nil {
		return nil, err
	}
	s.Added = true
	return s, nil
}

// room tells whether a scene may be added.
func (l *Library) room(s *Scene) error {
	if err := CheckID(s.ID); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fits(s)
}

// fits is room; the caller holds mu.
func (l *Library) fits(s *Scene) error {
	was := l.byID[s.ID]
	switch {
	case was != nil && was.Own:
		return &engine.Refusal{Kind: ErrTaken, Text: fmt.Sprintf("There is a scene '%s' that came with the program.", s.ID)}
	case was != nil && !was.Added:
		return &engine.Refusal{Kind: ErrTaken, Text: fmt.Sprintf("There is a scene '%s' in the folder that the server was started with.", s.ID)}
	case was == nil && len(l.list) >= mostScenes:
		return &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("There are %d scenes, which is the most there may be.", len(l.list))}
	}
	return nil
}

func (l *Library) add(s *Scene) error {
	if err := CheckID(s.ID); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fits(s); err != nil {
		return err
	}
	if was := l.byID[s.ID]; was != nil {
		l.list[slices.Index(l.list, was)] = s
	} else {
		l.list = append(l.list, s)
	}
	l.byID[s.ID] = s
	return nil
}

// Remove takes out a scene that was added; plays of it go on. The program's own
// and those of a folder stay: engine.ErrNotAllowed.
func (l *Library) Remove(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.goes(id); err != nil {
		return err
	}
	l.drop(l.byID[id])
	return nil
}

// goes tells whether a scene may be taken out; the caller holds mu.
func (l *Library) goes(id string) error {
	s := l.byID[id]
	switch {
	case s == nil:
		return none(id)
	case s.Own:
		return &engine.Refusal{Kind: engine.ErrNotAllowed, Text: fmt.Sprintf("The scene '%s' came with the program, and stays.", id)}
	case !s.Added:
		return &engine.Refusal{Kind: engine.ErrNotAllowed, Text: fmt.Sprintf("The scene '%s' is in the folder that the server was started with, and stays.", id)}
	}
	return nil
}

// drop takes out a scene; the caller holds mu.
func (l *Library) drop(s *Scene) {
	delete(l.byID, s.ID)
	l.list = slices.DeleteFunc(l.list, func(o *Scene) bool { return o == s })
}

// removable is goes.
func (l *Library) removable(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.goes(id)
}

// renew has the scenes that were added be others. It returns those that do not fit.
func (l *Library) renew(all []*Scene) (left []*Scene) {
	l.mu.Lock()
	for _, s := range slices.Clone(l.list) {
		if s.Added {
			l.drop(s)
		}
	}
	l.mu.Unlock()
	for _, s := range all {
		if l.add(s) != nil {
			left = append(left, s)
		}
	}
	return left
}

// Find is a scene by its id; ErrNone.
func (l *Library) Find(id string) (*Scene, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byID[id]; s != nil {
		return s, nil
	}
	return nil, none(id)
}

// List are all scenes, the program's own first.
func (l *Library) List() []*Scene {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func none(id string) error {
	return &engine.Refusal{Kind: ErrNone, Text: fmt.Sprintf("There is no scene '%.64s'.", cmp.Or(id, "?"))}
}
