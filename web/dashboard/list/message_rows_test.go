package list

import (
	"testing"
)

func TestPills(t *testing.T) {
	for body, want := range map[string]string{
		`{"a":1,"b":"x","c":true,"d":null,"e":5}`: "a=1 b=x c=true d=null ",
		`{"customer":{"id":4417},"total":129.90}`: "customer.id=4417 total=129.90 ",
		`{"n":12345678901234567890123,"cut":"of`:  "n=12345678901234567890123 ",
		`{"list":[1,2],"after":1}`:                "",
		`[1,2]`:                                   "",
		`{broken`:                                 "",
		`hello`:                                   "",
		`{"a":{"b":{"c":1}},"d":2}`:               "a.b.c=1 d=2 ",
		`{}`:                                      "",
	} {
		got := ""
		for _, p := range pills(body) {
			got += p.Key + "=" + p.Value + " "
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", body, got, want)
		}
	}
}
