package engine

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// The reasons of setting and access events parse back into their actions.
func TestActionsAreReadBack(t *testing.T) {
	for _, did := range SettingActionKinds() {
		d := SettingAction{Kind: did, Name: "late orders"}
		if did == RenamedView || did == RenamedTemplate {
			d.To = "late"
		}
		if got, ok := ParseSettingAction(d.String()); !ok || got != d {
			t.Errorf("%q is read as %+v, %v", d, got, ok)
		}
	}
	for _, did := range AccessActionKinds() {
		d := AccessAction{did, "ci (Listen,Send)"}
		if got, ok := ParseAccessAction(d.String()); !ok || got != d {
			t.Errorf("%q is read as %+v, %v", d, got, ok)
		}
	}
	for text, want := range map[string]SettingAction{
		"started job 7, which takes back job 5":               {Kind: StartedJob, Name: "7", To: "5"},
		"saved the view from here to there":                   {Kind: SavedView, Name: "from here to there"},
		"renamed the view from here to there":                 {Kind: RenamedView, Name: "from here", To: "there"},
		"renamed the template from a to b to c":               {}, // "from a to b", or "from a"?
		SettingAction{RenamedView, "way to", "town"}.String(): {}, // the name may also be "way"
		"renamed the view orders":                             {},
		"switched on the alert rule Paid late":                {Kind: SwitchedOnAlert, Name: "Paid late"},
		"painted the view blue":                               {},
		"":                                                    {},
	} {
		if got, ok := ParseSettingAction(text); ok != (want != SettingAction{}) || ok && got != want {
			t.Errorf("%q is read as %+v, %v", text, got, ok)
		}
	}
	if d, ok := ParseAccessAction("lend ci"); ok {
		t.Errorf("an unknown access action was parsed: %+v", d)
	}
}

// The stored reason is valid text, however long the names are.
func TestLongActionsAreCutBetweenCharacters(t *testing.T) {
	ns := New(Options{Limits: DefaultLimits(), Keys: NewKeys(1)})
	for n := range 4 {
		ns.AuditSettings(1, SettingAction{Kind: SavedView, Name: strings.Repeat("x", n) + strings.Repeat("注", 100)}, "ana")
		if text := ns.events[len(ns.events)-1].Reason; !utf8.ValidString(text) || !strings.HasSuffix(text, "注…") {
			t.Errorf("%q", text)
		}
	}
}
