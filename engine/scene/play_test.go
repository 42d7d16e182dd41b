package scene_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/fleet"
	"mayfly/engine/scene"
)

const three = `
title: Three steps
teaches: Nothing much.
entities: [{queue: q, with: {DeadLetteringOnMessageExpiration: true}}]
steps:
  - {say: one, look: /q/q, mark: [a], do: [{send: {to: q, as: a, body: x, ttl: 1m}}], then: [{text: it is there, entity: q, active: 1}]}
  - {say: two, do: [{wait: 30s}], then: [{text: it still is, message: a, state: active}]}
  - {say: three, look: /, do: [{wait: 30s}], then: [{text: it is dead, message: a, in: q/$DeadLetterQueue}]}
`

// Back plays all but the last step again, in a fresh namespace of the same name;
// Reset goes to the beginning.
func TestBackAndReset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		p := w.add(three)
		for n := range 3 {
			w.must(p.Next(t.Context(), n, scene.AtOnce, "me"))
		}
		former, name := w.broker(p), p.Name()
		if is := p.State(); is.Look() != "/" || is.Step().Say != "three" || is.Keys["a"] == 0 {
			t.Errorf("in the end: %+v", is)
		}
		w.must(p.Back(t.Context(), 3, "me"))
		is := p.State()
		if is.Done != 2 || is.Namespace != name || is.Look() != "/q/q" || !is.Findings[0].OK {
			t.Errorf("a step back: %+v", is)
		}
		if b := w.broker(p); b == former || w.Find(name) != p {
			t.Error("it is played on where it was")
		}
		w.must(p.Next(t.Context(), 2, scene.AtOnce, "me"))
		if is := p.State(); !is.Findings[0].OK || !is.Over() {
			t.Errorf("on again: %+v", is)
		}
		if err := p.Back(t.Context(), 2, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("back from elsewhere: %v", err)
		}
		w.must(p.Reset(t.Context(), "me"))
		if is := p.State(); is.Done != 0 || is.Findings != nil || is.Step() != nil || is.Look() != "/q/q" {
			t.Errorf("at the beginning: %+v", is)
		}
		w.must(p.Back(t.Context(), 0, "me"))
		if is := p.State(); is.Done != 0 {
			t.Errorf("before the beginning: %+v", is)
		}
	})
}

// Who asks twice for the next step gets it once, and nobody gets one beside one
// that is played.
func TestNextOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		p := w.add(three)
		w.must(p.Next(t.Context(), 0, scene.AtOnce, "me"))
		if err := p.Next(t.Context(), 0, scene.AtOnce, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("once more: %v", err)
		}
		w.must(p.Next(t.Context(), 1, scene.Gliding, "me"))
		if is := p.State(); !is.Playing || is.Done != 2 {
			t.Errorf("while it is played: %+v", is)
		}
		if err := p.Next(t.Context(), 2, scene.Gliding, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("beside: %v", err)
		}
		if _, err := p.Leap(t.Context(), scene.Expiry, "me"); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("leap beside: %v", err)
		}
		time.Sleep(time.Second)
		began := time.Now()
		w.must(p.Reset(t.Context(), "me")) // on the way
		if took := time.Since(began); took > 0 {
			t.Errorf("a reset waits for what is played: %v", took)
		}
		if is := p.State(); is.Playing || is.Done != 0 || is.Trouble != nil {
			t.Errorf("after a reset: %+v", is)
		}
		time.Sleep(time.Minute)
		if is := p.State(); is.Done != 0 || is.Trouble != nil {
			t.Errorf("what was under way came after: %+v", is)
		}
	})
}

