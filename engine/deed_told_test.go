package engine

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// What the events of settings and of access say is read back as what was done.
func TestDeedsAreReadBack(t *testing.T) {
	for _, did := range SettingDids() {
		d := SettingDeed{Did: did, Name: "late orders"}
		if did == RenamedView || did == RenamedTemplate {
			d.To = "late"
		}
		if got, ok := ParseSettingDeed(d.String()); !ok || got != d {
			t.Errorf("%q is read as %+v, %v", d, got, ok)
		}
	}
	for _, did := range AccessDids() {
		d := AccessDeed{did, "ci (Listen,Send)"}
		if got, ok := ParseAccessDeed(d.String()); !ok || got != d {
			t.Errorf("%q is read as %+v, %v", d, got, ok)
		}
	}
	for said, want := range map[string]SettingDeed{
		"started job 7, which takes back job 5":             {Did: StartedJob, Name: "7", To: "5"},
		"saved the view from here to there":                 {Did: SavedView, Name: "from here to there"},
		"renamed the view from here to there":               {Did: RenamedView, Name: "from here", To: "there"},
		"renamed the template from a to b to c":             {}, // "from a to b", or "from a"?
		SettingDeed{RenamedView, "way to", "town"}.String(): {}, // it may be "way", too
		"renamed the view orders":                           {},
		"switched on the alert rule Paid late":              {Did: SwitchedOnAlert, Name: "Paid late"},
		"painted the view blue":                             {},
		"":                                                  {},
	} {
		if got, ok := ParseSettingDeed(said); ok != (want != SettingDeed{}) || ok && got != want {
			t.Errorf("%q is read as %+v, %v", said, got, ok)
		}
	}
	if d, ok := ParseAccessDeed("lend ci"); ok {
		t.Errorf("an access rule was lent: %+v", d)
	}
}

// However long the names are, what is remembered of a deed is text.
func TestLongDeedsAreCutBetweenCharacters(t *testing.T) {
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1)})
	for n := range 4 {
		ns.SettingsChanged(1, SettingDeed{Did: SavedView, Name: strings.Repeat("x", n) + strings.Repeat("注", 100)}, "ana")
		if said := ns.events[len(ns.events)-1].Reason; !utf8.ValidString(said) || !strings.HasSuffix(said, "注…") {
			t.Errorf("%q", said)
		}
	}
}
