package engine

import (
	"maps"
	"slices"
	"strings"

	"mayfly/engine/shorten"
)

// A Setting is a stored value that is neither an entity nor a message: a named view, an alert
// rule or a job, for example. The package that sets it chooses the key and interprets the value,
// which is opaque to the engine. A change of a setting adds no event; the caller adds one if
// needed.
type Setting struct {
	Key       string // such as "view/late orders": case matters, and the part before the slash identifies the owner
	Value     string // opaque bytes; may be empty
	ChangedAt Instant
}

// memory returns the memory of s in bytes.
func (s Setting) memory() int64 {
	return settingEntry + textMemory(len(s.Key)) + textMemory(len(s.Value))
}

func (s Setting) size() int64 { return int64(len(s.Key) + len(s.Value)) }

// settings are the settings of a namespace.
type settings struct {
	byKey   map[string]Setting
	inOrder []string // keys; nil after a setting was added or removed
	bytes   int64    // of all keys and values
	account *account // nil if they are not counted
	dropped Instant  // the latest ChangedAt of a dropped setting, since the namespace was made
}

// Setting returns the setting with this key; ok is false if there is none.
func (ns *Namespace) Setting(key string) (s Setting, ok bool) {
	s, ok = ns.settings.byKey[key]
	return s, ok
}

// Settings returns the settings whose keys begin with prefix, in key order; all of them if
// prefix is empty.
func (ns *Namespace) Settings(prefix string) (all []Setting) {
	keys := ns.settings.keys()
	from, _ := slices.BinarySearch(keys, prefix)
	for _, key := range keys[from:] {
		if !strings.HasPrefix(key, prefix) {
			break
		}
		all = append(all, ns.settings.byKey[key])
	}
	return all
}

func (s *settings) keys() []string {
	if s.inOrder == nil {
		s.inOrder = slices.Sorted(maps.Keys(s.byKey))
	}
	return s.inOrder
}

// SetSetting adds a setting, or changes the value of the one with that key. If seen is not
// nil, it must be the ChangedAt of the setting that the caller saw, zero if there was none;
// otherwise the error is ErrChanged. A later change of a setting has a later ChangedAt, even
// within a millisecond.
//
// The error is ErrArgument for an invalid key, ErrTooLarge for a value that is too large, and
// ErrQuota for too many settings or bytes.
func (ns *Namespace) SetSetting(now Instant, key, value string, seen *Instant) (Setting, error) {
	was, known := ns.Setting(key)
	next := Setting{Key: key, Value: value, ChangedAt: max(now, ns.settings.dropped+1)}
	if known {
		next.ChangedAt = max(now, was.ChangedAt+1)
	}
	more := next.size()
	if known {
		more -= was.size()
	}
	l := &ns.limits
	switch {
	case key == "" || int64(len(key)) > l.SettingKeyLength || !printable(key):
		return Setting{}, Refuse(ErrArgument, "The key of a setting must have 1 to %d bytes of printable characters.", l.SettingKeyLength)
	case seen != nil && *seen != was.ChangedAt:
		return Setting{}, Refuse(ErrChanged, "The setting '%s' has changed since it was read. Reload it and try again.", shorten.To(key, 64))
	case int64(len(value)) > l.SettingSize:
		return Setting{}, Refuse(ErrTooLarge, "The setting '%s' has %d bytes; the maximum is %d.", shorten.To(key, 64), len(value), l.SettingSize)
	case !known && int64(len(ns.settings.byKey)) >= l.Settings:
		return Setting{}, Refuse(ErrQuota, "This namespace already has %d settings, the maximum. Delete one first.", len(ns.settings.byKey))
	case more > 0 && ns.settings.bytes+more > l.SettingsSize:
		return Setting{}, Refuse(ErrQuota, "The settings of this namespace would have %d bytes; the maximum is %d.", ns.settings.bytes+more, l.SettingsSize)
	}
	ns.changeSetting(key, &next)
	return next, nil
}

// DropSetting removes a setting. The error is ErrNotFound if there is none.
func (ns *Namespace) DropSetting(key string) error {
	was, known := ns.Setting(key)
	if !known {
		return Refuse(ErrNotFound, "The setting '%s' does not exist.", shorten.To(key, 64))
	}
	ns.settings.dropped = max(ns.settings.dropped, was.ChangedAt)
	ns.changeSetting(key, nil)
	return nil
}

// changeSetting sets the setting with this key to next, or removes it if next is nil, as a change to
// be stored that can be undone.
func (ns *Namespace) changeSetting(key string, next *Setting) {
	var before *Setting
	if was, known := ns.Setting(key); known {
		before = &was
	}
	ns.changes.addUndo(undo{kind: undoSetting, other: func() { ns.settings.put(key, before) }})
	ns.settings.put(key, next)
	ns.changes.settings[key] = struct{}{}
	ns.changes.hard = true
}

// put sets the setting with this key to next, or removes it if next is nil, and updates the counts of
// bytes. No other function changes byKey.
func (s *settings) put(key string, next *Setting) {
	was, known := s.byKey[key]
	if known {
		s.bytes -= was.size()
		s.account.add(-was.memory())
	}
	if known != (next != nil) {
		s.inOrder = nil
	}
	if next == nil {
		delete(s.byKey, key)
		return
	}
	s.byKey[key] = *next
	s.bytes += next.size()
	s.account.add(next.memory())
}
