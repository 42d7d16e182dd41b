package search_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"mayfly/engine/search"
)

// The cursor is at |. The text that a proposal replaces is between [ and ].
func TestPieces(t *testing.T) {
	for marked, want := range map[string]string{
		"|":                    "[] word ''",
		"st|":                  "[st] word 'st'",
		"x -st|a y":            "x -[sta] y word 'st'",
		"-|":                   "-[] word ''",
		"a | b":                "a [] b word ''",
		"sta|te:dead":          "[state:]dead word 'sta'",
		"state:|":              "state:[] state 'active'…",
		"x state:de|ad y":      "x state:[dead] y state 'de'",
		"-STATE:active,de|":    "-STATE:active,[de] state 'de'",
		"state:|a,dead":        "state:[a],dead state ''",
		"age:>5|m":             "age:>[5m] age '5'",
		"age:|":                "age:[] age ''",
		"prop.region:e|":       "prop.region:[e] prop. region 'e'",
		`prop."a b":"c d|`:     `prop."a b":["c d] prop. a b 'c d'`,
		`prop."a b":"c d|e" x`: `prop."a b":["c de"] x prop. a b 'c d'`,
		`prop."a:b|`:           `[prop."a:b] word 'prop."a:b'`,
		`prop."a| b":x`:        `[prop."a b":]x word 'prop."a'`,
		`json.a[0]."x.y":|`:    `json.a[0]."x.y":[] json. a[0]."x.y" ''`,
		"json[*].x:1|":         "json[*].x:[1] json. [*].x '1'",
		`"a phr|ase`:           "no",
		`"a phrase" s|`:        `"a phrase" [s] word 's'`,
		"nothing:x|":           "no",
		"é sü|":                "é [sü] word 'sü'",
		`subject:"a \" b|`:     `subject:["a \" b] subject 'a " b'`,
		"é in:ö|":              "é in:[ö] in 'ö'",
		`in:"a"|`:              `in:["a"] in 'a'`,
	} {
		cursor := utf8.RuneCountInString(marked[:strings.IndexByte(marked, '|')])
		text := strings.Replace(marked, "|", "", 1)
		p, ok := search.PieceAt(text, cursor)
		got := "no"
		if ok {
			r := []rune(text)
			got = string(r[:p.From]) + "[" + string(r[p.From:p.To]) + "]" + string(r[p.To:]) + " "
			switch {
			case p.Key == "":
				got += "word"
			case p.Name != "":
				got += p.Key + " " + p.Name
			default:
				got += p.Key
			}
			got += " '" + p.Typed + "'"
		}
		want = strings.Replace(want, "'active'…", "''", 1)
		if got != want {
			t.Errorf("%s: got %s, want %s", marked, got, want)
		}
	}
}

func TestPieceValues(t *testing.T) {
	for text, want := range map[string][]string{
		"state:": search.States(), "age:": {"<1m", "<5m", "<1h", "<1d", ">5m", ">1h", ">1d"}, "age:>": {"5m", "1h", "1d"}, "ttl:<=": {"1m", "5m", "1h"}, "seq:>1": {"0", "10", "100", "1000"},
		"subject:": nil, "subject:<": nil, "prop.x:>": nil,
	} {
		if p, ok := search.PieceAt(text, 99); !ok || !slices.Equal(p.Values, want) {
			t.Errorf("%s proposes %v, want %v", text, p.Values, want)
		}
	}
	p, ok := search.EntityPieceAt("x has:d", 7)
	if !ok || p.Key != "has" || p.Typed != "d" || !slices.Contains(p.Values, "dlq") {
		t.Errorf("got %+v", p)
	}
	if _, ok := search.EntityPieceAt("body:x", 6); ok {
		t.Error("entities have no body")
	}
	for key, of := range map[string]func(string, int) (search.Piece, bool){"state": search.PieceAt, "has": search.EntityPieceAt} {
		for _, v := range func() []string { p, _ := of(key+":", 99); return p.Values }() {
			text := key + ":" + v
			_, err := search.Parse(text)
			if key == "has" {
				_, err = search.ParseEntities(text)
			}
			if err != nil {
				t.Errorf("%s is proposed: %v", text, err)
			}
		}
	}
}

func TestJSONPath(t *testing.T) {
	for want, path := range map[string][]string{
		"a.b":          {"a", "b"},
		`a."b.c"."".x`: {"a", "b.c", "", "x"},
		"[*].a[*][*]":  {search.AnyElement, "a", search.AnyElement, search.AnyElement},
		`"*"."a b"`:    {"*", "a b"},
	} {
		if got := search.JSONPath(path); got != want {
			t.Errorf("%q is written %s, want %s", path, got, want)
		}
		dot := "."
		if path[0] == search.AnyElement {
			dot = ""
		}
		if got := parsed(t, "json"+dot+want+":1").String(); got != "json"+dot+want+":1" {
			t.Errorf("%s reads back as %s", want, got)
		}
	}
}

// FuzzPieces checks that, wherever the cursor is, a proposal replaces a valid range of the text.
func FuzzPieces(f *testing.F) {
	for _, text := range []string{`-prop."a b":"c d",>5 state:de json[*].x:"\"`, "has:dlq -expiring:<5m,", "é:ü \xff"} {
		f.Add(text, 7)
	}
	f.Fuzz(func(t *testing.T, text string, cursor int) {
		for _, of := range []func(string, int) (search.Piece, bool){search.PieceAt, search.EntityPieceAt} {
			p, ok := of(text, cursor)
			if ok && (p.From < 0 || p.From > p.To || p.To > utf8.RuneCountInString(text)) {
				t.Errorf("%q at %d: %+v", text, cursor, p)
			}
			if ok && cursor >= 0 && cursor <= utf8.RuneCountInString(text) && (cursor < p.From || cursor > p.To) && p.Key == "" {
				t.Errorf("%q: the cursor at %d is not in %+v", text, cursor, p)
			}
		}
	})
}
