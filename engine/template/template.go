package template

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
)

// ErrNoTemplate means that there is no template with the given name.
var ErrNoTemplate error = engine.Refuse(engine.ErrNotFound, "The template does not exist.")

// SettingPrefix begins the keys of templates' settings.
const SettingPrefix = "template/"

const (
	// MaxTemplates is the maximum number of templates in a namespace.
	MaxTemplates = 200
	// MaxTemplateBytes is the maximum size of a template in bytes of JSON.
	MaxTemplateBytes = 128 << 10

	maxNameLength = 64 // characters
	version       = 1
)

// A Template is a draft with a name.
type Template struct {
	Name      string
	Draft     Draft
	ChangedAt engine.Instant
}

type storedTemplate struct {
	Version int   `json:"version"`
	Draft   Draft `json:"draft"`
}

// CheckName returns engine.ErrArgument if name cannot be the name of a template.
func CheckName(name string) error {
	n := utf8.RuneCountInString(name)
	bad := func(r rune) bool { return !unicode.IsPrint(r) || r == '/' || r == utf8.RuneError }
	if n == 0 || n > maxNameLength || name != strings.TrimSpace(name) || strings.ContainsFunc(name, bad) || name == "." || name == ".." {
		return engine.Refuse(engine.ErrArgument, "The name of a template must have 1 to %d printable characters, no slash, and no space at its beginning or end.", maxNameLength)
	}
	return nil
}

// SettingKey returns the key of a template's setting.
func SettingKey(name string) string { return SettingPrefix + name }

// ToSetting returns a template as a setting. The error is engine.ErrArgument for an invalid name or
// draft, and engine.ErrTooLarge for a draft that is too large.
func ToSetting(name string, d Draft) (engine.Setting, error) {
	if err := CheckName(name); err != nil {
		return engine.Setting{}, err
	}
	if _, err := d.Compile(); err != nil {
		return engine.Setting{}, err
	}
	raw, err := json.Marshal(storedTemplate{version, d})
	if err != nil {
		return engine.Setting{}, fmt.Errorf("write template %q: %w", name, err)
	}
	if len(raw) > MaxTemplateBytes {
		return engine.Setting{}, engine.Refuse(engine.ErrTooLarge, "The template would have %d bytes; the maximum is %d.", len(raw), MaxTemplateBytes)
	}
	return engine.Setting{Key: SettingKey(name), Value: string(raw)}, nil
}

// FromSetting returns the template in a setting.
func FromSetting(s engine.Setting) (Template, error) {
	name, ok := strings.CutPrefix(s.Key, SettingPrefix)
	t := Template{Name: name, ChangedAt: s.ChangedAt}
	var k storedTemplate
	if err := json.Unmarshal([]byte(s.Value), &k); !ok || err != nil {
		return t, fmt.Errorf("the template %q cannot be read: %w", name, err)
	}
	if k.Version != version {
		return t, fmt.Errorf("the template %q has version %d, which this version of Mayfly does not support", name, k.Version)
	}
	t.Draft = k.Draft
	return t, nil
}

// FindSetting is FromSetting for the results of broker.Reader.Setting: if ok is false, the error is
// ErrNoTemplate.
func FindSetting(s engine.Setting, ok bool) (Template, error) { //nolint:revive // matches the results of Setting
	if !ok {
		return Template{}, ErrNoTemplate
	}
	return FromSetting(s)
}

// CheckQuota returns engine.ErrQuota if a setting with this key would be new among the given
// settings of templates and there are already MaxTemplates.
func CheckQuota(all []engine.Setting, key string) error {
	for _, s := range all {
		if s.Key == key {
			return nil
		}
	}
	if len(all) >= MaxTemplates {
		return engine.Refuse(engine.ErrQuota, "There are already %d templates, the maximum. Delete one first.", len(all))
	}
	return nil
}
