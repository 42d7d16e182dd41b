package demo

import (
	"context"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// settingPrefix begins the keys of settings with scenes; the scene's id follows.
const settingPrefix = "scene/"

// An InvalidScene is a stored scene that cannot be played, because this version no longer accepts
// it, or because a built-in scene or one of the folder now has its id.
type InvalidScene struct {
	ID, Text string
	Err      error // the reason: a SceneError, or a refusal
}

// InvalidScenes returns all invalid scenes, by their ids. They remain until they are replaced or
// deleted.
func (s *Player) InvalidScenes() []InvalidScene {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.invalid)
}

// FindInvalidScene returns the invalid scene with this id; ok is false if there is none.
func (s *Player) FindInvalidScene(id string) (u InvalidScene, ok bool) {
	all := s.InvalidScenes()
	if i := slices.IndexFunc(all, func(u InvalidScene) bool { return u.ID == id }); i >= 0 {
		return all[i], true
	}
	return InvalidScene{}, false
}

// dropInvalid removes a scene from the list of invalid scenes.
func (s *Player) dropInvalid(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.invalid = slices.DeleteFunc(s.invalid, func(u InvalidScene) bool { return u.ID == id })
}

// LoadSaved replaces the added scenes by those stored in a broker's namespace, the server's own.
// Scenes that are added from now on are stored there too. Stored scenes that can no longer be played
// are logged and remain stored: see InvalidScene.
func (s *Player) LoadSaved(ctx context.Context, b *broker.Broker) error {
	leave, err := s.lockSaved(ctx)
	if err != nil {
		return err
	}
	defer leave()
	kept, err := b.Settings(ctx, settingPrefix)
	if err != nil {
		return err
	}
	var all []*Scene
	var unfit []InvalidScene
	for _, one := range kept {
		id := strings.TrimPrefix(one.Key, settingPrefix)
		next, err := parseAdded(id, []byte(one.Value), true)
		if err != nil {
			s.log.Warn("a saved scene cannot be played", "scene", id, "err", err)
			unfit = append(unfit, InvalidScene{ID: id, Text: one.Value, Err: err})
			continue
		}
		all = append(all, next)
	}
	for _, left := range s.Library().replaceAdded(all) {
		err := s.Library().checkRoom(left)
		s.log.Warn("a saved scene no longer exists", "scene", left.ID, "err", err)
		unfit = append(unfit, InvalidScene{ID: left.ID, Text: left.Text, Err: err})
	}
	slices.SortFunc(unfit, func(a, b InvalidScene) int { return strings.Compare(a.ID, b.ID) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store, s.invalid = b, unfit
	return nil
}

// lockSaved locks the stored scenes against other changes until leave is called.
func (s *Player) lockSaved(ctx context.Context) (leave func(), err error) {
	select {
	case s.saving <- struct{}{}:
		return func() { <-s.saving }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// updateSaved changes the stored scenes, if there is a broker for them.
func (s *Player) updateSaved(ctx context.Context, actor string, c broker.SettingsUpdate) error {
	s.mu.Lock()
	home := s.store
	s.mu.Unlock()
	if home == nil {
		return engine.Refuse(engine.ErrBusy, "Scenes cannot be saved because the server's own namespace is not open.")
	}
	_, err := home.UpdateSettings(ctx, settingPrefix, actor, func([]engine.Setting) (broker.SettingsUpdate, error) { return c, nil })
	return err
}

// SaveScene parses a scene, stores it and adds it to the library, on behalf of actor. The errors
// are those of Library.Add, and of changing settings.
func (s *Player) SaveScene(ctx context.Context, id string, text []byte, actor string) (*Scene, error) {
	next, err := parseAdded(id, text, false)
	if err != nil {
		return nil, err
	}
	leave, err := s.lockSaved(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.Library().checkRoom(next); err != nil {
		return nil, err
	}
	change := broker.SettingsUpdate{Set: []engine.Setting{{Key: settingPrefix + id, Value: next.Text}}, Entries: []broker.AuditEntry{{Kind: engine.EventSceneAdded, About: id + ", " + next.Title}}}
	if err := s.updateSaved(ctx, actor, change); err != nil {
		return nil, err
	}
	s.dropInvalid(id)
	return next, s.Library().add(next)
}

// DeleteScene removes an added scene, or the InvalidScene with that id, on behalf of actor. The
// errors are those of Library.Remove, and of changing settings.
func (s *Player) DeleteScene(ctx context.Context, id, actor string) error {
	leave, err := s.lockSaved(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, unfit := s.FindInvalidScene(id)
	if !unfit {
		if err := s.Library().lockedCheckRemovable(id); err != nil {
			return err
		}
	}
	if err := s.updateSaved(ctx, actor, broker.SettingsUpdate{Drop: []string{settingPrefix + id}, Entries: []broker.AuditEntry{{Kind: engine.EventSceneRemoved, About: id}}}); err != nil {
		return err
	}
	if unfit {
		s.dropInvalid(id)
		return nil
	}
	return s.Library().Remove(id)
}
