package mongo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// A refusing server refuses inserts into the collection `in` after the first `left` of them.
type refusing struct {
	server
	in   collection
	left int
}

func (r *refusing) Insert(ctx context.Context, in collection, doc bson.Raw) error {
	if in == r.in {
		if r.left--; r.left < 0 {
			return fmt.Errorf("%w: the disk is full", errUnwritable)
		}
	}
	return r.server.Insert(ctx, in, doc)
}

// largeBatch returns a batch of three documents; its body is filled with a byte.
func largeBatch(b byte) *engine.Batch {
	return &engine.Batch{
		Hard: true, Now: 1,
		Entities: []engine.Entity{{ID: 1, Path: "q"}},
		Contents: []engine.StoredContent{{Key: 7, Content: "c"}},
		Bodies:   []engine.Body{{Key: 7, Bytes: bytes.Repeat([]byte{b}, 5*maxEntryBytes/2)}},
		Messages: []engine.Message{{Key: 7, Content: 7, Subqueue: 1}},
	}
}

// A large batch that was refused in part does not affect the next one.
func TestRefusedHalfWay(t *testing.T) {
	for name, r := range map[string]*refusing{
		"at a part":        {in: parts, left: 1},
		"after all parts":  {in: journal, left: 0},
		"at the first one": {in: parts, left: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r.server = new(toy)
				s, err := openOn(t.Context(), r, nil, timed(Options{}))
				if err != nil {
					t.Fatal(err)
				}
				if err := s.Commit(t.Context(), largeBatch('a')); !errors.Is(err, engine.ErrUnwritable) {
					t.Errorf("the first: %v", err)
				}
				r.left = 100
				if err := s.Commit(t.Context(), largeBatch('b')); err != nil {
					t.Errorf("the second: %v", err)
				}
				s.endOwnership(engine.ErrFenced) // before the window is applied
				_ = s.Close()

				next, err := openOn(t.Context(), r, nil, timed(Options{}))
				if err != nil {
					t.Fatal(err)
				}
				body, err := next.Body(t.Context(), 7)
				if err != nil {
					t.Fatal(err)
				}
				defer body.Close()
				got, err := io.ReadAll(body)
				if err != nil {
					t.Fatal(err)
				}
				if a, b := bytes.Count(got, []byte("a")), bytes.Count(got, []byte("b")); a != 0 || b != 5*maxEntryBytes/2 {
					t.Errorf("the body has %d bytes of the first batch and %d of the second", a, b)
				}
				if err := next.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
