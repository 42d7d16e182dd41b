package listing

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// ErrNoView says that there is no view of that name. It is an engine.ErrNotFound.
var ErrNoView = fmt.Errorf("%w: a view", engine.ErrNotFound)

// ErrTaken says that another view has the name. It is an engine.ErrExists.
var ErrTaken = fmt.Errorf("%w: a view", engine.ErrExists)

// prefix is before the names of views in the keys of settings.
const prefix = "view/"

func noView(name string) error {
	return &engine.Refusal{Kind: ErrNoView, Text: fmt.Sprintf("There is no view called '%s'.", cut(name))}
}

// In are the views that a reader sees, by name. What cannot be read, since another
// version or nobody of ours wrote it, is left out.
func In(r broker.Reader) []View { return readable(r.Settings(prefix)) }

func readable(all []engine.Setting) (views []View) {
	for _, s := range all {
		if v, err := decode(s); err == nil {
			views = append(views, v)
		}
	}
	slices.SortStableFunc(views, func(a, b View) int {
		return cmp.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name))
	})
	return views
}

// Views are all views of a namespace, by name.
func Views(ctx context.Context, b *broker.Broker) (all []View, err error) {
	err = b.Read(ctx, func(r broker.Reader) error { all = In(r); return nil })
	return all, err //nolint:wrapcheck // it says what it is about
}

// Named is the view of that name among some. The error is ErrNoView.
func Named(all []View, name string) (View, error) {
	i := slices.IndexFunc(all, func(v View) bool { return v.Name == name })
	if i < 0 {
		return View{}, noView(name)
	}
	return all[i], nil
}

// Put keeps a view, in place of the one of its name if there is one. Where it is the
// default of its lists, no other view for one of them is that from now on. The
// error is engine.ErrArgument for what is no view, and engine.ErrQuota if there are
// too many.
func Put(ctx context.Context, b *broker.Broker, v View, actor string) (View, error) {
	return save(ctx, b, v, actor, func([]View) error { return nil })
}

// Add is Put for a view that is new: the error is engine.ErrExists if there is one of
// its name.
func Add(ctx context.Context, b *broker.Broker, v View, actor string) (View, error) {
	return save(ctx, b, v, actor, func(all []View) error { return free(all, v.Name) })
}

// Replace puts a view in the place of was, which may have had another name. The
// error is ErrNoView if was is not there any more, engine.ErrChanged if it is not
// as it was when it was seen, and engine.ErrExists if another has the name.
func Replace(ctx context.Context, b *broker.Broker, v, was View, actor string) (View, error) {
	renamed := func(c *broker.SettingsChange) {
		if was.Name != v.Name {
			c.What = engine.SettingDeed{Did: engine.RenamedView, Name: was.Name, To: v.Name}
			c.Drop = append(c.Drop, prefix+was.Name)
		}
	}
	return save(ctx, b, v, actor, func(all []View) error {
		old, err := Named(all, was.Name)
		switch {
		case err != nil:
			return err
		case old.ChangedAt != was.ChangedAt:
			return &engine.Refusal{Kind: engine.ErrChanged, Text: fmt.Sprintf("Somebody else has changed the view '%s' meanwhile.", cut(was.Name))}
		case was.Name != v.Name:
			return free(all, v.Name)
		}
		return nil
	}, renamed)
}

// free says that a view has that name.
func free(all []View, name string) error {
	if _, err := Named(all, name); err == nil {
		return &engine.Refusal{Kind: ErrTaken, Text: fmt.Sprintf("There is a view called '%s' already.", cut(name))}
	}
	return nil
}

// save keeps v if allowed has nothing against it.
func save(ctx context.Context, b *broker.Broker, v View, actor string, allowed func([]View) error, more ...func(*broker.SettingsChange)) (View, error) {
	if err := v.Check(); err != nil {
		return View{}, err
	}
	saved, err := b.ChangeSettings(ctx, prefix, actor, func(all []engine.Setting) (c broker.SettingsChange, err error) {
		views := readable(all)
		if err := allowed(views); err != nil {
			return c, err
		}
		c.What = engine.SettingDeed{Did: engine.SavedView, Name: v.Name}
		c.Set = []engine.Setting{{Key: prefix + v.Name, Value: v.encode()}}
		for _, change := range more {
			change(&c)
		}
		known := slices.ContainsFunc(all, func(s engine.Setting) bool { return s.Key == prefix+v.Name })
		if !known && len(all)-len(c.Drop) >= MostViews {
			return c, &engine.Refusal{Kind: engine.ErrQuota, Text: fmt.Sprintf("There are %d views, which is the most there may be.", MostViews)}
		}
		for _, other := range views {
			if !v.Default || !other.Default || other.Name == v.Name || slices.Contains(c.Drop, prefix+other.Name) || !overlap(v, other) {
				continue
			}
			other.Default = false
			c.Set = append(c.Set, engine.Setting{Key: prefix + other.Name, Value: other.encode()})
		}
		return c, nil
	})
	if err != nil {
		return View{}, err //nolint:wrapcheck // it says what it is about
	}
	return decode(saved[0])
}

// overlap tells whether two views are for a list in common.
func overlap(a, b View) bool {
	return slices.ContainsFunc(Lists(), func(l List) bool { return a.For(l) && b.For(l) })
}

// Drop forgets a view. The error is ErrNoView if there is none.
func Drop(ctx context.Context, b *broker.Broker, name, actor string) error {
	_, err := b.ChangeSettings(ctx, prefix, actor, func([]engine.Setting) (broker.SettingsChange, error) {
		return broker.SettingsChange{Drop: []string{prefix + name}, What: engine.SettingDeed{Did: engine.DeletedView, Name: name}}, nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return noView(name)
	}
	return err //nolint:wrapcheck // it says what it is about
}

// DefaultFor is the view that a list shows where none is asked for.
func DefaultFor(all []View, l List) (v View, ok bool) {
	i := slices.IndexFunc(all, func(v View) bool { return v.Default && v.For(l) })
	if i < 0 {
		return v, false
	}
	return all[i], true
}
