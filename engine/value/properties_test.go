package value

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestLookup(t *testing.T) {
	p := Properties{{"Region", OfInt(1)}, {"region", OfInt(2)}, {"region", OfInt(3)}}
	if v, ok := p.Lookup("region"); v != OfInt(2) || !ok {
		t.Errorf("region is %v, %t", v, ok)
	}
	if v, ok := p.Lookup("REGION"); ok {
		t.Errorf("REGION is %v", v)
	}
	if v, ok := p.LookupFold("REGION"); v != OfInt(1) || !ok {
		t.Errorf("MSG-4: REGION folds to %v, %t", v, ok)
	}
	if v, ok := p.LookupFold("region"); v != OfInt(2) || !ok {
		t.Errorf("the exact name does not take precedence: %v, %t", v, ok)
	}
	if _, ok := Properties(nil).LookupFold("x"); ok {
		t.Error("nothing holds x")
	}
}

func TestMerge(t *testing.T) {
	a, b, c := OfString("a"), OfInt(2), Value{}
	for name, tc := range map[string]struct{ base, over, want Properties }{
		"SETL-2 overwrites in place":    {Properties{{"x", a}, {"y", a}}, Properties{{"x", b}}, Properties{{"x", b}, {"y", a}}},
		"SETL-2 appends in order":       {Properties{{"x", a}}, Properties{{"z", b}, {"y", c}}, Properties{{"x", a}, {"z", b}, {"y", c}}},
		"case matters":                  {Properties{{"x", a}}, Properties{{"X", b}}, Properties{{"x", a}, {"X", b}}},
		"the last of two holds":         {nil, Properties{{"x", a}, {"x", b}}, Properties{{"x", b}}},
		"both of two are overwritten":   {Properties{{"x", a}, {"x", b}}, Properties{{"x", c}}, Properties{{"x", c}, {"x", c}}},
		"null overwrites":               {Properties{{"x", a}}, Properties{{"x", c}}, Properties{{"x", c}}},
		"nothing over something":        {Properties{{"x", a}}, nil, Properties{{"x", a}}},
		"nothing over nothing":          {nil, Properties{}, nil},
		"something over nothing at all": {nil, Properties{{"x", a}}, Properties{{"x", a}}},
	} {
		if diff := cmp.Diff(tc.want, tc.base.Merge(tc.over)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestMergeSharesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := slices.Grow(anyProperties().Draw(t, "base"), 8)
		over := anyProperties().Draw(t, "over")
		baseWas, overWas := slices.Clone(base), slices.Clone(over)
		out := base.Merge(over)
		for i := range out {
			want, ok := slices.Clone(over), false
			slices.Reverse(want)
			v, ok := want.Lookup(out[i].Name)
			if !ok {
				v = base[i].Value
			}
			if out[i].Value != v {
				t.Fatalf("%q is %v, want %v", out[i].Name, out[i].Value, v)
			}
			out[i] = Property{}
		}
		_ = append(out, Property{"more", OfInt(1)})
		if !slices.Equal(base, baseWas) || !slices.Equal(over, overWas) {
			t.Fatal("an argument changed")
		}
	})
}
