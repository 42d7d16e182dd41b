package engine_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

// These are the tests of settings (architecture §4).

// keys returns the keys of these settings, in order.
func keys(all []engine.Setting) (keys []string) {
	for _, s := range all {
		keys = append(keys, s.Key)
	}
	return keys
}

func (c *clocked) keep(key, value string) engine.Setting {
	c.Helper()
	s, err := c.ns.SetSetting(c.now, key, value, nil)
	c.must(err)
	c.step()
	return s
}

// shelving sets these keys one after another, with values of one byte.
func shelving(keys ...string) func(*clocked) error {
	var all []string
	for _, key := range keys {
		all = append(all, key, "x")
	}
	return shelvingOf(all...)
}

// shelvingOf sets settings one after another. Its arguments are a key, its value, the next key and
// so on.
func shelvingOf(all ...string) func(*clocked) error {
	return func(c *clocked) (err error) {
		for s := range slices.Chunk(all, 2) {
			c.must(err)
			_, err = c.ns.SetSetting(c.now, s[0], s[1], nil)
		}
		return err
	}
}

func TestSettings(t *testing.T) {
	run(t, rules{
		"are found by key and in order": func(c *clocked) {
			for _, key := range []string{"view/b", "view/a", "View/a", "job/1", "views", "view/ä"} {
				c.keep(key, "of "+key)
				c.pass(time.Second)
			}
			for prefix, want := range map[string][]string{
				"":         {"View/a", "job/1", "view/a", "view/b", "view/ä", "views"},
				"view/":    {"view/a", "view/b", "view/ä"},
				"view":     {"view/a", "view/b", "view/ä", "views"},
				"view/b":   {"view/b"},
				"view/b/":  nil,
				"nothing/": nil,
				"zz":       nil,
			} {
				c.equal(keys(c.ns.Settings(prefix)), want)
			}
			s, ok := c.ns.Setting("view/a")
			c.equal(s, engine.Setting{Key: "view/a", Value: "of view/a", ChangedAt: morning.Add(time.Second)})
			c.equal(ok, true)
			_, ok = c.ns.Setting("view/A")
			c.equal(ok, false)
		},
		"are set again and dropped": func(c *clocked) {
			c.keep("a", "\x00\xff")
			c.keep("b", "")
			c.pass(time.Second)
			c.keep("a", "two")
			c.must(c.ns.DropSetting("b"))
			c.pass(time.Second)
			c.equal(c.ns.Settings(""), []engine.Setting{{Key: "a", Value: "two", ChangedAt: morning.Add(time.Second)}})
			c.keep("b", "again")
			c.pass(time.Second)
			c.equal(keys(c.ns.Settings("")), []string{"a", "b"})
		},
		"go to the store once": func(c *clocked) {
			c.keep("a", "x")
			c.must(c.ns.DropSetting("a"))
			c.step()
			if b := c.ns.Flush(c.now, true).Batch; !b.Empty() {
				c.Errorf("there is still something to store: %+v", b)
			}
			c.ns.Seal(true)
		},
		"make no events": func(c *clocked) {
			c.keep("a", "x")
			c.must(c.ns.DropSetting("a"))
			c.step()
			c.equal(len(c.events), 0)
		},
	})
}

// A caller that passes the ChangedAt that it saw changes only that version, even while the
// clock is stopped.
func TestSettingsThatWereSeen(t *testing.T) {
	run(t, rules{
		"compared": func(c *clocked) {
			var none engine.Instant
			set := func(value string, seen engine.Instant) error {
				_, err := c.ns.SetSetting(c.now, "a", value, &seen)
				return err
			}
			c.must(set("one", none))
			c.step()
			first, _ := c.ns.Setting("a")
			second := c.keep("a", "two")
			if second.ChangedAt <= first.ChangedAt {
				c.Errorf("ChangedAt was %d, and is %d after another change", first.ChangedAt, second.ChangedAt)
			}
			for name, seen := range map[string]engine.Instant{"nothing": none, "the first": first.ChangedAt, "one to come": second.ChangedAt + 1} {
				c.refused(engine.ErrChanged, func() error { return set("three", seen) })
				if s, _ := c.ns.Setting("a"); s != second {
					c.Errorf("a caller that saw %s changed the setting to %+v", name, s)
				}
			}
			c.must(set("three", second.ChangedAt))
			third, _ := c.ns.Setting("a")
			c.must(c.ns.DropSetting("a"))
			c.step()
			c.refused(engine.ErrChanged, func() error { return set("four", third.ChangedAt) })
			fourth := c.keep("a", "four") // after a drop, the new setting has a later time
			if fourth.ChangedAt <= third.ChangedAt {
				c.Errorf("ChangedAt was %d before the drop, and is %d after it", third.ChangedAt, fourth.ChangedAt)
			}
			c.refused(engine.ErrChanged, func() error { return set("five", third.ChangedAt) })
		},
	}, asked)
}

