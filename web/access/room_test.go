package access

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRoom()
		var leave []func()
		for range roomForAll / LargestBody {
			l, err := r.Take(t.Context(), -1, LargestBody)
			if err != nil {
				t.Fatal(err)
			}
			leave = append(leave, l)
		}
		if l, err := r.Take(t.Context(), roomForFree, LargestBody); err != nil {
			t.Errorf("a small body waits: %v", err)
		} else {
			l()
		}
		began := time.Now()
		if _, err := r.Take(t.Context(), roomForFree+1, LargestBody); !errors.Is(err, engine.ErrBusy) || time.Since(began) != roomPatience {
			t.Errorf("full: %v after %v", err, time.Since(began))
		}
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(engine.ErrClosed)
		if _, err := r.Take(gone, LargestBody, LargestBody); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("whoever left: %v", err)
		}
		time.AfterFunc(time.Second, leave[0])
		l, err := r.Take(t.Context(), LargestBody, LargestBody)
		if err != nil {
			t.Fatal(err)
		}
		l()
	})
}
