package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
)

// storedMessages holds the messages of a store, with their contents and bodies.
type storedMessages struct {
	messages map[engine.Key]engine.Message
	packed   map[engine.Key]engine.Packed
	bodies   map[engine.Key][]byte
	damaged  map[engine.Key]string
}

// readMessages reads all messages of a store, and records which of them the store reports as
// damaged. It returns any other error.
func readMessages(ctx context.Context, s engine.Store) (storedMessages, error) {
	out := storedMessages{map[engine.Key]engine.Message{}, map[engine.Key]engine.Packed{}, map[engine.Key][]byte{}, map[engine.Key]string{}}
	for r, err := range s.Load(ctx) {
		if err != nil {
			return out, err
		}
		switch r := r.(type) {
		case engine.StoredContent:
			out.packed[r.Key] = r.Content
		case engine.Message:
			out.messages[r.Key] = r
		case engine.Damaged:
			out.damaged[r.Key] = r.Part
		}
	}
	for k := range out.messages {
		r, err := s.Body(ctx, k)
		var b []byte
		if err == nil {
			b, err = io.ReadAll(r)
			err = errors.Join(err, r.Close())
		}
		switch {
		case errors.Is(err, engine.ErrDamaged):
			out.damaged[k] = engine.DamagedBody
		case err != nil:
			return out, err
		default:
			out.bodies[k] = b
		}
	}
	return out, nil
}

// testDamage flips single bits of a closed store. Every record that the store then yields as
// intact must be as written, and Verify must find what has changed or is missing.
func testDamage(t *testing.T, f Files) {
	if f.Verify == nil {
		t.Fatal("Files.Verify is missing: a durable store finds damage")
	}
	path := filepath.Join(t.TempDir(), "store")
	s := openPath(t, f, path)
	for n := range engine.Key(8) {
		b := numbered(n*50 + 1)
		b.Messages, b.Contents, b.Bodies = nil, nil, nil
		for k := n*50 + 1; k <= n*50+50; k++ {
			one := numbered(k)
			if k%7 == 0 {
				one.Messages[0].Extra = &engine.Extra{DeadLettered: true, Reason: "why not", Source: "q"}
			}
			one.Bodies[0].Bytes = bytes.Repeat([]byte(fmt.Sprint("body ", k, " ")), int(k)%40+1)
			b.Messages, b.Contents, b.Bodies = append(b.Messages, one.Messages...), append(b.Contents, one.Contents...), append(b.Bodies, one.Bodies...)
		}
		b.Now = engine.Instant(n + 1)
		commit(t, s, b)
	}
	want, err := readMessages(t.Context(), s)
	if err != nil || len(want.messages) != 400 || len(want.damaged) > 0 {
		t.Fatalf("%d messages, %d damaged, %v", len(want.messages), len(want.damaged), err)
	}
	closeStore(t, s)
	sound, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if wrong, err := f.Verify(t.Context(), path); err != nil || len(wrong) > 0 {
		t.Fatalf("before anything is changed: %q, %v", wrong, err)
	}
	seed := seed(t)
	rnd := rand.New(rand.NewPCG(seed, seed))
	found, refused, harmless := 0, 0, 0
	for range 25 {
		flipped := bytes.Clone(sound)
		at, bit := rnd.IntN(len(flipped)), byte(1)<<rnd.IntN(8)
		flipped[at] ^= bit
		copied := filepath.Join(t.TempDir(), "store")
		if err := os.WriteFile(copied, flipped, 0o600); err != nil {
			t.Fatal(err)
		}
		wrong, err := f.Verify(t.Context(), copied)
		reported := len(wrong) > 0 || err != nil
		s, err := f.Open(t.Context(), copied, nil)
		if err != nil {
			refused++
			continue
		}
		got, err := readMessages(t.Context(), s)
		closed := s.Close()
		changed := differs(want, got)
		switch {
		case changed == "" && err == nil && len(got.damaged) == 0 && len(got.messages) == len(want.messages):
			harmless++
		case changed != "":
			t.Errorf("bit %#x at %d: yielded as intact: %s", bit, at, changed)
		case !reported:
			t.Errorf("bit %#x at %d: %d of %d messages, %d damaged, %v, %v, and Verify finds nothing", bit, at, len(got.messages), len(want.messages), len(got.damaged), err, closed)
		default:
			found++
		}
	}
	t.Logf("of 25 bits %d were found, %d kept the store closed, %d changed nothing", found, refused, harmless)
}

// differs describes what is different in got from want.
func differs(want, got storedMessages) string {
	var all []string
	for k, m := range got.messages {
		d := cmp.Diff(want.messages[k], m)
		if got.packed[k] != "" && want.packed[k] != got.packed[k] {
			d += fmt.Sprintf("content %q, was %q", got.packed[k], want.packed[k])
		}
		if b, ok := got.bodies[k]; ok && !bytes.Equal(b, want.bodies[k]) {
			d += fmt.Sprintf("body %q, was %q", b, want.bodies[k])
		}
		if d != "" {
			all = append(all, fmt.Sprintf("message %d: %s", k, d))
		}
	}
	return strings.Join(all, "\n")
}
