package columns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/shorten"
)

// ErrNoView means that there is no view with that name. It is an engine.ErrNotFound.
var ErrNoView = fmt.Errorf("%w: a view", engine.ErrNotFound)

// ErrViewExists means that another view has the name. It is an engine.ErrExists.
var ErrViewExists = fmt.Errorf("%w: a view", engine.ErrExists)

// settingPrefix begins the keys of settings with views; the view's name follows.
const settingPrefix = "view/"

func noView(name string) error {
	return engine.Refuse(ErrNoView, "The view '%s' does not exist.", shorten.Quote(name))
}

// ViewsIn returns the views that a reader sees, by name. It leaves out views that it cannot decode,
// such as those of another version.
func ViewsIn(r broker.Reader) []View { return decodeAll(r.Settings(settingPrefix)) }

func decodeAll(all []engine.Setting) (views []View) {
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

// Views returns all views of a namespace, by name.
func Views(ctx context.Context, b *broker.Broker) (all []View, err error) {
	err = b.Read(ctx, func(r broker.Reader) error { all = ViewsIn(r); return nil })
	return all, err
}

// FindView returns the one of the given views that has this name. The error is ErrNoView if there
// is none.
func FindView(all []View, name string) (View, error) {
	i := slices.IndexFunc(all, func(v View) bool { return v.Name == name })
	if i < 0 {
		return View{}, noView(name)
	}
	return all[i], nil
}

// Put stores a view, and replaces one with the same name. If it is a default, other views that
// apply to one of its lists are no longer defaults. The error is engine.ErrArgument for an invalid
// view, and engine.ErrQuota if there are too many.
func Put(ctx context.Context, b *broker.Broker, v View, actor string) (View, error) {
	return save(ctx, b, v, actor, func([]View) error { return nil })
}

// Add is Put for a new view. The error is ErrViewExists if there is one with its name.
func Add(ctx context.Context, b *broker.Broker, v View, actor string) (View, error) {
	return save(ctx, b, v, actor, func(all []View) error { return checkNameFree(all, v.Name) })
}

// Replace replaces the view `was` by `v`, which may have another name. The error is ErrNoView if
// `was` no longer exists, engine.ErrChanged if it was changed after was.ChangedAt, and
// ErrViewExists if another view has the new name.
func Replace(ctx context.Context, b *broker.Broker, v, was View, actor string) (View, error) {
	renamed := func(c *broker.SettingsUpdate) {
		if was.Name != v.Name {
			c.Action = engine.SettingAction{Kind: engine.RenamedView, Name: was.Name, To: v.Name}
			c.Drop = append(c.Drop, settingPrefix+was.Name)
		}
	}
	return save(ctx, b, v, actor, func(all []View) error {
		old, err := FindView(all, was.Name)
		switch {
		case err != nil:
			return err
		case old.ChangedAt != was.ChangedAt:
			return engine.Refuse(engine.ErrChanged, "The view '%s' has changed since it was loaded. Reload it and try again.", shorten.Quote(was.Name))
		case was.Name != v.Name:
			return checkNameFree(all, v.Name)
		}
		return nil
	}, renamed)
}

// checkNameFree returns an error if a view has that name.
func checkNameFree(all []View, name string) error {
	if _, err := FindView(all, name); err == nil {
		return engine.Refuse(ErrViewExists, "The view '%s' already exists. Choose another name.", shorten.Quote(name))
	}
	return nil
}

// save stores v, unless `allowed` returns an error for the present views. The functions in `more`
// may extend the update.
func save(ctx context.Context, b *broker.Broker, v View, actor string, allowed func([]View) error, more ...func(*broker.SettingsUpdate)) (View, error) {
	if err := v.Check(); err != nil {
		return View{}, err
	}
	saved, err := b.UpdateSettings(ctx, settingPrefix, actor, func(all []engine.Setting) (c broker.SettingsUpdate, err error) {
		views := decodeAll(all)
		if err := allowed(views); err != nil {
			return c, err
		}
		c.Action = engine.SettingAction{Kind: engine.SavedView, Name: v.Name}
		c.Set = []engine.Setting{{Key: settingPrefix + v.Name, Value: v.encode()}}
		for _, change := range more {
			change(&c)
		}
		known := slices.ContainsFunc(all, func(s engine.Setting) bool { return s.Key == settingPrefix+v.Name })
		if !known && len(all)-len(c.Drop) >= MaxViews {
			return c, engine.Refuse(engine.ErrQuota, "There are already %d views, the maximum. Delete one first.", MaxViews)
		}
		for _, other := range views {
			if !v.Default || !other.Default || other.Name == v.Name || slices.Contains(c.Drop, settingPrefix+other.Name) || !overlap(v, other) {
				continue
			}
			other.Default = false
			c.Set = append(c.Set, engine.Setting{Key: settingPrefix + other.Name, Value: other.encode()})
		}
		return c, nil
	})
	if err != nil {
		return View{}, err
	}
	return decode(saved[0])
}

// overlap reports whether there is a list to which both views apply.
func overlap(a, b View) bool {
	return slices.ContainsFunc(Lists(), func(l List) bool { return a.AppliesTo(l) && b.AppliesTo(l) })
}

// Delete deletes a view. The error is ErrNoView if there is none.
func Delete(ctx context.Context, b *broker.Broker, name, actor string) error {
	_, err := b.UpdateSettings(ctx, settingPrefix, actor, func([]engine.Setting) (broker.SettingsUpdate, error) {
		return broker.SettingsUpdate{Drop: []string{settingPrefix + name}, Action: engine.SettingAction{Kind: engine.DeletedView, Name: name}}, nil
	})
	if errors.Is(err, engine.ErrNotFound) {
		return noView(name)
	}
	return err
}

// DefaultFor returns the view that a list shows by default; ok is false if there is none.
func DefaultFor(all []View, l List) (v View, ok bool) {
	i := slices.IndexFunc(all, func(v View) bool { return v.Default && v.AppliesTo(l) })
	if i < 0 {
		return v, false
	}
	return all[i], true
}
