package broker_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// TestSettings: SetSetting either stores the value durably or fails and keeps the old value.
func TestSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		set := func(value string, seen *engine.Instant) (engine.Setting, error) {
			return w.SetSetting(t.Context(), "view/late", value, seen)
		}
		want := func(all ...engine.Setting) {
			t.Helper()
			got, err := w.Settings(t.Context(), "view/")
			if err != nil || len(got) != len(all) || len(all) > 0 && got[0] != all[0] {
				t.Fatalf("there are %+v, %v; want %+v", got, err, all)
			}
		}
		first, err := set("one", new(engine.Instant))
		if err != nil || first.Value != "one" || first.ChangedAt == 0 {
			t.Fatalf("set: %+v, %v", first, err)
		}
		want(first)
		if last := w.store.batches(); !last[len(last)-1].Hard {
			t.Error("the setting was not committed durably")
		}
		if _, err := w.SetSetting(t.Context(), "job/1", "", nil); err != nil {
			t.Fatal(err)
		}
		if _, err := set("two", new(engine.Instant)); !errors.Is(err, engine.ErrChanged) {
			t.Errorf("set by a caller that expected no value: %v", err)
		}
		w.store.breaks(engine.ErrUnwritable, false)
		if _, err := set("two", &first.ChangedAt); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("set in an unwritable store: %v", err)
		}
		if err := w.DropSetting(t.Context(), "view/late"); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("dropped in an unwritable store: %v", err)
		}
		want(first)
		w.store.breaks(nil, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		second, err := set("two", &first.ChangedAt)
		if err != nil {
			t.Fatal(err)
		}
		want(second)
		if err := w.Read(t.Context(), func(r broker.Reader) error {
			if s, ok := r.Setting("view/late"); !ok || s != second {
				t.Errorf("it is %+v, %v", s, ok)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if err := w.DropSetting(t.Context(), "view/late"); err != nil {
			t.Fatal(err)
		}
		want()
		if err := w.DropSetting(t.Context(), "view/late"); !errors.Is(err, engine.ErrNotFound) {
			t.Errorf("dropped twice: %v", err)
		}
	})
}
