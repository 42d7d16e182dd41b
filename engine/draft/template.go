package draft

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"mayfly/engine"
)

// ErrNoTemplate says that there is no template of a name.
var ErrNoTemplate error = &engine.Refusal{Kind: engine.ErrNotFound, Text: "There is no such template."}

// Prefix begins the keys of the settings that templates are kept in.
const Prefix = "template/"

const (
	// MostTemplates is how many a namespace keeps.
	MostTemplates = 200
	// MostKept is how many bytes of JSON one of them has.
	MostKept = 128 << 10

	longestName = 64 // characters
	version     = 1
)

// A Template is a draft under a name.
type Template struct {
	Name      string
	Draft     Draft
	ChangedAt engine.Instant
}

type kept struct {
	Version int   `json:"version"`
	Draft   Draft `json:"draft"`
}

func refuse(kind error, format string, args ...any) error {
	return &engine.Refusal{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// CheckName refuses what cannot be a template's name.
func CheckName(name string) error {
	n := utf8.RuneCountInString(name)
	bad := func(r rune) bool { return !unicode.IsPrint(r) || r == '/' || r == utf8.RuneError }
	if n == 0 || n > longestName || name != strings.TrimSpace(name) || strings.ContainsFunc(name, bad) || name == "." || name == ".." {
		return refuse(engine.ErrArgument, "The name of a template has 1 to %d characters that can be printed, no slash, and no space at its ends.", longestName)
	}
	return nil
}

// Key is where a template is kept.
func Key(name string) string { return Prefix + name }

// Keep is a template as a setting. The error is ErrArgument for a name or a draft
// that cannot be, ErrTooLarge for one that is too large.
func Keep(name string, d Draft) (engine.Setting, error) {
	if err := CheckName(name); err != nil {
		return engine.Setting{}, err
	}
	if _, err := d.Compile(); err != nil {
		return engine.Setting{}, err
	}
	raw, err := json.Marshal(kept{version, d})
	if err != nil {
		return engine.Setting{}, fmt.Errorf("write template %q: %w", name, err)
	}
	if len(raw) > MostKept {
		return engine.Setting{}, refuse(engine.ErrTooLarge, "The template would have %d bytes; %d are allowed.", len(raw), MostKept)
	}
	return engine.Setting{Key: Key(name), Value: string(raw)}, nil
}

// Read is the template in a setting.
func Read(s engine.Setting) (Template, error) {
	name, ok := strings.CutPrefix(s.Key, Prefix)
	t := Template{Name: name, ChangedAt: s.ChangedAt}
	var k kept
	if err := json.Unmarshal([]byte(s.Value), &k); !ok || err != nil {
		return t, fmt.Errorf("the template %q cannot be read: %w", name, err)
	}
	if k.Version != version {
		return t, fmt.Errorf("the template %q is of version %d, which is not known here", name, k.Version)
	}
	t.Draft = k.Draft
	return t, nil
}

// Find is Read of a setting that may not be there: the error is ErrNoTemplate then.
func Find(s engine.Setting, ok bool) (Template, error) { //nolint:revive // as Setting answers
	if !ok {
		return Template{}, ErrNoTemplate
	}
	return Read(s)
}

// Room is ErrQuota if all are too many for another one with that key.
func Room(all []engine.Setting, key string) error {
	for _, s := range all {
		if s.Key == key {
			return nil
		}
	}
	if len(all) >= MostTemplates {
		return refuse(engine.ErrQuota, "There are %d templates, which is the most there can be.", len(all))
	}
	return nil
}
