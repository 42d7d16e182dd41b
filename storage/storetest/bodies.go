package storetest

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"
	"testing/iotest"

	"mayfly/engine"
	"mayfly/engine/enginetest"
)

// sizes of bodies, around the sizes at which a driver may split them.
var sizes = []int{0, 1, 1000, 16_384, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145, 524_288, 1_500_000} //nolint:gochecknoglobals // a table

func testBodies(t *testing.T, o Open) {
	s, d := open(t, o), enginetest.NewGenerator(seed(t))
	want := map[engine.Key][]byte{}
	b := &engine.Batch{Hard: true, Now: 1, Entities: []engine.Entity{{ID: 1, Kind: engine.Queue, Path: "q"}}}
	for i, n := range sizes {
		staged, sent := engine.Key(100+i), engine.Key(200+i)
		want[staged], want[sent] = d.Bytes(n), d.Bytes(n)
		stage(t, s, staged, want[staged])
		b.Bodies = append(b.Bodies, engine.Body{Key: sent, Bytes: want[sent]})
		for _, k := range []engine.Key{staged, sent} {
			b.Contents = append(b.Contents, engine.StoredContent{Key: k})
			b.Messages = append(b.Messages, engine.Message{Key: k, Content: k, Subqueue: 1})
		}
	}
	commit(t, s, b)
	for range 2 {
		for k, body := range want {
			r, err := s.Body(t.Context(), k)
			if err != nil {
				t.Fatal(err)
			}
			if err := readEveryWay(r, body); err != nil {
				t.Errorf("body %d of %d bytes: %v", k, len(body), err)
			}
			if len(body) > 0 {
				at := d.IntN(len(body))
				if err := seekAndRead(r, body, at); err != nil {
					t.Errorf("body %d of %d bytes from %d: %v", k, len(body), at, err)
				}
			}
			if err := r.Close(); err != nil {
				t.Errorf("close body %d: %v", k, err)
			}
		}
		if together, ok := s.(engine.SmallBodies); ok {
			readTogether(t, together, want)
		}
		s = reopen(t, o, s)
	}
	drop := &engine.Batch{Hard: true, Now: 2}
	for k := range want {
		drop.DropMessages = append(drop.DropMessages, k)
		drop.DropContents = append(drop.DropContents, engine.DroppedContent{Key: k, HasBody: true})
	}
	commit(t, s, drop)
	for k := range want {
		if _, err := s.Body(t.Context(), k); !errors.Is(err, engine.ErrMessageNotFound) {
			t.Errorf("Body after it was dropped: %v; want ErrMessageNotFound", err)
		}
	}
}

// readEveryWay tries reads of every length and all kinds of seeks. Long bodies take long to read
// byte by byte, so it only reads them through a HalfReader.
func readEveryWay(r io.ReadSeeker, body []byte) error {
	if len(body) < 20_000 {
		return iotest.TestReader(r, body)
	}
	got, err := io.ReadAll(iotest.HalfReader(r))
	if err == nil && !bytes.Equal(got, body) {
		err = errors.New("other bytes")
	}
	return err
}

func seekAndRead(r io.ReadSeeker, body []byte, at int) error {
	for _, s := range []struct {
		offset int64
		whence int
	}{{int64(at), io.SeekStart}, {int64(at - len(body)), io.SeekEnd}} {
		if _, err := r.Seek(s.offset, s.whence); err != nil {
			return err
		}
		got, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, body[at:]) {
			return errors.New("other bytes")
		}
	}
	if _, err := r.Seek(-1, io.SeekStart); err == nil {
		return errors.New("a seek before the beginning succeeds")
	}
	return nil
}

// testBodyDropped drops contents while their bodies are being read. The reads must return the whole
// bodies, and later reads must fail with engine.ErrMessageNotFound.
func testBodyDropped(t *testing.T, o Open) {
	s, d := open(t, o), enginetest.NewGenerator(seed(t))
	for i, n := range []int{10, 900_000, 3_000_000} {
		k, body := engine.Key(10+i), d.Bytes(n)
		stage(t, s, k, body)
		commit(t, s, &engine.Batch{Hard: true, Now: 1, Contents: []engine.StoredContent{{Key: k}}})
		r, err := s.Body(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		head := make([]byte, 5)
		if _, err := io.ReadFull(r, head); err != nil {
			t.Fatal(err)
		}
		commit(t, s, &engine.Batch{Hard: true, Now: 2, DropContents: []engine.DroppedContent{{Key: k, HasBody: true}}})
		for j := range engine.Instant(20) { // so that there is time for a sweep
			commit(t, s, &engine.Batch{Hard: true, Now: 3 + j})
		}
		rest, err := io.ReadAll(r)
		if err != nil || !bytes.Equal(append(head, rest...), body) {
			t.Errorf("a body of %d bytes dropped while it was read: %d bytes, %v", n, len(rest), err)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if _, err := s.Body(t.Context(), k); !errors.Is(err, engine.ErrMessageNotFound) {
			t.Errorf("Body after it was dropped: %v; want ErrMessageNotFound", err)
		}
	}
}

// readTogether reads all bodies in one call, and one that does not exist. Small bodies that
// were not staged must be returned, the others may be.
func readTogether(t *testing.T, s engine.SmallBodies, want map[engine.Key][]byte) {
	t.Helper()
	keys := append(slices.Collect(maps.Keys(want)), 999)
	got := map[engine.Key][]byte{}
	if err := s.SmallBodies(t.Context(), keys, func(i int, b []byte) { got[keys[i]] = bytes.Clone(b) }); err != nil {
		t.Fatal(err)
	}
	for k, body := range want {
		b, ok := got[k]
		if k >= 200 && !ok && len(body) > 0 && len(body) <= 64<<10 || ok && !bytes.Equal(b, body) {
			t.Errorf("together, body %d of %d bytes: got %d bytes, %t", k, len(body), len(b), ok)
		}
	}
	if _, ok := got[999]; ok {
		t.Error("SmallBodies found a body that does not exist")
	}
}