// The clock of a play is turned by whoever watches, and leaps to what comes next.
func TestTimeMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		p := w.add(`
title: All that comes
teaches: Nothing much.
entities: [{queue: q, with: {LockDuration: PT45S}}, {queue: temp, with: {AutoDeleteOnIdle: PT10M}}]
steps:
  - say: one
    do:
      - send: {to: q, as: b, body: locked}
      - receive: {from: q, as: b}
      - send: {to: q, as: a, body: x, ttl: 1m}
      - send: {to: q, as: c, body: y, delay: 2m, ttl: 9m}
  - {say: two}
`)
		w.must(p.Next(t.Context(), 0, scene.AtOnce, "me"))
		began := p.State().Clock
		for _, want := range []struct {
			m  scene.Moment
			at time.Duration
		}{{scene.Unlock, 45 * time.Second}, {scene.AutoDelete, 10 * time.Minute}, {scene.Expiry, 11 * time.Minute}} {
			to, err := p.Leap(t.Context(), want.m, "me")
			if err != nil || to != began.Add(want.at) || p.State().Clock != to {
				t.Errorf("next %s is after %v, and it is %v later, not %v: %v", want.m, to.Sub(began), p.State().Clock.Sub(began), want.at, err)
			}
		}
		if to, err := p.Leap(t.Context(), scene.Unlock, "me"); to != 0 || err != nil {
			t.Errorf("nothing is locked: %v, %v", to, err)
		}
		events, _, err := w.broker(p).Events().After(t.Context(), 0)
		w.must(err)
		when := map[string]time.Duration{}
		for _, e := range events {
			switch e.Kind {
			case engine.EventExpired, engine.EventEntityAutoDeleted, engine.EventActivated, engine.EventLockLost:
				when[fmt.Sprint(e.Kind, " ", e.Path)] = e.At.Sub(began)
			}
		}
		if want := fmt.Sprint(map[string]time.Duration{"lock-lost q": 45 * time.Second, "activated q": 2 * time.Minute, "entity-auto-deleted temp": 10 * time.Minute, "expired q": 11 * time.Minute}); fmt.Sprint(when) != want {
			t.Errorf("it happened at %v, not %v", when, want) // each at its own time, though the clock leapt
		}
		w.must(p.Turn(t.Context(), 60, "me"))
		before := p.State()
		time.Sleep(time.Minute)
		if after := p.State(); before.Pace != (broker.Pace{Rate: 60}) || after.Clock != before.Clock.Add(time.Hour) {
			t.Errorf("in a minute it went on by %v, at %+v", after.Clock.Sub(before.Clock), before.Pace)
		}
		if err := p.Turn(t.Context(), 3, "me"); !errors.Is(err, engine.ErrArgument) {
			t.Errorf("it runs at 3: %v", err)
		}
	})
}

// Only a namespace that goes by itself can have a clock that is turned.
func TestNoClockForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		_, err := w.fleet.Create(t.Context(), fleet.Spec{Name: "shop", Machine: broker.NewMachine()}, "me")
		if !errors.Is(err, engine.ErrArgument) {
			t.Errorf("a namespace that stays: %v", err)
		}
		_, err = w.fleet.Create(t.Context(), fleet.Spec{Name: "other", Temporary: true}, "me")
		w.must(err)
		for _, name := range []string{"default", "other", "none"} {
			if p := w.Find(name); p != nil {
				t.Errorf("%s has a play", name)
			}
			if _, err := w.Play(name); !errors.Is(err, scene.ErrNoPlay) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// A play that nobody looks at goes, with its namespace; one that is looked at
// stays.
func TestPlaysGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{Stay: 10 * time.Minute})
		p, q := w.begin("defer"), w.begin("defer")
		for range 4 {
			time.Sleep(4 * time.Minute)
			if w.Find(strings.ToUpper(q.Name())) != q {
				t.Fatal("it went")
			}
		}
		if _, _, err := w.fleet.Broker(p.Name()); !errors.Is(err, fleet.ErrNone) || w.Peek(p.Name()) != nil {
			t.Errorf("nobody looked, and it is there: %v", err)
		}
		_, err := w.fleet.Remove(t.Context(), q.Name(), "me") // behind their backs
		w.must(err)
		time.Sleep(2 * time.Minute)
		if w.Peek(q.Name()) != nil {
			t.Error("it has no namespace, and is there")
		}
		if err := q.Reset(t.Context(), "me"); !errors.Is(err, scene.ErrNoPlay) {
			t.Errorf("it begins again: %v", err)
		}
	})
}

// What is done to a message is done by who has received it.
func TestWhoHasIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		p := w.add(`
title: Anna
teaches: Who does what.
entities: [{queue: q}]
steps:
  - say: one
    do: [{send: {to: q, as: a, body: x}}, {receive: {from: q, by: Anna, as: a}}, {defer: a}, {fetch: {from: q, message: a}}, {complete: a}]
`)
		w.must(p.Next(t.Context(), 0, scene.AtOnce, "me"))
		var by []string
		for _, e := range w.broker(p).Events().Recent(100) {
			if e.Message.Seq == 1 && e.Kind != engine.EventSent {
				by = append(by, fmt.Sprint(e.Kind, " ", e.Actor))
			}
		}
		for _, who := range by {
			if !strings.HasSuffix(who, " Anna") {
				t.Errorf("it is told of %q", by)
			}
		}
		if len(by) < 4 {
			t.Errorf("it is told of %q", by)
		}
	})
}

