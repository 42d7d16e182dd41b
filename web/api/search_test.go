package api

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"mayfly/engine/broker"
)

// searched returns the message ids that a search finds, and its last line.
func (w *world) searched(q string) (ids []string, end Finished) {
	w.Helper()
	got, text := w.ask("GET", "/search?"+q, "")
	if got.StatusCode != 200 || got.Header.Get("Content-Type") != "application/x-ndjson" {
		w.Fatalf("%s: %d %s", q, got.StatusCode, text)
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range all {
		var l struct {
			Hit      *Message
			Progress *Scanned
			End      *Finished
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			w.Fatalf("%v in %s", err, line)
		}
		switch {
		case l.Hit != nil:
			ids = append(ids, l.Hit.MessageID)
		case l.End != nil && i == len(all)-1:
			return ids, *l.End
		case l.Progress == nil || l.Progress.Hits != int64(len(ids)):
			w.Errorf("%s: after %d hits: %s", q, len(ids), line)
		}
	}
	w.Fatalf("%s has no last line", q)
	return nil, end
}

func TestSearch(t *testing.T) {
	w := start(t, broker.Options{})
	for _, name := range []string{"a", "b"} {
		w.want(201, "POST", "/entities", `{"kind":"queue","path":"`+name+`"}`, nil)
		var all []string
		for i := range 200 {
			all = append(all, fmt.Sprintf(`{"messageId":"%s-%d","body":"{\"n\":%d}","properties":{"odd":%v}}`, name, i, i, i%2 == 1))
		}
		w.want(201, "POST", "/send/"+name, "["+strings.Join(all, ",")+"]", nil)
	}
	for q, want := range map[string]struct {
		ids     []string
		scanned int64
	}{
		"q=json.n:<2":                 {[]string{"a-0", "a-1", "b-0", "b-1"}, 400},
		"q=json.n:<2&in=b":            {[]string{"b-0", "b-1"}, 200},
		"q=id:*-7+prop.odd:true&in=*": {[]string{"a-7", "b-7"}, 400},
		"q=state:dead":                {nil, 0},
		"q=id:a-5,b-5&limit=1":        {[]string{"a-5"}, 6},
		"q=id:a-5,b-5&cursor=7@a":     {[]string{"b-5"}, 394},
		"q=id:a-5,b-5&cursor=1@aa":    {[]string{"b-5"}, 200},
		"q=seq:1&in=b&cursor=2@b":     {nil, 199},
		"q=&in=a&limit=2":             {[]string{"a-0", "a-1"}, 2},
		"q=in:a+seq:1&in=b":           {nil, 0},
		"q=%22%5C%22n%5C%22:3%7D%22":  {[]string{"a-3", "b-3"}, 400},
	} {
		ids, end := w.searched(q)
		if !slices.Equal(ids, want.ids) || end.Scanned.Scanned != want.scanned || end.Hits != int64(len(ids)) {
			t.Errorf("%s: %q, %+v", q, ids, end)
		}
		if cut := strings.Contains(q, "limit="); (end.Next != "") != cut { // a complete search has no next
			t.Errorf("%s: it continues from %q", q, end.Next)
		}
	}
	// Portions together are complete, and the last has no next.
	var ids []string
	for q := "q=prop.odd:true&limit=30"; ; {
		some, end := w.searched(q)
		if ids = append(ids, some...); end.Next == "" || len(ids) > 400 {
			break
		}
		q = "q=prop.odd:true&limit=30&cursor=" + url.QueryEscape(end.Next)
	}
	if len(ids) != 200 || !slices.IsSortedFunc(ids, func(a, b string) int { return strings.Compare(a[:1], b[:1]) }) {
		t.Errorf("%d hits in batches: %q", len(ids), ids)
	}
}

func TestSearchRefused(t *testing.T) {
	w := start(t, broker.Options{})
	for q, want := range map[string]string{
		"":                                "the search query, is missing",
		"?q=foo:bar":                      `The key "foo" does not exist`,
		"?q=x&limit=0":                    "whole number from 1",
		"?q=x&limit=10001":                "whole number from 1",
		"?q=x&cursor=nowhere":             "not a valid continuation of a search",
		"?q=x&cursor=0@a":                 "not a valid continuation of a search",
		"?q=x&q=y":                        "2 times",
		"?q=x&bogus=1":                    "nown query parameter",
		"?q=x+state:asleep":               "is not a value of state",
		"?q=" + strings.Repeat("x", 2001): "longer than 2,000 bytes",
	} {
		var p Problem
		w.want(400, "GET", "/search"+q, "", &p)
		if !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %s", q, p.Detail)
		}
		if at := map[string]int{"?q=foo:bar": 0, "?q=x+state:asleep": 8}; p.Position != nil {
			if n, ok := at[q]; ok && (*p.Position != n || p.Part != "q") {
				t.Errorf("%s: %+v", q, p)
			}
		} else if _, ok := at[q]; ok {
			t.Errorf("%s has no position", q)
		}
	}
}
