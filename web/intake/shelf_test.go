package intake

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// The room that files take is bounded and given back, whatever became of them; one that
// is read goes when nobody reads it any more.
func TestShelf(t *testing.T) {
	s := NewShelf()
	defer s.Close()
	s.most = 100
	put := func(n int, want error) *File {
		t.Helper()
		f, err := s.Put("here", "x", strings.NewReader(strings.Repeat("x", n)))
		if !errors.Is(err, want) {
			t.Fatalf("%d bytes: %v, want %v", n, err, want)
		}
		return f
	}
	first := put(60, nil)
	put(60, engine.ErrBusy)
	if _, err := s.Put("here", "x", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("1234")))); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("what is cut off is %v", err)
	}
	put(40, nil)
	put(1, engine.ErrBusy)
	if _, _, err := s.Look("there", first.Word); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("another namespace gets %v", err)
	}
	f, free, err := s.hold("here", first.Word)
	if err != nil {
		t.Fatal(err)
	}
	s.Drop(first.Word)
	if raw, err := io.ReadAll(io.NewSectionReader(f.on, 0, f.Size)); err != nil || len(raw) != 60 {
		t.Errorf("whoever reads it has %d bytes, %v", len(raw), err)
	}
	put(60, engine.ErrBusy)
	free()
	free()
	put(60, nil)
	s.Close()
	put(1, engine.ErrClosed)
}

// A file goes an hour after it was last asked for, and not before: not either if that is
// as its timer fires.
func TestShelfKeepsForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewShelf()
		defer s.Close()
		f, err := s.Put("here", "x", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		there := func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.files[f.Word] != nil
		}
		time.Sleep(keptFor - 1)
		if _, _, err := s.Look("here", f.Word); err != nil {
			t.Fatal("a moment early:", err)
		}
		time.Sleep(time.Nanosecond)
		s.expire(f) // as if the timer had fired, and waited for who looked
		if !there() {
			t.Error("it is gone, and was just asked for")
		}
		time.Sleep(keptFor - 2)
		synctest.Wait()
		if !there() {
			t.Error("it is gone a moment early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if there() {
			t.Error("it is there still")
		}
	})
}
