package template_test

import (
	"testing"

	"mayfly/engine/template"
)

// The {{letters}} placeholders outside the body of a draft may make at most 1,048,576 letters in
// all, so that a small draft does not become large in memory.
func TestLettersOfADraft(t *testing.T) {
	property := func(letters string) template.Property {
		return template.Property{Name: "p", Value: "{{letters " + letters + "}}"}
	}
	for name, tc := range map[string]struct {
		d     template.Draft
		wrong string
	}{
		"a body and a property": {template.Draft{Body: "{{letters 1048576}}", Properties: []template.Property{property("1048576")}}, ""},
		"two properties":        {template.Draft{Properties: []template.Property{property("524288"), property("524288")}}, ""},
		"two, with too many":    {template.Draft{Properties: []template.Property{property("524288"), property("524289")}}, "properties 2: {{letters}} would make more than 1048576 letters beside the body."},
		"a subject and one":     {template.Draft{Subject: "{{letters 1}}", Properties: []template.Property{property("1048576")}}, "properties 1: {{letters}} would make more than 1048576 letters beside the body."},
	} {
		tc.d.Placeholders = true
		_, err := tc.d.Compile()
		if got := ""; err != nil {
			if got = err.Error(); got != tc.wrong {
				t.Errorf("%s: %q; want %q", name, got, tc.wrong)
			}
		} else if tc.wrong != "" {
			t.Errorf("%s: the draft was accepted", name)
		}
	}
}
