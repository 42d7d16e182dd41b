package origin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"mayfly/engine"
)

// TestShare: a Share takes room only for bytes that have arrived; with a full budget a small body
// does not wait and a large one gets engine.ErrBusy after budgetTimeout; and Release frees
// everything, once.
func TestShare(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewBodyBudget()
		in, out := io.Pipe()
		slow := r.NewShare("slow")
		read := make(chan []byte)
		go func() {
			raw, err := slow.ReadAll(t.Context(), in, MaxBody)
			if err != nil {
				t.Error(err)
			}
			read <- raw
		}()
		if _, err := io.WriteString(out, "x"); err != nil {
			t.Fatal(err)
		}
		full := [2]*Share{r.NewShare("a"), r.NewShare("b")}
		for _, s := range full {
			if err := s.Grow(t.Context(), 1<<40); err != nil {
				t.Fatal("slow clients keep others out, or a body larger than the budget is never granted: ", err)
			}
		}
		small := r.NewShare("small")
		if err := small.Grow(t.Context(), budgetUncounted); err != nil {
			t.Error("a small body has to wait: ", err)
		}
		large, began := r.NewShare("large"), time.Now()
		if _, err := large.ReadAll(t.Context(), strings.NewReader(strings.Repeat("x", 1<<20)), 1<<20); !errors.Is(err, engine.ErrBusy) || time.Since(began) != budgetTimeout {
			t.Errorf("with a full budget: %v after %v", err, time.Since(began))
		}
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(engine.ErrClosed)
		if err := large.Grow(gone, MaxBody); !errors.Is(err, engine.ErrClosed) {
			t.Errorf("a client that has disconnected: %v", err)
		}
		time.AfterFunc(time.Second, full[0].Release)
		if err := large.Grow(t.Context(), MaxBody); err != nil {
			t.Error("room that becomes free is not granted: ", err)
		}
		_ = out.Close() // never fails
		if raw := <-read; string(raw) != "x" {
			t.Errorf("%q was read", raw)
		}
		for _, s := range []*Share{large, small, slow, full[1]} {
			s.Release()
			s.Release()
		}
		if r.taken != 0 || len(r.byAddress) != 0 || len(r.waiting) != 0 {
			t.Errorf("the budget is not free again: %+v", r)
		}
	})
}

// TestBodyBudgetIsFairToAddresses: one address never keeps others out, however many requests it has.
func TestBodyBudgetIsFairToAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewBodyBudget()
		var all []*Share
		take := func(address string, bytes int64) bool {
			s := r.NewShare(address)
			all = append(all, s)
			return s.TryGrow(bytes)
		}
		const one = 4 << 20
		most := func(address string) (n int64) {
			for take(address, one) {
				n++
			}
			return n
		}
		if got := most("first"); got != budgetTotal/2/one {
			t.Errorf("one address alone got %d requests", got)
		}
		if got := most("second"); got != budgetFairShare/one {
			t.Errorf("another address got %d requests", got)
		}
		if !take("third", MaxBody) {
			t.Error("a third address got no room")
		}
		s, began := r.NewShare("first"), time.Now()
		if err := s.Grow(t.Context(), one); !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "your address") || time.Since(began) != budgetTimeout {
			t.Errorf("a further request of the first address: %v after %v", err, time.Since(began))
		}
		for _, s := range all {
			s.Release()
		}
		if !take("first", one) || !take("second", budgetPerRequest) {
			t.Error("a single request got no more than its fair share")
		}
		if got := most("third"); got != budgetFairShare/one {
			t.Errorf("a third address got %d requests beside it", got)
		}
	})
}

// TestBodyBudgetGrantsInOrder: claims are granted in the order in which they came. Only a claim of
// an address that has used up its part waits without blocking others.
func TestBodyBudgetGrantsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewBodyBudget()
		first, second, third := r.NewShare("first"), r.NewShare("second"), r.NewShare("third")
		for s, bytes := range map[*Share]int64{first: budgetFairShare, second: budgetPerRequest, third: budgetFairShare - 2<<20} {
			if err := s.Grow(t.Context(), bytes); err != nil { // 2 MiB are left
				t.Fatal(err)
			}
		}
		granted := make(chan string, 3)
		wait := func(address string, bytes int64) {
			go func() {
				s := r.NewShare(address)
				if err := s.Grow(t.Context(), bytes); err != nil {
					t.Error(address, err)
				}
				granted <- address
			}()
			synctest.Wait()
		}
		wait("first", 1<<20) // more than the share of its address
		wait("large", 10<<20)
		wait("small", 2<<20)
		if len(granted) != 0 {
			t.Errorf("%s got room at once", <-granted)
		}
		if !r.NewShare("tiny").TryGrow(budgetSmall / 2) {
			t.Error("a small claim waits behind a large one")
		}
		if r.NewShare("another").TryGrow(2 << 20) {
			t.Error("a later claim got room before waiting ones")
		}
		third.Release()
		synctest.Wait()
		if a, b := <-granted, <-granted; len(granted) != 0 || a == "first" || b == "first" {
			t.Errorf("%s and %s got room", a, b)
		}
		first.Release()
		synctest.Wait()
		if got := <-granted; got != "first" {
			t.Errorf("%s got room", got)
		}
	})
}

// TestBodyBudgetAfterATimeout: when the context of a large claim ends, a small claim that waited
// behind it is granted.
func TestBodyBudgetAfterATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewBodyBudget()
		for _, address := range []string{"a", "b"} {
			if !r.NewShare(address).TryGrow(budgetPerRequest - 1<<20) { // 2 MiB are left
				t.Fatal("the budget is not free")
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		large := make(chan error)
		go func() { large <- r.NewShare("large").Grow(ctx, MaxBody) }()
		synctest.Wait()
		small := make(chan error, 1)
		go func() { small <- r.NewShare("small").Grow(t.Context(), 2<<20) }()
		synctest.Wait()
		cancel()
		if err := <-large; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		select {
		case err := <-small:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("the small claim still waits")
		}
	})
}

func TestShareReadsAll(t *testing.T) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 100_000, 1 << 20} {
		for _, most := range []int64{0, 1, 100, int64(n) - 1, int64(n), int64(n) + 1, MaxBody} {
			if most < 0 {
				continue
			}
			var s *Share
			raw, err := s.ReadAll(t.Context(), iotest.HalfReader(strings.NewReader(strings.Repeat("x", n))), most)
			if want := min(int64(n), most+1); err != nil || int64(len(raw)) != want {
				t.Errorf("of %d bytes, at most %d, %d were read: %v", n, most, len(raw), err)
			}
		}
	}
	r := NewBodyBudget()
	s := r.NewShare("a")
	if _, err := s.ReadAll(t.Context(), io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), iotest.ErrReader(io.ErrUnexpectedEOF)), MaxBody); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	if r.taken != 0 {
		t.Errorf("%d bytes are held after an error", r.taken)
	}
}
