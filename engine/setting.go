package engine

import (
	"maps"
	"slices"
	"strings"
)

// A Setting is something that a namespace keeps and that is neither an entity
// nor a message: a named view, a rule for alerts, a job. Whoever sets it gives it
// a key and knows what the value means; to the engine it is opaque. There are no
// events of settings; who sets one tells of it if it matters. See architecture §4.
type Setting struct {
	Key       string // "view/late orders": case matters, and what comes before a slash says whose it is
	Value     string // opaque bytes; empty is a value, too
	ChangedAt Instant
}

func (s Setting) size() int64 { return int64(len(s.Key) + len(s.Value)) }

// settings are those of a namespace.
type settings struct {
	byKey   map[string]Setting
	inOrder []string // keys; nil after one came or went
	bytes   int64    // of all keys and values
	dropped Instant  // the latest ChangedAt of one that was dropped, since the namespace was made
}

// Setting is the one with this key; not ok if there is none.
func (ns *Namespace) Setting(key string) (s Setting, ok bool) {
	s, ok = ns.settings.byKey[key]
	return s, ok
}

// Settings are those whose keys begin with prefix, in the order of their keys;
// all of them if it is empty.
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

// SetSetting adds a setting, or gives the one with that key another value. If
// seen is not nil, it is the ChangedAt of what the caller saw there, zero if there
// was nothing: the error is ErrChanged if that is no longer so. A later change of
// a setting has a later ChangedAt, even within a millisecond.
//
// The error is ErrArgument for a key that cannot be, ErrTooLarge for one value
// and ErrQuota for all together.
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
		return Setting{}, refuse(ErrArgument, "The key of a setting has 1 to %d bytes, of characters that can be printed.", l.SettingKeyLength)
	case seen != nil && *seen != was.ChangedAt:
		return Setting{}, refuse(ErrChanged, "The setting '%s' is not what it was when it was seen.", cut(key, 64))
	case int64(len(value)) > l.SettingSize:
		return Setting{}, refuse(ErrTooLarge, "The setting '%s' has %d bytes; %d are allowed.", cut(key, 64), len(value), l.SettingSize)
	case !known && int64(len(ns.settings.byKey)) >= l.Settings:
		return Setting{}, refuse(ErrQuota, "This namespace has %d settings, which is the most it may have.", len(ns.settings.byKey))
	case more > 0 && ns.settings.bytes+more > l.SettingsSize:
		return Setting{}, refuse(ErrQuota, "The settings of this namespace would have %d bytes; %d are allowed.", ns.settings.bytes+more, l.SettingsSize)
	}
	ns.changeSetting(key, &next)
	return next, nil
}

// DropSetting forgets a setting. The error is ErrNotFound if there is none.
func (ns *Namespace) DropSetting(key string) error {
	was, known := ns.Setting(key)
	if !known {
		return refuse(ErrNotFound, "There is no setting called '%s'.", cut(key, 64))
	}
	ns.settings.dropped = max(ns.settings.dropped, was.ChangedAt)
	ns.changeSetting(key, nil)
	return nil
}

// changeSetting is the one place where steps change settings; nil is none.
func (ns *Namespace) changeSetting(key string, next *Setting) {
	var before *Setting
	if was, known := ns.Setting(key); known {
		before = &was
	}
	ns.changes.note(undo{kind: undoSetting, other: func() { ns.settings.put(key, before) }})
	ns.settings.put(key, next)
	ns.changes.settings[key] = struct{}{}
	ns.changes.hard = true
}

// put is the one place where they change.
func (s *settings) put(key string, next *Setting) {
	was, known := s.byKey[key]
	if known {
		s.bytes -= was.size()
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
}
