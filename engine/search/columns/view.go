package columns

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
	"mayfly/engine/shorten"
)

// A List is a kind of list of messages.
type List string

const (
	Messages         List = "messages"
	ScheduledList    List = "scheduled"
	DeferredList     List = "deferred"
	LockedList       List = "locked"
	DeadLetterList   List = "dead-letter"
	TransferList     List = "transfer"
	SearchedMessages List = "search"
)

// Lists returns all kinds of lists.
func Lists() []List {
	return []List{Messages, ScheduledList, DeferredList, LockedList, DeadLetterList, TransferList, SearchedMessages}
}

// Standard is the name of the default columns of lists. No view may have that name.
const Standard = "standard"

const (
	MaxViews      = 100
	MaxNameLength = 64 // characters of a name
)

// A View is a named set of columns, which all users see.
type View struct {
	Name      string
	Columns   []Column
	Lists     []List // the lists that can show it; empty means all
	Default   bool   // those lists show it by default
	ChangedAt engine.Instant
}

// AppliesTo reports whether a list can show v.
func (v View) AppliesTo(l List) bool { return len(v.Lists) == 0 || slices.Contains(v.Lists, l) }

// Check returns engine.ErrArgument for an invalid view.
func (v View) Check() error {
	switch {
	case strings.TrimSpace(v.Name) == "":
		return engine.Refuse(engine.ErrArgument, "A view needs a name.")
	case utf8.RuneCountInString(v.Name) > MaxNameLength:
		return engine.Refuse(engine.ErrArgument, "The name of a view must not be longer than %d characters.", MaxNameLength)
	case !printable(v.Name) || v.Name != strings.TrimSpace(v.Name) || strings.Contains(v.Name, "/"):
		return engine.Refuse(engine.ErrArgument, "The name of a view must have printable characters only, no slash, and no space at its beginning or end.")
	case strings.EqualFold(v.Name, Standard):
		return engine.Refuse(engine.ErrArgument, "A view cannot be named '%s'. This name is reserved for the default columns.", Standard)
	case len(v.Columns) == 0:
		return engine.Refuse(engine.ErrArgument, "A view needs at least one column.")
	}
	if _, err := ParseAll(Names(v.Columns)); err != nil {
		return err
	}
	for _, l := range v.Lists {
		if !slices.Contains(Lists(), l) {
			return engine.Refuse(engine.ErrArgument, "The list '%s' does not exist. Choose from %s.", shorten.Quote(string(l)), joinLists())
		}
	}
	return nil
}

func joinLists() string {
	var words []string
	for _, l := range Lists() {
		words = append(words, string(l))
	}
	return strings.Join(words, ", ")
}

// version is the version of stored views. Views of other versions are ignored.
const version = 1

// stored is the JSON form of a view in a setting.
type stored struct {
	Version int      `json:"version"`
	Columns []string `json:"columns"`
	Lists   []List   `json:"lists,omitempty"`
	Default bool     `json:"default,omitempty"`
}

func (v View) encode() string {
	raw, err := json.Marshal(stored{version, Names(v.Columns), v.Lists, v.Default})
	if err != nil {
		panic(err) // texts
	}
	return string(raw)
}

// decode parses a stored view, and checks it like one that a user has entered.
func decode(s engine.Setting) (v View, err error) {
	var in stored
	d := json.NewDecoder(bytes.NewReader([]byte(s.Value)))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return v, fmt.Errorf("read the view %q: %w", s.Key, err)
	}
	if in.Version != version {
		return v, fmt.Errorf("the view %q has version %d", s.Key, in.Version)
	}
	v = View{Name: strings.TrimPrefix(s.Key, settingPrefix), Lists: in.Lists, Default: in.Default, ChangedAt: s.ChangedAt}
	if v.Columns, err = ParseAll(in.Columns); err != nil {
		return v, err
	}
	return v, v.Check()
}
