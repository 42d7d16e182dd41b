package exchange

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

// The room for files is bounded and given back in every case. A dropped file is discarded when
// its last reader ends.
func TestUploads(t *testing.T) {
	s := NewUploads()
	defer s.Close()
	s.maxBytes = 100
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
		t.Errorf("an interrupted upload returned %v", err)
	}
	put(40, nil)
	put(1, engine.ErrBusy)
	if _, _, err := s.Find("there", first.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("another namespace gets %v", err)
	}
	f, free, err := s.acquire("here", first.ID)
	if err != nil {
		t.Fatal(err)
	}
	s.Drop(first.ID)
	if raw, err := io.ReadAll(io.NewSectionReader(f.disk, 0, f.Size)); err != nil || len(raw) != 60 {
		t.Errorf("the reader got %d bytes, %v", len(raw), err)
	}
	put(60, engine.ErrBusy)
	free()
	free()
	put(60, nil)
	s.Close()
	put(1, engine.ErrClosed)
}

// At most maxFiles files are stored.
func TestUploadsAreCounted(t *testing.T) {
	s := NewUploads()
	defer s.Close()
	for n := range maxFiles + 1 {
		_, err := s.Put("here", "x", strings.NewReader("x"))
		if full := errors.Is(err, engine.ErrBusy); full != (n == maxFiles) || !full && err != nil {
			t.Errorf("file %d: %v", n+1, err)
		}
	}
}

// A file is removed an hour after its last use and not before, even if it is used just as its
// timer fires.
func TestUploadsAreKeptForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewUploads()
		defer s.Close()
		f, err := s.Put("here", "x", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		there := func() bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.files[f.ID] != nil
		}
		time.Sleep(uploadTTL - 1)
		if _, _, err := s.Find("here", f.ID); err != nil {
			t.Fatal("a moment before the end:", err)
		}
		time.Sleep(time.Nanosecond)
		s.expire(f) // as if the timer had fired and waited for the lookup
		if !there() {
			t.Error("the file was removed, though it was just used")
		}
		time.Sleep(uploadTTL - 2)
		synctest.Wait()
		if !there() {
			t.Error("the file was removed a moment early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if there() {
			t.Error("the file was not removed")
		}
	})
}
