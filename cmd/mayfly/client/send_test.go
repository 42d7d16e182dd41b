package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/value"
)

func TestParseProperty(t *testing.T) {
	for text, want := range map[string]value.Property{
		"a=":                           {Name: "a", Value: value.OfString("")},
		"a=b=c":                        {Name: "a", Value: value.OfString("b=c")},
		"a=5":                          {Name: "a", Value: value.OfLong(5)},
		"a=5.5":                        {Name: "a", Value: value.OfDouble(5.5)},
		"a=true":                       {Name: "a", Value: value.OfBool(true)},
		`a="5"`:                        {Name: "a", Value: value.OfString("5")},
		"a=null":                       {Name: "a"},
		"a=5 days":                     {Name: "a", Value: value.OfString("5 days")},
		`a={"type":"int","value":"5"}`: {Name: "a", Value: value.OfInt(5)},
	} {
		if got, err := parseProperty(text); err != nil || !cmp.Equal(got, want) {
			t.Errorf("%s: got %v %v", text, got, err)
		}
	}
}
