package scene

import (
	"context"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// prefix is before the ids of scenes in the keys of settings.
const prefix = "scene/"

// An Unfit is a scene that is kept and cannot be played: a former version of the program
// took it, or the folder of this one has another of its id.
type Unfit struct {
	ID, Text string
	Err      error // why not: a WrongError, or a refusal
}

// Unfit are those there are, by their ids. They stay until they are replaced or forgotten.
func (s *Stages) Unfit() []Unfit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.unfit)
}

// FindUnfit is one of them; not ok: none is called so.
func (s *Stages) FindUnfit(id string) (u Unfit, ok bool) {
	all := s.Unfit()
	if i := slices.IndexFunc(all, func(u Unfit) bool { return u.ID == id }); i >= 0 {
		return all[i], true
	}
	return Unfit{}, false
}

// mend has a scene be none of them any more.
func (s *Stages) mend(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unfit = slices.DeleteFunc(s.unfit, func(u Unfit) bool { return u.ID == id })
}

// Recall has the scenes that were added be those that are kept in a broker's
// namespace, the server's own, which keeps those that are added from now on. What is
// kept and cannot be played any more is told to the log, and stays: see Unfit.
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
	var unfit []Unfit
	for _, one := range kept {
		id := strings.TrimPrefix(one.Key, prefix)
		next, err := added(id, []byte(one.Value))
		if err != nil {
			s.log.Warn("a scene that is kept cannot be played", "scene", id, "err", err)
			unfit = append(unfit, Unfit{ID: id, Text: one.Value, Err: err})
			continue
		}
		all = append(all, next)
	}
	for _, left := range s.Library().renew(all) {
		err := s.Library().room(left)
		s.log.Warn("a scene that is kept is not there", "scene", left.ID, "err", err)
		unfit = append(unfit, Unfit{ID: left.ID, Text: left.Text, Err: err})
	}
	slices.SortFunc(unfit, func(a, b Unfit) int { return strings.Compare(a.ID, b.ID) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home, s.unfit = b, unfit
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
	s.mend(id)
	return next, s.Library().add(next)
}

// Forget takes a scene out that was added, on behalf of somebody; of an id that an Unfit
// has, that. The errors are those of Library.Remove, and of changing settings.
func (s *Stages) Forget(ctx context.Context, id, who string) error {
	leave, err := s.keep(ctx)
	if err != nil {
		return err
	}
	defer leave()
	_, unfit := s.FindUnfit(id)
	if !unfit {
		if err := s.Library().removable(id); err != nil {
			return err
		}
	}
	if err := s.change(ctx, who, broker.SettingsChange{Drop: []string{prefix + id}, Deeds: []broker.Deed{{Kind: engine.EventSceneRemoved, About: id}}}); err != nil {
		return err
	}
	if unfit {
		s.mend(id)
		return nil
	}
	return s.Library().Remove(id)
}