// A play whose namespace is just being made anew is not one whose namespace is gone.
func TestResetIsNotTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &late{}
		w := open(t, scene.Options{Fleet: slow})
		p := w.add(three)
		slow.by = 3 * time.Minute
		w.must(p.Reset(t.Context(), "me"))
		synctest.Wait()
		if w.Peek(p.Name()) != p {
			t.Error("it was ended")
		}
	})
}

// A step is played to its end, whoever asked for it has left.
func TestWhoLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		p := w.add(three)
		gone, leave := context.WithCancel(t.Context())
		leave()
		w.must(p.Next(gone, 0, scene.AtOnce, "me"))
		if is := p.State(); is.Trouble != nil || len(is.Findings) != 1 || !is.Findings[0].OK {
			t.Errorf("%+v", is)
		}
	})
}

// A play that ends has its namespace go, also while a step is played.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		p := w.add(three)
		w.must(p.Next(t.Context(), 0, scene.AtOnce, "me"))
		w.must(p.Next(t.Context(), 1, scene.Gliding, "me"))
		w.must(w.End(t.Context(), p.Name(), "me"))
		if _, _, err := w.fleet.Broker(p.Name()); !errors.Is(err, fleet.ErrNone) || len(w.List()) != 0 {
			t.Errorf("it is there: %v", err)
		}
		if err := w.End(t.Context(), p.Name(), "me"); !errors.Is(err, scene.ErrNoPlay) {
			t.Errorf("once more: %v", err)
		}
	})
}

// Where there can be no more, the play that nobody has looked at for longest makes
// room, if that is a while.
func TestRoomForPlays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		first := w.begin("defer")
		time.Sleep(time.Second)
		for range fleet.DefaultMostTemporary - 1 {
			w.begin("defer")
		}
		if _, err := w.Begin(t.Context(), "defer", "me"); !errors.Is(err, engine.ErrQuota) {
			t.Errorf("one more: %v", err)
		}
		time.Sleep(6 * time.Minute)
		last := w.begin("defer")
		if w.Peek(first.Name()) != nil || w.Peek(last.Name()) != last {
			t.Error("the first has not made room")
		}
		if _, err := w.Begin(t.Context(), "none", "me"); !errors.Is(err, scene.ErrNone) {
			t.Errorf("no such scene: %v", err)
		}
	})
}

// What is not as a step says is told, and what a step cannot do ends the play.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, scene.Options{})
		p := w.add(`
title: It does not work
teaches: Nothing much.
entities: [{queue: q}, {queue: none}]
steps:
  - say: one
    do: [{delete: none}, {send: {to: q, as: a, body: x, properties: {k: 1}}}]
    then:
      - {text: t, entity: q, active: 2}
      - {text: t, entity: q, gone: true}
      - {text: t, entity: none}
      - {text: t, message: a, gone: true}
      - {text: t, message: a, state: locked}
      - {text: t, message: a, in: q/$DeadLetterQueue}
      - {text: t, message: a, deliveries: 1}
      - {text: t, message: a, body: y}
      - {text: t, message: a, reason: z}
      - {text: t, message: a, properties: {k: 2}}
      - {text: t, entity: q, active: 1, locked: 0, deferred: 0, scheduled: 0, deadLetters: 0}
      - {text: t, message: a, properties: {k: 1}, body: x, deliveries: 0, state: active, in: Q}
  - {say: two, do: [{receive: {from: q, none: true}}]}
  - {say: three}
`)
		w.must(p.Next(t.Context(), 0, scene.AtOnce, "me"))
		is := p.State()
		for i, f := range is.Findings {
			if f.OK != (i >= 10) || f.OK != (f.Is.String() == "") {
				t.Errorf("%d: %+v", i+1, f)
			}
		}
		if err := p.Next(t.Context(), 1, scene.AtOnce, "me"); !errors.Is(err, engine.ErrArgument) || !strings.Contains(p.State().Trouble.Error(), "step 2: 'q' was to have nothing") {
			t.Errorf("%v", err)
		}
		if err := p.Next(t.Context(), 2, scene.AtOnce, "me"); !errors.Is(err, engine.ErrChanged) || !p.State().Over() {
			t.Errorf("after that: %v", err)
		}
		w.must(p.Reset(t.Context(), "me"))
		if p.State().Trouble != nil {
			t.Error("the trouble outlasts it")
		}
	})
}

