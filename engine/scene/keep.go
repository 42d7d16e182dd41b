package scene

import (
	"context"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// prefix is before the ids of scenes in the keys of settings.
const prefix = "scene/"

// Recall has the scenes that were added be those that are kept in a broker's
// namespace, the server's own, which keeps those that are added from now on. What is
// kept and cannot be played any more is told to the log, and stays.
func (s *Stages) Recall(ctx context.Context, b *broker.Broker) error {
	leave, err := s.keep(ctx)
	if err != nil {
		return err
	}
	defer leave()
	kept, err := b.Settings(ctx, prefix)
	if err != nil {
		return err //nolint:wrapcheck // it says what it is about
	}
	var all []*Scene
	for _, one := range kept {
		id := strings.TrimPrefix(one.Key, prefix)
		next, err := added(id, []byte(one.Value))
		if err != nil {
			s.log.Warn("a scene that is kept cannot be played", "scene", id, "err", err)
			continue
		}
		all = append(all, next)
	}
	for _, left := range s.Library().renew(all) {
		s.log.Warn("a scene that is kept is not there", "scene", left.ID, "err", s.Library().room(left))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home = b
	return nil
}

// keep has nobody else change what is kept, until leave is called.
func (s *Stages) keep(ctx context.Context) (leave func(), err error) {
	select {
	case s.keeping <- struct{}{}:
		return func() { <-s.keeping }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// change changes what is kept, if anything is.
func (s *Stages) change(ctx context.Context, who string, c broker.SettingsChange) error {
	s.mu.Lock()
	home := s.home
	s.mu.Unlock()
	if home == nil {
		return &engine.Refusal{Kind: engine.ErrBusy, Text: "The server's own namespace, which keeps scenes, is not open."}
	}
	_, err := home.ChangeSettings(ctx, prefix, who, func([]engine.Setting) (broker.SettingsChange, error) { return c, nil })
	return err //nolint:wrapcheck // it says what it is about
}

// Keep understands a scene and adds it to the library, on behalf of somebody, for
// good. The errors are those of Library.Add, and of changing settings.
func (s *Stages) Keep(ctx context.Context, id string, text []byte, who string) (*Scene, error) {
	next, err := added(id, text)
	if err != nil {
		return nil, err
	}
	leave, err := s.keep(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := s.Library().room(next); err != nil {
		return nil, err
	}
	change := broker.SettingsChange{Set: []engine.Setting{{Key: prefix + id, Value: next.Text}}, Deeds: []broker.Deed{{Kind: engine.EventSceneAdded, About: id + ", " + next.Title}}}
	if err := s.change(ctx, who, change); err != nil {
		return nil, err
	}
	return next, s.Library().add(next)
}

// Forget takes a scene out that was added, on behalf of somebody. The errors are those
// of Library.Remove, and of changing settings.
func (s *Stages) Forget(ctx context.Context, id, who string) error {
	leave, err := s.keep(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.Library().removable(id); err != nil {
		return err
	}
	if err := s.change(ctx, who, broker.SettingsChange{Drop: []string{prefix + id}, Deeds: []broker.Deed{{Kind: engine.EventSceneRemoved, About: id}}}); err != nil {
		return err
	}
	return s.Library().Remove(id)
}
