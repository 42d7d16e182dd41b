package topology_test

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/filter"
	"mayfly/engine/topology"
	"mayfly/engine/value"
)

// FILT-15: a file can state the type of a condition, as can a user who adds a rule. A rule that
// was added with the same text on a page counts as equal.
func TestTypedConditions(t *testing.T) {
	for name, kind := range map[string]struct {
		want value.Value
		json string
	}{
		"FILT-15 a text":          {value.OfString("eu"), `"eu"`},
		"FILT-15 a number":        {value.OfLong(5), `5`},
		"FILT-15 a double":        {value.OfDouble(2.5), `2.50`},
		"FILT-15 a boolean":       {value.OfBool(true), `true`},
		"FILT-15 an int":          {value.OfInt(5), `{"type":"int","value":"5"}`},
		"FILT-15 an int, bare":    {value.OfInt(5), `{"type":"int","value":5}`},
		"FILT-15 a long":          {value.OfLong(5), `{"value":"5","type":"long"}`},
		"FILT-15 null":            {value.Value{}, `{"type":"null"}`},
		"FILT-15 a typed text":    {value.OfString("5"), `{"type":"string","value":"5"}`},
		"FILT-15 a typed boolean": {value.OfBool(false), `{"type":"bool","value":false}`},
	} {
		t.Run(name, func(t *testing.T) {
			file := rule(`"FilterType":"Correlation","CorrelationFilter":{"Label":"x","Properties":{"p":` + kind.json + `}}`)
			top, err := topology.Read(strings.NewReader(file), topology.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f := top.Entities[1].Rules[0].Filter
			if err := engine.CheckRule(engine.Rule{Name: "r", Filter: f}, engine.DefaultLimits()); err != nil {
				t.Fatal(err)
			}
			c, err := filter.ParseCorrelation(f.Text)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := c.Properties.Lookup("p"); got != kind.want || c.Label != "x" {
				t.Errorf("it is %v; want %v", got, kind.want)
			}
			if by := (&filter.Correlation{Label: "x", Properties: value.Properties{{Name: "p", Value: kind.want}}}).Text(); by != f.Text {
				t.Errorf("the file's rule is stored as %s, and a page's as %s", f.Text, by)
			}
			ns := empty()
			steps, err := topology.Steps(nil, top)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range steps {
				if err := apply(ns, s); err != nil {
					t.Fatal(err)
				}
			}
			if again, err := topology.Steps(ns.States(0), top); err != nil || len(again) != 0 {
				t.Errorf("a second time there are steps %+v, %v", again, err)
			}
		})
	}
	for json, want := range map[string]string{
		`{"type":"colour","value":"5"}`:      `This is not a condition: `,
		`{"type":"int","value":"five"}`:      `This is not a condition: `,
		`{"type":"int","value":{"a":[1]}}`:   `This is not a condition: `,
		`{"type":"int","value":[null,true]}`: `This is not a condition: `,
		`{"type":"int"}`:                     `This is not a condition: `,
		`{}`:                                 `This is not a condition: `,
		`[1]`:                                `A condition must be a string, number or boolean, not a list.`,
	} {
		_, err := topology.Read(strings.NewReader(rule(`"FilterType":"Correlation","CorrelationFilter":{"Properties":{"p":`+json+`}}`)), topology.Options{})
		const at = "UserConfig.Namespaces[0].Topics[0].Subscriptions[0].Rules[0].Properties.CorrelationFilter.Properties.p: "
		if !strings.HasPrefix(fmt.Sprint(err), at+want) || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%s: %v", json, err)
		}
	}
}