// What is wrong with a scene is told by where it is, and nothing is kept of it.
func TestParseRefuses(t *testing.T) {
	scenes := func(steps string) string {
		return "title: t\nteaches: t\nentities: [{queue: q}]\nsteps:\n" + steps
	}
	for name, tc := range map[string]struct{ text, want string }{
		"unknown key":          {"title: t\nteeches: t\n", "line 2: It cannot be read: unknown field"},
		"twice":                {"title: t\ntitle: t\n", "line 2: "},
		"no YAML":              {"title: [", "cannot be read"},
		"aliases":              {"title: &a t\nteaches: *a\n", "line 1: A scene has no anchors"},
		"depth":                {"title: " + strings.Repeat("[", 30_000), "nested too deeply"},
		"indent":               {"title:\n" + strings.Repeat(" ", 200) + "- a", "nested too deeply"},
		"not text":             {"title: \xff", "UTF-8"},
		"too long":             {"#" + strings.Repeat("x", scene.MostBytes), "at most"},
		"nothing":              {"", "'title' is a text"},
		"no steps":             {"title: t\nteaches: t\n", "no steps"},
		"no caption":           {scenes("- {look: /}"), "step 1: 'say'"},
		"two things":           {scenes("- {say: s, do: [{wait: 1s, delete: q}]}"), "step 1, do 1: An action does one thing"},
		"nothing done":         {scenes("- {say: s, do: [{}]}"), "step 1, do 1: An action does one thing"},
		"no such message":      {scenes("- {say: s, do: [{complete: a}]}"), "No message is called 'a'"},
		"nor to fetch":         {scenes("- {say: s, do: [{fetch: {from: q, message: a}}]}"), "No message is called 'a'"},
		"a wait":               {scenes("- {say: s, do: [{wait: soon}]}"), "'wait' is a duration"},
		"a long wait":          {scenes("- {say: s, do: [{wait: 1000d}]}"), "'wait' is a duration"},
		"a time to live":       {scenes("- {say: s, do: [{send: {to: q, ttl: soon}}]}"), "timeToLive"},
		"too many":             {scenes("- {say: s, do: [{send: {to: q, times: 5000}}]}"), "up to 1000"},
		"a list as property":   {scenes("- {say: s, do: [{send: {to: q, properties: {a: [1]}}}]}"), "A property is"},
		"no name":              {scenes("- {say: s, do: [{receive: {from: q}}]}"), "'as'"},
		"expects nothing":      {scenes("- {say: s, then: [{text: t}]}"), "step 1, then 1: What is expected"},
		"a state":              {scenes("- {say: s, do: [{send: {to: q, as: a}}], then: [{text: t, message: a, state: dead}]}"), "not 'dead'"},
		"an address":           {scenes("- {say: s, look: //evil.example}"), "'look' is"},
		"an entity of no kind": {"title: t\nteaches: t\nentities: [{with: {}}]\nsteps: [{say: s}]", "entity 1: An entity is"},
		"a property":           {"title: t\nteaches: t\nentities: [{queue: q, with: {Colour: red}}]\nsteps: [{say: s}]", "no property 'Colour'"},
		"its value":            {"title: t\nteaches: t\nentities: [{queue: q, with: {AutoDeleteOnIdle: PT1S}}]\nsteps: [{say: s}]", "entity 1: "},
		"its name":             {"title: t\nteaches: t\nentities: [{queue: 'q?'}]\nsteps: [{say: s}]", "entity 1: "},
		"two scenes":           {"title: t\n---\ntitle: u\n", "line 3: A file has one"},
		"a rule":               {"title: t\nteaches: t\nentities: [{topic: t}, {subscription: t/Subscriptions/s, rules: [{name: r, sql: 'a ='}]}]\nsteps: [{say: s}]", "line 3, entity 2: "},
		"no topic":             {"title: t\nteaches: t\nentities: [{subscription: t/Subscriptions/s}]\nsteps: [{say: s}]", "no entity 't'"},
		"sends nowhere":        {scenes("- {say: s, do: [{send: {to: qq}}]}"), "line 5, step 1, do 1: The scene has made no entity 'qq'"},
		"takes nowhere":        {scenes("- {say: s, do: [{receive: {from: qq/$DeadLetterQueue, none: true}}]}"), "no entity 'qq'"},
		"looks nowhere":        {scenes("- {say: s, then: [{text: t, entity: qq, active: 1}]}"), "no entity 'qq'"},
	} {
		_, err := scene.Parse("x", []byte(tc.text))
		if !errors.Is(err, engine.ErrArgument) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
}

// All that is wrong is told at once, each by its line.
func TestParseTellsLines(t *testing.T) {
	_, err := scene.Parse("x", []byte(`title: t
teaches:
minutes: -1
entities:
  - queue: q
    with: {Colour: red}
steps:
  - say: one
    look: q
    do:
      - send: {to: q, as: a, body: x}
      - send: {to: qq}
      - wait: soon
  - do:
      - complete: b
    then:
      - {text: t, entity: q, active: 1}
      - text: t
        message: c
`))
	want := []string{"2 ", "3 ", "6 entity 1", "9 step 1", "12 step 1, do 2", "13 step 1, do 3", "14 step 2", "15 step 2, do 1", "18 step 2, then 2"}
	e, ok := errors.AsType[*scene.WrongError](err)
	if !ok {
		t.Fatalf("it is %v", err)
	}
	var got []string
	for _, f := range e.Faults {
		got = append(got, fmt.Sprint(f.Line, " ", f.At))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n%v", diff, err)
	}
	steps := strings.Repeat("  - say: \n", 50)
	if _, err := scene.Parse("x", []byte("title: \nteaches: \nsteps:\n"+steps)); len(strings.Split(err.Error(), "\n")) != 50 {
		t.Errorf("of many: %v", err)
	}
}

// A library takes in what is written as it should be, and keeps its own.
func TestLibrary(t *testing.T) {
	lib, err := scene.Open()
	if err != nil {
		t.Fatal(err)
	}
	own := len(lib.List())
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	if err := lib.Load(fstest.MapFS{"a.yaml": file(three), "b.yaml": file("title: x")}); !errors.Is(err, engine.ErrArgument) || !strings.Contains(err.Error(), "b.yaml: ") || len(lib.List()) != own {
		t.Errorf("one of two is wrong: %v, and there are %d", err, len(lib.List())-own)
	}
	if err := lib.Load(fstest.MapFS{"c.txt": file(three)}); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("an empty folder: %v", err)
	}
	if err := lib.Load(fstest.MapFS{"02-a.yaml": file(three), "01-b.yaml": file(three)}); err != nil || lib.List()[own].ID != "b" || lib.List()[own+1].ID != "a" {
		t.Errorf("two: %v", err)
	}
	if err := lib.Load(fstest.MapFS{"01-c.yaml": file(three), "02-c.yaml": file(three)}); !errors.Is(err, engine.ErrExists) || !strings.Contains(err.Error(), "02-c.yaml: ") || len(lib.List()) != own+2 {
		t.Errorf("two of one id: %v", err)
	}
	if err := lib.Load(fstest.MapFS{"c.yaml": file(three), "deadline.yaml": file(three)}); !errors.Is(err, engine.ErrExists) || len(lib.List()) != own+2 {
		t.Errorf("one of the program's own id: %v", err)
	}
	if _, err := lib.Add("c", []byte(three)); err != nil {
		t.Error(err)
	}
	if s, err := lib.Add("c", []byte(strings.Replace(three, "Three", "3", 1))); err != nil || s.Title != "3 steps" || !s.Added || len(lib.List()) != own+3 {
		t.Errorf("in place of another: %v", err)
	}
	for id, want := range map[string]error{"deadline": engine.ErrExists, "a": engine.ErrExists, "A b": engine.ErrArgument, "": engine.ErrArgument, strings.Repeat("x", 41): engine.ErrArgument} {
		if _, err := lib.Add(id, []byte(three)); !errors.Is(err, want) {
			t.Errorf("%q: %v", id, err)
		}
	}
	for id, want := range map[string]error{"deadline": engine.ErrNotAllowed, "a": engine.ErrNotAllowed, "none": scene.ErrNone, "c": nil} {
		if err := lib.Remove(id); !errors.Is(err, want) {
			t.Errorf("remove %q: %v", id, err)
		}
	}
	if _, err := lib.Find("c"); !errors.Is(err, scene.ErrNone) {
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

// Whatever is sent as a scene, it is understood or refused, soon.
func FuzzParse(f *testing.F) {
	f.Add(three)
	f.Add("a: {b: [c, {d: e}]}\n- - - x\n? y\n: |\n  z")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := scene.Parse("x", []byte(text))
		if (s == nil) == (err == nil) || err != nil && !errors.Is(err, engine.ErrArgument) {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
