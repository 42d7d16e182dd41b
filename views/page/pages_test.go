package page

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/views/locale"
)

func TestSortedAddresses(t *testing.T) {
	m := Entities{Kind: Queue, Query: "a&b"}
	m.Shell.Home = "/base/n/shop"
	for name, tc := range map[string]struct {
		sort Column
		down bool
		by   Column
		want string
	}{
		"counts start from the largest":  {by: ByDead, want: "/base/n/shop/queues?dir=down&q=a%26b&sort=dead"},
		"times start from the soonest":   {by: ByExpiry, want: "/base/n/shop/queues?dir=up&q=a%26b&sort=expiry"},
		"the same again turns round":     {sort: ByDead, down: true, by: ByDead, want: "/base/n/shop/queues?dir=up&q=a%26b&sort=dead"},
		"by name is what was not chosen": {by: ByName, want: "/base/n/shop/queues?dir=down&q=a%26b&sort=name"},
	} {
		t.Run(name, func(t *testing.T) {
			m := m
			m.Sort, m.Down = tc.sort, tc.down
			if got := m.sorted(tc.by); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestATabThatAKindLacksIsItsFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		kind Kind
		tab  Tab
		want Tab
	}{
		"a topic has no messages":           {Topic, Messages, Subscribers},
		"a queue has no rules":              {Queue, Ruling, Messages},
		"a subscription schedules nothing":  {Subscription, Waiting, Messages},
		"nothing chosen":                    {Queue, "", Messages},
		"what there is stays":               {Subscription, Ruling, Ruling},
		"dead letters of a topic lie below": {Topic, DeadLetters, Subscribers},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (Entity{Kind: tc.kind, Tab: tc.tab}).tab(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestEveryColumnHasItsCell(t *testing.T) {
	for _, kind := range []Kind{Queue, Topic, Subscription} {
		var b strings.Builder
		if err := entityRow(kind, EntityRow{}).Render(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(b.String(), "<td"), len(columns(kind)); got != want {
			t.Errorf("%s: %d cells below %d headings", kind, got, want)
		}
	}
	for _, tab := range []Tab{Messages, Waiting, Parked, Held, DeadLetters} {
		var head, row strings.Builder
		if err := messageHead(tab, MessageColumns{}).Render(t.Context(), &head); err != nil {
			t.Fatal(err)
		}
		if err := messageRow(tab, nil, &MessageRow{}).Render(t.Context(), &row); err != nil {
			t.Fatal(err)
		}
		if got, want := strings.Count(row.String(), "<td"), strings.Count(head.String(), "<th "); got != want {
			t.Errorf("%s: %d cells below %d headings", tab, got, want)
		}
	}
}

func TestLookedAtAsItCanBe(t *testing.T) {
	json := []byte(`{"a":1}`)
	for name, tc := range map[string]struct {
		body Body
		view BodyView
		want BodyView
	}{
		"JSON is a tree":                     {Body{Content: json, Size: 7}, "", TreeView},
		"text is raw":                        {Body{Content: []byte("hi"), Size: 2}, "", RawView},
		"text has no tree":                   {Body{Content: []byte("hi"), Size: 2}, TreeView, RawView},
		"the beginning of one is no tree":    {Body{Content: json, Size: 8}, "", RawView},
		"what is asked for":                  {Body{Content: json, Size: 7}, HexView, HexView},
		"headers are there without any body": {Body{}, HeadersView, HeadersView},
		"nonsense":                           {Body{Content: json, Size: 7}, "nonsense", TreeView},
	} {
		t.Run(name, func(t *testing.T) {
			if got, _ := tc.body.looked(tc.view); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestBodiesAreCut(t *testing.T) {
	type shown struct {
		Raw, Hex       int
		RawAll, HexAll bool
	}
	for name, tc := range map[string]struct {
		content int
		size    int64
		want    shown
	}{
		"nothing":                {0, 0, shown{0, 0, true, true}},
		"4 KB":                   {4096, 4096, shown{4096, 256, true, true}},
		"a byte more":            {4097, 4097, shown{4097, 256, true, false}},
		"1 MB":                   {1 << 20, 1 << 20, shown{1 << 20, 256, true, false}},
		"more than is looked at": {1 << 20, 1<<20 + 1, shown{4096, 256, false, false}},
	} {
		t.Run(name, func(t *testing.T) {
			b := Body{Content: []byte(strings.Repeat("x", tc.content)), Size: tc.size}
			raw, rawAll := b.raw()
			hex, hexAll := b.hex()
			if d := cmp.Diff(tc.want, shown{len(raw), strings.Count(hex, "\n"), rawAll, hexAll}); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFormOffersEmptyRows(t *testing.T) {
	rows := []SendProperty{{Name: "a"}, {Kind: "int"}, {Value: "b"}}
	if got := withEmpty(rows, emptyRows); len(got) != 6 {
		t.Errorf("%d rows: %v", len(got), got)
	}
}

// The note beside the administration client's string names a part of the README.
func TestTheREADMEHasWhatIsNamed(t *testing.T) {
	_, rest, _ := strings.Cut(locale.T(t.Context(), "connect.admin.note"), "“")
	name, _, _ := strings.Cut(rest, "”")
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "\n## "+name+"\n") {
		t.Errorf("the README has no %q", name)
	}
}
