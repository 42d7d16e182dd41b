package idempotency

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
)

func TestDoneOnce(t *testing.T) {
	var m Cache[int]
	n := 0
	act := func() (int, error) { n++; return n, nil }
	for i, want := range []bool{false, true, true} {
		if came, again, err := m.Do(t.Context(), "a", act); came != 1 || again != want || err != nil {
			t.Errorf("time %d: %d, again %v, %v", i, came, again, err)
		}
	}
	if came, again, err := m.Do(t.Context(), "b", act); came != 2 || again || err != nil {
		t.Errorf("another key: %d, again %v", came, again)
	}
	for want := 3; want < 5; want++ {
		if came, again, err := m.Do(t.Context(), "", act); came != want || again || err != nil {
			t.Errorf("without a key: %d, again %v", came, again)
		}
	}
}

func TestFailuresAreNotCached(t *testing.T) {
	var m Cache[int]
	wrong := errors.New("wrong")
	if _, _, err := m.Do(t.Context(), "a", func() (int, error) { return 0, wrong }); !errors.Is(err, wrong) {
		t.Errorf("the error is %v", err)
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		_, _, err := m.Do(t.Context(), "a", func() (int, error) { panic("worse") })
		t.Errorf("the cache continues after a panic, with %v", err)
	}()
	if came, again, err := m.Do(t.Context(), "a", func() (int, error) { return 7, nil }); came != 7 || again || err != nil {
		t.Errorf("%d, again %v, %v", came, again, err)
	}
	if len(m.order) != 1 || len(m.all) != 1 {
		t.Errorf("the cache has %d keys, in an order of %d", len(m.all), len(m.order))
	}
}

// TestMeanwhile: a call during the operation waits for its result, or for its own context to
// end; if the operation fails, one of the waiting calls tries next.
func TestMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Cache[int]
		goOn, fails := make(chan struct{}), true
		n := 0
		act := func() (int, error) {
			<-goOn
			if n++; fails {
				fails = false
				return 0, errors.New("wrong")
			}
			return n, nil
		}
		type end struct {
			came  int
			again bool
			err   error
		}
		ends := make(chan end, 4)
		impatient, stop := context.WithCancelCause(t.Context())
		for range 3 {
			go func() {
				came, again, err := m.Do(t.Context(), "a", act)
				ends <- end{came, again, err}
			}()
			synctest.Wait()
		}
		gone := errors.New("gone")
		go func() {
			came, again, err := m.Do(impatient, "a", act)
			ends <- end{came, again, err}
		}()
		synctest.Wait()
		stop(gone)
		if e := <-ends; !errors.Is(e.err, gone) || e.again {
			t.Errorf("the call whose context ended got %+v", e)
		}
		close(goOn)
		var failed, first, again int
		for range 3 {
			switch e := <-ends; {
			case e.err != nil:
				failed++
			case e.came == 2 && e.again:
				again++
			case e.came == 2:
				first++
			}
		}
		if failed != 1 || first != 1 || again != 1 || n != 2 {
			t.Errorf("%d calls failed, %d executed the operation, %d got its result; it was tried %d times", failed, first, again, n)
		}
	})
}

func TestWordsAreForgotten(t *testing.T) {
	var m Cache[int]
	for i := range maxKeys + 1 {
		if _, _, err := m.Do(t.Context(), strconv.Itoa(i), func() (int, error) { return i, nil }); err != nil {
			t.Fatal(err)
		}
	}
	if len(m.all) != maxKeys || len(m.order) != maxKeys {
		t.Errorf("the cache has %d keys, in an order of %d", len(m.all), len(m.order))
	}
	if _, again, err := m.Do(t.Context(), "1", func() (int, error) { return 0, nil }); !again || err != nil {
		t.Error("the second key is forgotten")
	}
	if _, again, err := m.Do(t.Context(), "0", func() (int, error) { return 0, nil }); again || err != nil {
		t.Error("the oldest key is remembered")
	}
}

// TestUnderWayIsRemembered: a second call under the key of a running operation waits for it, even
// after more other operations than the cache keeps.
func TestUnderWayIsRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var m Cache[int]
		goOn, done := make(chan struct{}), 0
		act := func() (int, error) {
			done++
			<-goOn
			return done, nil
		}
		slowly := func() {
			if _, _, err := m.Do(t.Context(), "slow", act); err != nil {
				t.Error(err)
			}
		}
		var all sync.WaitGroup
		all.Go(slowly)
		synctest.Wait()
		for n := range 2000 {
			if _, _, err := m.Do(t.Context(), strconv.Itoa(n), func() (int, error) { return n, nil }); err != nil {
				t.Fatal(err)
			}
		}
		all.Go(slowly)
		synctest.Wait()
		close(goOn)
		all.Wait()
		if done != 1 {
			t.Errorf("the operation was executed %d times", done)
		}
	})
}