func TestSettingsThatAreRefused(t *testing.T) {
	c := newClocked(t, asked)
	c.limit(func(l *engine.Limits) { l.Settings, l.SettingKeyLength, l.SettingSize, l.SettingsSize = 2, 8, 10, 20 })
	set := func(key, value string) func() error {
		return func() error { _, err := c.ns.SetSetting(c.now, key, value, nil); return err }
	}
	c.must(set("a", xs(9))())
	c.must(set("b", xs(8))())
	before := c.ns.Settings("")
	for name, tc := range map[string]struct {
		kind error
		step func() error
		says string
	}{
		"no key":               {engine.ErrArgument, set("", "x"), "1 to 8 bytes"},
		"a key too long":       {engine.ErrArgument, set("ääää1", "x"), "1 to 8 bytes"},
		"a key nobody can see": {engine.ErrArgument, set("a\x00", "x"), "printable characters"},
		"a key that is binary": {engine.ErrArgument, set("\xff", "x"), "printable characters"},
		"a value too long":     {engine.ErrTooLarge, set("a", xs(11)), "'a' has 11 bytes; the maximum is 10"},
		"one too many":         {engine.ErrQuota, set("c", ""), "has 2 settings"},
		"too much together":    {engine.ErrQuota, set("b", xs(10)), "would have 21 bytes; the maximum is 20"},
		"nothing to drop":      {engine.ErrNotFound, func() error { return c.ns.DropSetting("c") }, "The setting 'c' does not exist"},
	} {
		c.refused(tc.kind, func() error {
			err := tc.step()
			if err != nil && !strings.Contains(err.Error(), tc.says) {
				t.Errorf("%s: %q", name, err)
			}
			return err
		})
		if d := gocmp.Diff(before, c.ns.Settings("")); d != "" {
			t.Errorf("%s changed something:\n%s", name, d)
		}
	}
	c.must(set("b", xs(9))())
	c.must(c.ns.DropSetting("a"))
	c.must(set("c", xs(9))())
	c.must(c.ns.DropSetting("c"))
	c.must(set("ääää", "")()) // a key of the maximum length
	c.must(c.ns.DropSetting("ääää"))
	c.must(set("c", xs(9))())
	// If there are more settings than the limits allow, they can still be dropped and made
	// smaller.
	c.step()
	c.limits.Settings, c.limits.SettingSize, c.limits.SettingsSize = 1, 5, 5
	c.restart()
	c.refused(engine.ErrQuota, set("d", ""))
	c.must(set("b", xs(5))())
	c.must(set("b", "x")())
	c.refused(engine.ErrQuota, set("b", "xx"))
	c.must(c.ns.DropSetting("c"))
	c.must(set("b", "xx")())
}

// Random changes of settings have the same result as changes of a map, with rollbacks and
// restarts.
func TestSettingsAgainstAMap(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	c := newClocked(t, asked)
	is := map[string]string{} // the committed settings
	for range 300 {
		next := maps.Clone(is)
		for range r.IntN(4) {
			key := []string{"a", "b", "a/1", "a/2", "ä"}[r.IntN(5)]
			if r.IntN(3) == 0 {
				_, there := next[key]
				if err := c.ns.DropSetting(key); (err == nil) != there || err != nil && !errors.Is(err, engine.ErrNotFound) {
					t.Fatalf("drop %q: %v; the setting exists: %v", key, err, there)
				}
				delete(next, key)
				continue
			}
			next[key] = xs(r.IntN(20))
			_, err := c.ns.SetSetting(c.now, key, next[key], nil)
			c.must(err)
		}
		if r.IntN(4) == 0 {
			c.ns.Flush(c.now, true)
			c.ns.Rollback()
			c.must(c.ns.Check())
		} else {
			hard, _ := c.ns.Pending()
			if !hard && !maps.Equal(is, next) {
				t.Fatal("a change of settings is not committed durably")
			}
			c.step()
			is = next
		}
		if c.now++; r.IntN(10) == 0 {
			c.restart()
		}
		got := map[string]string{}
		for _, s := range c.ns.Settings("") {
			got[s.Key] = s.Value
		}
		if d := gocmp.Diff(is, got); d != "" {
			t.Fatalf("settings (-want +got):\n%s", d)
		}
	}
}

// A batch is not empty if any of its fields has a value, except those that describe the batch.
func TestEmptyBatch(t *testing.T) {
	if b := (engine.Batch{Hard: true, Now: 5}); !b.Empty() {
		t.Error("nothing is something")
	}
	for f := range reflect.TypeFor[engine.Batch]().Fields() {
		switch f.Name {
		case "Hard", "Now", "Written", "Added": // they describe the batch and its Messages
			continue
		}
		var b engine.Batch
		v := reflect.ValueOf(&b).Elem().FieldByIndex(f.Index)
		if f.Type.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(f.Type, 1, 1))
		} else {
			v.Set(reflect.New(f.Type.Elem()))
		}
		if b.Empty() {
			t.Errorf("a batch with %s is empty", f.Name)
		}
	}
}
