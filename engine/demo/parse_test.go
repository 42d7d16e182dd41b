package demo_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/demo"
)

// The faults of a scene are reported with their positions, and an invalid scene is not added.
func TestParseRefuses(t *testing.T) {
	scenes := func(steps string) string {
		return "title: t\nsummary: t\nentities: [{queue: q}]\nsteps:\n" + steps
	}
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":          {"title: t\nteeches: t\n", "line 2: The scene cannot be read: unknown field"},
		"twice":                {"title: t\ntitle: t\n", "line 2: "},
		"no YAML":              {"title: [", "cannot be read"},
		"aliases":              {"title: &a t\nsummary: *a\n", "line 1: A scene cannot have YAML anchors"},
		"depth":                {"title: " + strings.Repeat("[", 30_000), "nested too deeply"},
		"indent":               {"title:\n" + strings.Repeat(" ", 200) + "- a", "nested too deeply"},
		"not text":             {"title: \xff", "UTF-8"},
		"too long":             {"#" + strings.Repeat("x", demo.MaxBytes), "at most"},
		"nothing":              {"", "'title' must be a text"},
		"no steps":             {"title: t\nsummary: t\n", "no steps"},
		"no caption":           {scenes("- {page: /}"), "step 1: 'caption'"},
		"two things":           {scenes("- {caption: s, actions: [{wait: 1s, delete: q}]}"), "step 1, action 1: An action must have exactly one command"},
		"nothing done":         {scenes("- {caption: s, actions: [{}]}"), "step 1, action 1: An action must have exactly one command"},
		"no such message":      {scenes("- {caption: s, actions: [{complete: a}]}"), "The message 'a' has not been named"},
		"nor to fetch":         {scenes("- {caption: s, actions: [{receiveDeferred: {from: q, message: a}}]}"), "The message 'a' has not been named"},
		"a wait":               {scenes("- {caption: s, actions: [{wait: soon}]}"), "'wait' must be a duration"},
		"a long wait":          {scenes("- {caption: s, actions: [{wait: 1000d}]}"), "'wait' must be a duration"},
		"a time to live":       {scenes("- {caption: s, actions: [{send: {to: q, timeToLive: soon}}]}"), "timeToLive"},
		"too many":             {scenes("- {caption: s, actions: [{send: {to: q, repeat: 5000}}]}"), "at most 1000"},
		"a list as property":   {scenes("- {caption: s, actions: [{send: {to: q, properties: {a: [1]}}}]}"), "A property must be"},
		"no name":              {scenes("- {caption: s, actions: [{receive: {from: q}}]}"), "'as'"},
		"expects nothing":      {scenes("- {caption: s, expect: [{text: t}]}"), "step 1, expect 1: 'expect' needs"},
		"a state":              {scenes("- {caption: s, actions: [{send: {to: q, as: a}}], expect: [{text: t, message: a, state: dead}]}"), "not 'dead'"},
		"an address":           {scenes("- {caption: s, page: //evil.example}"), "'page' must be"},
		"an entity of no kind": {"title: t\nsummary: t\nentities: [{properties: {}}]\nsteps: [{caption: s}]", "entity 1: An entity must be"},
		"a property":           {"title: t\nsummary: t\nentities: [{queue: q, properties: {Colour: red}}]\nsteps: [{caption: s}]", "no property 'Colour'"},
		"its value":            {"title: t\nsummary: t\nentities: [{queue: q, properties: {AutoDeleteOnIdle: PT1S}}]\nsteps: [{caption: s}]", "entity 1: "},
		"its name":             {"title: t\nsummary: t\nentities: [{queue: 'q?'}]\nsteps: [{caption: s}]", "entity 1: "},
		"two scenes":           {"title: t\n---\ntitle: u\n", "line 3: A file must contain exactly one scene"},
		"a rule":               {"title: t\nsummary: t\nentities: [{topic: t}, {subscription: t/Subscriptions/s, rules: [{name: r, sql: 'a ='}]}]\nsteps: [{caption: s}]", "line 3, entity 2: "},
		"no topic":             {"title: t\nsummary: t\nentities: [{subscription: t/Subscriptions/s}]\nsteps: [{caption: s}]", "The entity 't' has not been created"},
		"sends nowhere":        {scenes("- {caption: s, actions: [{send: {to: qq}}]}"), "line 5, step 1, action 1: The entity 'qq' has not been created"},
		"takes nowhere":        {scenes("- {caption: s, actions: [{receive: {from: qq/$DeadLetterQueue, none: true}}]}"), "The entity 'qq' has not been created"},
		"highlights nothing":   {scenes("- caption: s\n  highlight:\n    - q\n    - no-such-thing"), "line 8, step 1, highlight 2: 'highlight' must name a message or an entity from this or an earlier step, not 'no-such-thing'"},
		"highlights too early": {scenes("- {caption: s, highlight: [a]}\n- {caption: s, actions: [{send: {to: q, as: a}}]}"), "line 5, step 1, highlight 1: "},
		"highlights a part":    {scenes("- {caption: s, highlight: [q/Subscriptions/s]}"), "step 1, highlight 1: "},
		"looks nowhere":        {scenes("- {caption: s, expect: [{text: t, entity: qq, active: 1}]}"), "The entity 'qq' has not been created"},
	} {
		_, err := demo.Parse("x", []byte(tc.text))
		if !errors.Is(err, engine.ErrArgument) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
}

