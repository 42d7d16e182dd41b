package listing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mayfly/engine"
)

// A List is a sort of lists of messages.
type List string

// The lists there are.
const (
	Messages         List = "messages"
	ScheduledList    List = "scheduled"
	DeferredList     List = "deferred"
	LockedList       List = "locked"
	DeadLetterList   List = "dead-letter"
	TransferList     List = "transfer"
	SearchedMessages List = "search"
)

// Lists are all of them.
func Lists() []List {
	return []List{Messages, ScheduledList, DeferredList, LockedList, DeadLetterList, TransferList, SearchedMessages}
}

// Standard is the name of what lists show by themselves. No view is called so.
const Standard = "standard"

// Bounds of views.
const (
	MostViews = 100
	MostName  = 64 // characters of a name
)

// A View is columns under a name, which everybody sees.
type View struct {
	Name      string
	Columns   []Column
	Lists     []List // that it is for; empty: all
	Default   bool   // these lists show it where no other is asked for
	ChangedAt engine.Instant
}

// For tells whether v is for a list.
func (v View) For(l List) bool { return len(v.Lists) == 0 || slices.Contains(v.Lists, l) }

// Check says what a view cannot be, as engine.ErrArgument.
func (v View) Check() error {
	switch {
	case strings.TrimSpace(v.Name) == "":
		return argument("A view has a name.")
	case utf8.RuneCountInString(v.Name) > MostName:
		return argument("The name of a view has at most %d characters.", MostName)
	case !printable(v.Name) || v.Name != strings.TrimSpace(v.Name) || strings.Contains(v.Name, "/"):
		return argument("The name of a view has characters that can be printed, no slash, and no space at its ends.")
	case strings.EqualFold(v.Name, Standard):
		return argument("No view is called '%s': that is what lists show by themselves.", Standard)
	case len(v.Columns) == 0:
		return argument("A view has at least one column.")
	}
	if _, err := ParseAll(Names(v.Columns)); err != nil {
		return err
	}
	for _, l := range v.Lists {
		if !slices.Contains(Lists(), l) {
			return argument("There is no list '%s'; there are %s.", cut(string(l)), listsInWords())
		}
	}
	return nil
}

func listsInWords() string {
	var words []string
	for _, l := range Lists() {
		words = append(words, string(l))
	}
	return strings.Join(words, ", ")
}

// version is that of stored views. A view of a later version is left alone.
const version = 1

// stored is a view as it is kept.
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

// decode reads what a setting has, and checks it as if somebody had typed it.
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
	v = View{Name: strings.TrimPrefix(s.Key, prefix), Lists: in.Lists, Default: in.Default, ChangedAt: s.ChangedAt}
	if v.Columns, err = ParseAll(in.Columns); err != nil {
		return v, err
	}
	return v, v.Check()
}
