package component

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadTreeKeepsWhatItReads(t *testing.T) {
	got, ok := ReadTree([]byte(`{"b":129.900000000000000001,"a":1e400,"a":[true,null,"x\u0000\n\u202e\"<"]}`))
	if !ok {
		t.Fatal("not read")
	}
	want := Tree{Kind: ObjectValue, Children: []Tree{
		{Key: "b", Keyed: true, Kind: NumberValue, Text: "129.900000000000000001"},
		{Key: "a", Keyed: true, Kind: NumberValue, Text: "1e400"},
		{Key: "a", Keyed: true, Kind: ArrayValue, Children: []Tree{
			{Kind: LiteralValue, Text: "true"},
			{Kind: LiteralValue, Text: "null"},
			{Kind: TextValue, Text: `"x␀\n⟨U+202E⟩\"<"`},
		}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestReadTreeRefuses(t *testing.T) {
	for name, body := range map[string]string{
		"nothing":           "",
		"text":              "hello",
		"a scalar":          "12",
		"half":              `{"a":`,
		"something follows": `{} {}`,
		"too deep":          strings.Repeat("[", 100) + strings.Repeat("]", 100),
		"too large":         "[" + strings.Repeat(" ", TreeBytes) + "]",
		"a lone end":        "]",
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := ReadTree([]byte(body)); ok {
				t.Errorf("read as %v", got)
			}
		})
	}
}

func TestReadTreeCountsWhatItLeavesOut(t *testing.T) {
	got, ok := ReadTree([]byte("[" + strings.Repeat("1,", 4999) + "1]"))
	if !ok || got.size() != 5000 || len(got.Children) >= treeNodes {
		t.Errorf("%d children and %d more", len(got.Children), got.More)
	}
}

func FuzzReadTree(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if tree, ok := ReadTree(body); ok && !tree.container() {
			t.Error("a value without branches was read as a tree")
		}
	})
}

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext":       "plain\n\ttext",
		"\x00\x1b[2J\r\x7f":   "␀␛[2J␍␡",
		"a\u202eb\u200bc":     "a⟨U+202E⟩b⟨U+200B⟩c",
		"\xff\xfe ok":         `\xFF\xFE ok`,
		"👩\u200d💻 Ústí 订单":    "👩\u200d💻 Ústí 订单",
		"\u0085next\ufeffbom": "⟨U+0085⟩next⟨U+FEFF⟩bom",
	} {
		if got := ShowInvisible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
}