// A step can name entities in any case, their dead-letter queues, and messages, including those
// of the step itself and each of several received ones.
func TestMarks(t *testing.T) {
	_, err := demo.Parse("x", []byte(`title: t
summary: t
entities: [{queue: Orders}, {topic: prices}, {subscription: prices/Subscriptions/eu}]
steps:
  - {caption: s, highlight: [orders, prices, prices/subscriptions/EU, orders/$DeadLetterQueue, later, a order, r1, r2], actions: [{create: {queue: later}}, {send: {to: Orders, as: a order}}, {send: {to: Orders}}, {receive: {from: Orders, as: r, count: 2}}]}
  - {caption: s, actions: [{complete: r1}, {delete: later}], highlight: [r1, later]}
`))
	if err != nil {
		t.Error(err)
	}
}

// All faults are reported at once, each with its line.
func TestParseTellsLines(t *testing.T) {
	_, err := demo.Parse("x", []byte(`title: t
summary:
minutes: -1
entities:
  - queue: q
    properties: {Colour: red}
steps:
  - caption: one
    page: q
    actions:
      - send: {to: q, as: a, body: x}
      - send: {to: qq}
      - wait: soon
  - actions:
      - complete: b
    expect:
      - {text: t, entity: q, active: 1}
      - text: t
        message: c
`))
	want := []string{"2 ", "3 ", "6 entity 1", "9 step 1", "12 step 1, action 2", "13 step 1, action 3", "14 step 2", "15 step 2, action 1", "18 step 2, expect 2"}
	e, ok := errors.AsType[*demo.SceneError](err)
	if !ok {
		t.Fatalf("it is %v", err)
	}
	var got []string
	for _, f := range e.Problems {
		got = append(got, fmt.Sprint(f.Line, " ", f.At))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%v", diff, err)
	}
	steps := strings.Repeat("  - caption: \n", 50)
	if _, err := demo.Parse("x", []byte("title: \nsummary: \nsteps:\n"+steps)); len(strings.Split(err.Error(), "\n")) != 50 {
		t.Errorf("of many: %v", err)
	}
}

// A library loads all scenes of a folder or, if one is invalid, none. Scenes that are built in or
// loaded can be neither replaced nor removed, but added ones can.
func TestLibrary(t *testing.T) {
	lib, err := demo.Open()
	if err != nil {
		t.Fatal(err)
	}
	own := len(lib.List())
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	if err := lib.Load(fstest.MapFS{"a.yaml": file(three), "b.yaml": file("title: x")}); !errors.Is(err, engine.ErrArgument) || !strings.Contains(err.Error(), "b.yaml: ") || len(lib.List()) != own {
		t.Errorf("one of two scenes is invalid: %v, and there are %d", err, len(lib.List())-own)
	}
	if err := lib.Load(fstest.MapFS{"c.txt": file(three)}); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := lib.Load(fstest.MapFS{"02-a.yaml": file(three), "01-b.yaml": file(three)}); err != nil || lib.List()[own].ID != "b" || lib.List()[own+1].ID != "a" {
		t.Errorf("two: %v", err)
	}
	if err := lib.Load(fstest.MapFS{"01-c.yaml": file(three), "02-c.yaml": file(three)}); !errors.Is(err, engine.ErrExists) || !strings.Contains(err.Error(), "02-c.yaml: ") || len(lib.List()) != own+2 {
		t.Errorf("two scenes with one id: %v", err)
	}
	if err := lib.Load(fstest.MapFS{"c.yaml": file(three), "deadline.yaml": file(three)}); !errors.Is(err, engine.ErrExists) || len(lib.List()) != own+2 {
		t.Errorf("a scene with the id of a built-in one: %v", err)
	}
	if _, err := lib.Add("c", []byte(three)); err != nil {
		t.Error(err)
	}
	if s, err := lib.Add("c", []byte(strings.Replace(three, "Three", "3", 1))); err != nil || s.Title != "3 steps" || !s.Added || len(lib.List()) != own+3 {
		t.Errorf("a scene in place of another: %v", err)
	}
	for id, want := range map[string]error{"deadline": engine.ErrExists, "a": engine.ErrExists, "A b": engine.ErrArgument, "": engine.ErrArgument, strings.Repeat("x", 41): engine.ErrArgument} {
		if _, err := lib.Add(id, []byte(three)); !errors.Is(err, want) {
			t.Errorf("%q: %v", id, err)
		}
	}
	for id, want := range map[string]error{"deadline": engine.ErrNotAllowed, "a": engine.ErrNotAllowed, "none": demo.ErrNoScene, "c": nil} {
		if err := lib.Remove(id); !errors.Is(err, want) {
			t.Errorf("remove %q: %v", id, err)
		}
	}
	if _, err := lib.Find("c"); !errors.Is(err, demo.ErrNoScene) {
		t.Errorf("it was removed: %v", err)
	}
	for n := len(lib.List()); n < 200; n++ {
		if _, err := lib.Add(fmt.Sprint("s", n), []byte(three)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := lib.Add("c", []byte(three)); !errors.Is(err, engine.ErrQuota) {
		t.Errorf("one too many: %v", err)
	}
}

// FuzzParse checks that any text is either parsed or refused with engine.ErrArgument.
func FuzzParse(f *testing.F) {
	f.Add(three)
	f.Add("a: {b: [c, {d: e}]}\n- - - x\n? y\n: |\n  z")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := demo.Parse("x", []byte(text))
		if (s == nil) == (err == nil) || err != nil && !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
