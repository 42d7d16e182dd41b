package demo

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
var builtinFiles embed.FS

const (
	maxScenes   = 200 // scenes in a library
	maxIDLength = 40
)

// ErrNoScene means that a scene does not exist, ErrNotPlaying that no scene is playing in a
// namespace, and ErrSceneExists that another scene has the id.
var (
	ErrNoScene     = fmt.Errorf("%w: the scene does not exist", engine.ErrNotFound)
	ErrNotPlaying  = fmt.Errorf("%w: the scene is not playing", engine.ErrNotFound)
	ErrSceneExists = fmt.Errorf("%w: the scene already exists", engine.ErrExists)
)

// A Library holds all scenes. It is safe for concurrent use.
type Library struct {
	mu   sync.Mutex
	byID map[string]*Scene // guarded by mu
	list []*Scene          // guarded by mu
}

// Open returns a library of the built-in scenes.
func Open() (*Library, error) {
	l := &Library{byID: map[string]*Scene{}}
	all, err := builtinScenes()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if err := l.add(s); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// builtinScenes parses the built-in scenes once, since that takes some 40 ms. Libraries can share
// them, since a scene does not change after it is parsed.
var builtinScenes = sync.OnceValues(func() ([]*Scene, error) { //nolint:gochecknoglobals // parsed once, then not changed
	l := &Library{byID: map[string]*Scene{}}
	if err := l.load(builtinFiles, "scenes"); err != nil {
		return nil, err
	}
	for _, s := range l.list {
		s.Builtin = true
	}
	return l.list, nil
})

// Load adds the scenes in all files *.yaml of a folder, in the order of their names, all or none.
func (l *Library) Load(folder fs.FS) error { return l.load(folder, ".") }

func (l *Library) load(folder fs.FS, at string) error {
	files, err := fs.Glob(folder, path.Join(at, "*.yaml"))
	if err != nil {
		return fmt.Errorf("find scenes: %w", err)
	}
	if at == "." && len(files) == 0 {
		return engine.Refuse(engine.ErrArgument, "The folder has no file *.yaml.")
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
		for _, err := range splitProblems(err) {
			wrong = append(wrong, fmt.Errorf("%s: %w", path.Base(name), err))
		}
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	for i, s := range all {
		err := l.checkRoom(s)
		if slices.ContainsFunc(all[:i], func(o *Scene) bool { return o.ID == s.ID }) {
			err = engine.Refuse(ErrSceneExists, "Two files contain the scene '%s'.", s.ID)
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

// readFile reads a scene, and refuses a file of more than MaxBytes.
func readFile(folder fs.FS, name string) ([]byte, error) {
	if info, err := fs.Stat(folder, name); err == nil && info.Size() > MaxBytes {
		return nil, engine.Refuse(engine.ErrArgument, "A scene must have at most %d bytes, not %d.", MaxBytes, info.Size())
	}
	return fs.ReadFile(folder, name)
}

// IDOf returns the id of the scene in a file: the file's name, without extension and leading number.
func IDOf(file string) string {
	id := strings.TrimSuffix(strings.TrimSuffix(path.Base(file), ".yaml"), ".yml")
	if n, rest, ok := strings.Cut(id, "-"); ok && strings.Trim(n, "0123456789") == "" {
		return rest
	}
	return id
}

// CheckID returns engine.ErrArgument for an invalid id.
func CheckID(id string) error {
	if id == "" || len(id) > maxIDLength || strings.Trim(id, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || id[0] == '-' {
		return engine.Refuse(engine.ErrArgument, "The ID of a scene must have at most %d lower-case letters, digits and hyphens, not '%.64s'.", maxIDLength, id)
	}
	return nil
}

// Add parses a scene and adds it to the library, in memory only. It replaces an added scene with
// the same id; if a built-in scene or one of a folder has the id, it returns ErrSceneExists.
func (l *Library) Add(id string, text []byte) (*Scene, error) {
	s, err := parseAdded(id, text, false)
	if err != nil {
		return nil, err
	}
	return s, l.add(s)
}

// Check parses a scene and returns the error that Add would return, but does not add the scene.
func (l *Library) Check(id string, text []byte) (*Scene, error) {
	s, err := parseAdded(id, text, false)
	if err != nil {
		return nil, err
	}
	return s, l.checkRoom(s)
}

// parseAdded parses a scene that a user adds. If stored is set, the scene was added earlier and may
// have the keys of earlier versions.
func parseAdded(id string, text []byte, stored bool) (*Scene, error) {
	if err := CheckID(id); err != nil {
		return nil, err
	}
	s, err := parse(id, text, stored)
	if err != nil {
		return nil, err
	}
	s.Added = true
	return s, nil
}

// checkRoom returns an error unless a scene may be added.
func (l *Library) checkRoom(s *Scene) error {
	if err := CheckID(s.ID); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkFits(s)
}

// checkFits is checkRoom without the check of the id; the caller holds mu.
func (l *Library) checkFits(s *Scene) error {
	was := l.byID[s.ID]
	switch {
	case was != nil && was.Builtin:
		return engine.Refuse(ErrSceneExists, "The scene '%s' is built in. Choose another ID.", s.ID)
	case was != nil && !was.Added:
		return engine.Refuse(ErrSceneExists, "The scene '%s' is in the server's folder of scenes. Choose another ID.", s.ID)
	case was == nil && len(l.list) >= maxScenes:
		return engine.Refuse(engine.ErrQuota, "There are already %d scenes, the maximum. Delete one first.", len(l.list))
	}
	return nil
}

func (l *Library) add(s *Scene) error {
	if err := CheckID(s.ID); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkFits(s); err != nil {
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

// Remove removes an added scene; its playbacks continue. For built-in scenes and those of a folder
// it returns engine.ErrNotAllowed.
func (l *Library) Remove(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkRemovable(id); err != nil {
		return err
	}
	l.drop(l.byID[id])
	return nil
}

// checkRemovable returns an error unless a scene may be removed; the caller holds mu.
func (l *Library) checkRemovable(id string) error {
	s := l.byID[id]
	switch {
	case s == nil:
		return noScene(id)
	case s.Builtin:
		return engine.Refuse(engine.ErrNotAllowed, "The scene '%s' is built in and cannot be deleted.", id)
	case !s.Added:
		return engine.Refuse(engine.ErrNotAllowed, "The scene '%s' is in the server's folder of scenes. Delete its file there.", id)
	}
	return nil
}

// drop removes a scene; the caller holds mu.
func (l *Library) drop(s *Scene) {
	delete(l.byID, s.ID)
	l.list = slices.DeleteFunc(l.list, func(o *Scene) bool { return o == s })
}

// lockedCheckRemovable is checkRemovable for callers that do not hold mu.
func (l *Library) lockedCheckRemovable(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.checkRemovable(id)
}

// replaceAdded replaces the added scenes by others. It returns the scenes that could not be added.
func (l *Library) replaceAdded(all []*Scene) (left []*Scene) {
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

// Find returns a scene by its id, or ErrNoScene.
func (l *Library) Find(id string) (*Scene, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.byID[id]; s != nil {
		return s, nil
	}
	return nil, noScene(id)
}

// List returns all scenes, the built-in ones first.
func (l *Library) List() []*Scene {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.list)
}

func noScene(id string) error {
	return engine.Refuse(ErrNoScene, "The scene '%.64s' does not exist.", cmp.Or(id, "?"))
}
