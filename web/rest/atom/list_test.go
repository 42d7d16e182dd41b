package atom_test

import (
	"fmt"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// TestLists checks that a page of a list has at most a hundred entries, and a link to the next page
// if there is one.
func TestLists(t *testing.T) {
	w := start(t, broker.Options{}, nil)
	w.Want(201, "PUT", "/t", topic(""))
	for i := range 101 {
		for kind, p := range map[engine.EntityKind]string{engine.Queue: "q%03d", engine.Subscription: "t/Subscriptions/s%03d"} {
			w.broker.CreateEntity(kind, engine.Path(fmt.Sprintf(p, i)), engine.Config{})
		}
	}
	for _, list := range []string{"/$Resources/Queues", "/t/Subscriptions/"} {
		for query, want := range map[string]struct {
			entries int
			next    string // the query of the next page; empty if there is none
		}{
			"":                         {100, "?$skip=100&amp;$top=100"},
			"?$top=1000":               {100, "?$skip=100&amp;$top=100"},
			"?$skip=100":               {1, ""},
			"?$skip=1":                 {100, ""},
			"?%24Skip=50&%24TOP=50":    {50, "?$skip=100&amp;$top=50"},
			"?$skip=51&$top=50":        {50, ""},
			"?$skip=101":               {0, ""},
			"?$skip=2147483647":        {0, ""},
			"?$top=0":                  {0, ""},
			"?api-version=2021-05&a=b": {100, "?api-version=2021-05&amp;$skip=100&amp;$top=100"},
		} {
			a := w.Want(200, "GET", list+query, "")
			next := ""
			if want.next != "" {
				next = `<link rel="next" href="` + w.URL + list + want.next + `"/>`
			}
			if strings.Count(a.Body, "<entry>") != want.entries || !strings.Contains(a.Body, next) || strings.Contains(a.Body, `rel="next"`) != (next != "") ||
				a.Header.Get("Content-Type") != "application/atom+xml;type=feed;charset=utf-8" {
				t.Errorf("%s%s: %d entries, in %.500s", list, query, strings.Count(a.Body, "<entry>"), a.Body)
			}
		}
	}
}
