package mongo

import (
	"strings"
	"testing"
	"testing/synctest"

	"go.mongodb.org/mongo-driver/v2/bson"

	"mayfly/engine"
)

// A namespace of an older version is served as it is, and from then on refused by that
// version.
func TestFormatIsRaised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		old := formatDoc{ID: "default/format", V: 1, Format: 1}
		if err := db.Insert(t.Context(), settings, marshal(old)); err != nil {
			t.Fatal(err)
		}
		l, err := openSnapshotOn(t.Context(), db, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		for range 2 {
			s, err := openOn(t.Context(), db, nil, timed(Options{}))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			var now formatDoc
			raw, err := db.Get(t.Context(), settings, old.ID)
			if err == nil {
				err = bson.Unmarshal(raw, &now)
			}
			if err != nil {
				t.Fatal(err)
			}
			want(t, formatDoc{ID: old.ID, V: format, Format: format}, now)
		}
	})
}

// A namespace of a newer version is left alone, even by a standby server that waited while it
// was upgraded.
func TestFormatOfANewerVersion(t *testing.T) {
	const said = "the namespace was written by a newer Mayfly"
	newer := marshal(formatDoc{ID: "default/format", V: format + 1, Format: format + 1})
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		if err := db.Insert(t.Context(), settings, newer); err != nil {
			t.Fatal(err)
		}
		if _, err := openOn(t.Context(), db, nil, timed(Options{})); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("open: %v", err)
		}
		if _, err := openSnapshotOn(t.Context(), db, nil, timed(Options{})); err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("look: %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		db := new(toy)
		owner, err := openOn(t.Context(), db, nil, timed(Options{}))
		if err != nil {
			t.Fatal(err)
		}
		waits, opened := make(chan struct{}), make(chan error, 1)
		go func() {
			_, err := openOn(t.Context(), db, nil, timed(Options{Standby: func(engine.Owner) { close(waits) }}))
			opened <- err
		}()
		<-waits
		if err := db.Apply(t.Context(), settings, []change{{id: "default/format", version: format + 1, doc: newer}}); err != nil {
			t.Fatal(err)
		}
		if err := owner.Close(); err != nil {
			t.Error(err)
		}
		if err := <-opened; err == nil || !strings.Contains(err.Error(), said) {
			t.Errorf("whoever stood by: %v", err)
		}
	})
}
