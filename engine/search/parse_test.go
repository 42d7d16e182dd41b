package search_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/search"
)

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		"  a   b ":                     "a b",
		"SUBJECT:x,y":                  "subject:x,y",
		`Prop.Region:EU`:               "prop.Region:EU",
		`prop."region":eu`:             "prop.region:eu",
		`prop."a b":"c d",e`:           `prop."a b":"c d",e`,
		`prop."*":x`:                   `prop."*":x`,
		`JSON."a"[0]."b.c".*[*]:>=5`:   `json.a[0]."b.c".*[*]:>=5`,
		"json[0].x:1":                  "json[0].x:1",
		`"a \"b\" \\" -"c"`:            `"a \"b\" \\" -"c"`,
		"age:>5m -state:ACTIVE":        "age:>5m -state:ACTIVE",
		"":                             "",
		"-Reply-To:x":                  "-reply-to:x",
		`subject:""`:                   `subject:""`,
		"a,b":                          "a,b",
		`json."":x`:                    `json."":x`,
		"delivery:>=3,1":               "delivery:>=3,1",
		"\u00a0a\u2003b\t":             "a b",
		`body:"order 17" id:*`:         `body:"order 17" id:*`,
		`json."*":1`:                   `json."*":1`,
		`subject:"a,b",c`:              `subject:"a,b",c`,
		`prop.price:<=10.50,>2e3,">x"`: `prop.price:<=10.50,>2e3,">x"`,
	} {
		if got := parsed(t, text).String(); got != want {
			t.Errorf("%s is written %s, not %s", text, got, want)
		}
	}
	q := parsed(t, "a -state:dead json.x:1")
	if d := cmp.Diff([]string{"a", "-state:dead", "json.x:1"}, q.Terms()); d != "" {
		t.Error(d)
	}
	if got := q.Without(1).String(); got != "a json.x:1" || q.String() != "a -state:dead json.x:1" {
		t.Errorf("without one: %s; before: %s", got, q)
	}
}

func TestErrors(t *testing.T) {
	for text, want := range map[string]struct {
		pos int
		say string
	}{
		"x foo:bar":                      {2, `The key "foo" does not exist`},
		`é "open`:                        {2, "A quote is not closed"},
		"a - b":                          {2, "A minus must precede"},
		`""`:                             {0, "The quotes are empty"},
		`"a"b`:                           {3, "A space must follow"},
		`a"b`:                            {1, "A word contains a quote"},
		`subject:a"b`:                    {9, "A value contains a quote"},
		`subject:"a"b`:                   {11, "a comma and another value"},
		"subject:":                       {8, "A value is missing"},
		"subject:a,":                     {10, "A value is missing"},
		"prop.x:>":                       {8, "A value is missing"},
		"age:5m":                         {4, "Use < or >"},
		"age:>never":                     {4, "never cannot be compared"},
		"ttl:<never":                     {4, "ttl:never"},
		"age:>soon":                      {4, "not a duration"},
		"state:gone":                     {6, "is not a value of state"},
		`state:"dead"`:                   {6, "without quotes"},
		"delivery:>=x":                   {9, "not a whole number"},
		`seq:"17"`:                       {4, "without quotes"},
		"size:>1XB":                      {5, "not a size"},
		"size:>1.5.5":                    {5, "not a size"},
		"size:>-1":                       {5, "not a size"},
		"size:9999999999GB":              {5, "not a size"},
		"enqueued:>today":                {9, "not a time"},
		"prop.x:>*":                      {7, "* cannot be compared"},
		`prop.a"b":c`:                    {6, "The name of a property contains a quote"},
		`prop."":c`:                      {5, "name of a property"},
		`prop."a"b:c`:                    {5, "name of a property"},
		"prop.:x":                        {0, "does not exist"},
		"json.a..b:1":                    {7, "A name is missing"},
		"json.a.:1":                      {5, "Write a path as"},
		"json.a.[0]:1":                   {5, "Write a path as"},
		"json.a[x]:1":                    {6, "the number of an element"},
		"json.a[0:1":                     {6, "A bracket is not closed"},
		`json."a"b:1`:                    {8, "by a period"},
		strings.Repeat("a ", 51):         {100, "at most 50 terms"},
		"id:" + strings.Repeat("a,", 60): {103, "at most 50 values"},
		strings.Repeat("a", 2001):        {2000, "longer than 2,000 bytes"},
		"json" + strings.Repeat("[0]", 33) + ":1": {100, "at most 32 parts"},
	} {
		q, err := search.Parse(text)
		var e *search.Error
		if !errors.As(err, &e) || !errors.Is(err, engine.ErrArgument) || q != nil {
			t.Errorf("%s: %v, %v", text, q, err)
			continue
		}
		if e.Pos != want.pos || !strings.Contains(e.Text, want.say) {
			t.Errorf("%s: at %d: %s", text, e.Pos, e.Text)
		}
	}
}

// Every proposed key can be typed as in its example.
func TestKeys(t *testing.T) {
	for _, k := range search.Keys() {
		if q := parsed(t, k.Example); q.String() != k.Example || !strings.HasPrefix(k.Example, strings.TrimSuffix(k.Name, ".")) {
			t.Errorf("%+v is written %s", k, q)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{
		`body:"order 17" json.customer.id:42 prop.region:eu state:deferred age:>5m ttl:<1m delivery:>=3 reason:TTLExpired* session:abc -subject:heartbeat`,
		`-"a \" b" json."a.b"[*].*[7]:>=1e5,"x",*`, `prop."x y":2026-07-14,<90s,-0.0 prop.*:null`, "size:<1.5MB,12 seq:>1 enqueued:<2026-07-14T10:00:05.5Z", "in:a*b,c ttl:never due:<1h",
	} {
		f.Add(text, `{"a.b":[0,1,{"x":"y"}],"customer":{"id":42}}`)
	}
	f.Fuzz(func(t *testing.T, text, body string) {
		q, err := search.Parse(text)
		if err != nil {
			var e *search.Error
			if !errors.As(err, &e) || e.Pos < 0 || e.Pos > utf8.RuneCountInString(text) || e.Text == "" {
				t.Errorf("%q: %#v", text, err)
			}
			return
		}
		again, err := search.Parse(q.String())
		if len(q.String()) > 2000 {
			return // quoting has made it longer than the maximum
		}
		if err != nil || again.String() != q.String() {
			t.Fatalf("%q is formatted as %q, which is parsed as %v, %v", text, q, again, err)
		}
		for _, m := range []message{with(body), with(body, dead(engine.Extra{Reason: "TTLExpiredException"}))} {
			found := q.MatchBody(m.row, now, []byte(m.body))
			if r := q.Match(m.row, now); r != search.NeedBody && (r == search.Yes) != found {
				t.Errorf("%q: by the row %v, with its body %v", text, r, found)
			}
			if found && !q.Covers(m.row.Path) {
				t.Errorf("%q does not cover %s, where it finds messages", text, m.row.Path)
			}
			if again.MatchBody(m.row, now, []byte(m.body)) != found {
				t.Errorf("%q and %q do not find the same messages", text, again)
			}
			all := true
			for _, term := range q.Terms() {
				one, err := search.Parse(term)
				if err != nil {
					t.Fatalf("%q: its term %q: %v", text, term, err)
				}
				all = all && one.MatchBody(m.row, now, []byte(m.body))
			}
			if all != found {
				t.Errorf("%q matches: %v; all its terms match: %v", text, found, all)
			}
		}
	})
}

// FuzzJSON checks that the value at a path is the one that encoding/json finds there.
func FuzzJSON(f *testing.F) {
	for _, doc := range []string{`{"a":[{"b":"c"},{"b":1}],"":{"b":null}}`, ` [ 1 , "x\"]" , {} , [ ] ] `, `"text"`, `{"b":{"a":[[[0]]]}}`, `{"a":{"b":"\\"}}`} {
		f.Add(doc)
	}
	f.Fuzz(func(t *testing.T, doc string) {
		var v any
		if json.Unmarshal([]byte(doc), &v) != nil || len(doc) > search.MaxBody {
			return
		}
		if twice(doc) {
			return // encoding/json keeps the last value of a name, whereas a search examines each
		}
		a := func(v any) any {
			m, _ := v.(map[string]any)
			return m["a"]
		}
		element := func(v any, i int) any {
			if l, _ := v.([]any); i < len(l) {
				return l[i]
			}
			return nil
		}
		for path, there := range map[string]any{"json.a": a(v), "json[0]": element(v, 0), "json[2].a": a(element(v, 2)), "json.a.a": a(a(v)), "json.a[1]": element(a(v), 1), "json[1][1]": element(element(v, 1), 1)} {
			m := with(doc)
			if there == nil {
				if matches(parsed(t, path+":* -"+path+":null"), m) {
					t.Errorf("%q has no value at %s, but one is found", doc, path)
				}
				continue
			}
			if !matches(parsed(t, path+":*"), m) {
				t.Errorf("%q: no value is found at %s", doc, path)
			}
			if s, ok := there.(string); ok && s == strings.ToValidUTF8(s, "") && len(s) < 100 && !strings.ContainsRune(s, utf8.RuneError) {
				quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s)
				if !matches(parsed(t, path+`:"`+quoted+`"`), m) {
					t.Errorf("%q: %q is not found at %s", doc, s, path)
				}
			}
		}
	})
}

// twice reports whether one object in doc contains a name twice.
func twice(doc string) bool {
	d := json.NewDecoder(strings.NewReader(doc))
	var seen []map[string]bool
	var object, name []bool
	for {
		tok, err := d.Token()
		if err != nil {
			return false
		}
		top := len(object) - 1
		switch v := tok.(type) {
		case json.Delim:
			switch v {
			case '{', '[':
				if top >= 0 {
					name[top] = true
				}
				object, name, seen = append(object, v == '{'), append(name, true), append(seen, map[string]bool{})
			default:
				object, name, seen = object[:top], name[:top], seen[:top]
			}
			continue
		case string:
			if top >= 0 && object[top] && name[top] {
				if seen[top][v] {
					return true
				}
				seen[top][v], name[top] = true, false
				continue
			}
		}
		if top >= 0 {
			name[top] = true
		}
	}
}
