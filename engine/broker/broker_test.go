package broker_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// Work that is due is done without any request, never early, and at most a second late. Only the
// deletion of idle entities may be half a minute late.
func TestSweeper(t *testing.T) {
	const hour = time.Hour
	for name, tc := range map[string]struct {
		config  engine.Config
		prepare func(w *world)
		after   time.Duration
		late    time.Duration
		before  engine.Counts
		then    engine.Counts // empty if the queue no longer exists
	}{
		"DEC-8, TTL-31 expiry": {engine.Config{DefaultMessageTimeToLive: hour, DeadLetteringOnMessageExpiration: true},
			func(w *world) { w.send("q", "a") }, hour, time.Second, engine.Counts{Active: 1}, engine.Counts{DeadLetter: 1}},
		"DEC-8 lock": {engine.Config{LockDuration: time.Minute},
			func(w *world) { w.send("q", "a"); w.ReceiveMessages(broker.ReceiveRequest{Path: "q"}) }, time.Minute, time.Second, engine.Counts{Locked: 1}, engine.Counts{Active: 1}},
		"DEC-8, SCH-3 schedule": {engine.Config{}, func(w *world) {
			now, err := w.Now(w.Context())
			if err != nil {
				w.Fatal(err)
			}
			w.SendMessages("q", broker.Outgoing{Content: engine.Content{ScheduledFor: now.Add(hour)}})
		}, hour, time.Second, engine.Counts{Scheduled: 1}, engine.Counts{Active: 1}},
		"DEC-8, IDLE-16 idleness": {engine.Config{AutoDeleteOnIdle: hour}, func(w *world) { w.send("q", "a") }, hour, 30 * time.Second, engine.Counts{Active: 1}, engine.Counts{}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", tc.config)
				tc.prepare(w)
				time.Sleep(tc.after - time.Millisecond)
				synctest.Wait()
				if c := w.Counts("q"); c != tc.before {
					t.Fatalf("a millisecond early: %+v", c)
				}
				time.Sleep(tc.late + time.Millisecond)
				synctest.Wait()
				if tc.then != (engine.Counts{}) {
					if c := w.Counts("q"); c != tc.then {
						t.Fatalf("afterwards: %+v", c)
					}
					return
				}
				err := w.Read(t.Context(), func(r broker.Reader) error { _, err := r.State("q"); return err })
				if !errors.Is(err, engine.ErrNotFound) {
					t.Fatalf("afterwards: %v", err)
				}
			})
		})
	}
}

// TTL-27, TTL-31: at a queue without receivers, a message with a time to live of fourteen days is
// moved to the dead-letter queue exactly on time.
func TestExpiryWithoutReceivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("orders", engine.Config{DefaultMessageTimeToLive: 14 * 24 * time.Hour, DeadLetteringOnMessageExpiration: true})
		w.send("orders", "a")
		time.Sleep(14*24*time.Hour - time.Millisecond)
		if c := w.Counts("orders"); c.Active != 1 || c.DeadLetter != 0 {
			t.Fatalf("a millisecond early: %+v", c)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if c := w.Counts("orders"); c.Active != 0 || c.DeadLetter != 1 {
			t.Fatalf("at its time: %+v", c)
		}
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "orders/$DeadLetterQueue"})
		if len(got) != 1 || got[0].Message.Extra.Reason != engine.ReasonExpired || text(t, got[0]) != "a" {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestReceiveWaitsAndIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		began := time.Now()
		served := make(chan []broker.Received)
		go func() { served <- w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Wait: time.Minute, Max: 5}) }()
		time.Sleep(20 * time.Second)
		w.send("q", "a", "b")
		got := <-served
		if len(got) != 2 || text(t, got[1]) != "b" || time.Since(began) != 20*time.Second {
			t.Fatalf("%d messages after %v", len(got), time.Since(began))
		}
		if got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Wait: 3 * time.Second}); len(got) != 0 {
			t.Fatalf("both are locked, yet %d were received", len(got))
		}
		if got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q"}); len(got) != 0 || time.Since(began) != 23*time.Second {
			t.Fatalf("%d messages after %v", len(got), time.Since(began))
		}
	})
}

// After the context of a waiting Receive has ended, Receive returns its cause, and a message that
// arrives later is not locked.
func TestReceiveCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		gone := errors.New("gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := w.Receive(ctx, broker.ReceiveRequest{Path: "q", Wait: time.Hour})
			done <- err
		}()
		synctest.Wait()
		cancel(gone)
		if err := <-done; !errors.Is(err, gone) {
			t.Fatalf("got %v", err)
		}
		w.send("q", "a")
		if c := w.Counts("q"); c.Active != 1 || c.Locked != 0 {
			t.Fatalf("%+v", c)
		}
	})
}

// Concurrent commits are done one after the other: each as a whole, and none is in progress
// when another starts.
func TestAtOnce(t *testing.T) {
	both := func(do func(i int) error) (errs [2]error) {
		var at sync.WaitGroup
		for i := range 2 {
			at.Go(func() { errs[i] = do(i) })
		}
		at.Wait()
		return errs
	}
	one := func(t *testing.T, errs [2]error, other error) {
		t.Helper()
		if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs[0], errs[1]), other) {
			t.Errorf("got %v", errs)
		}
	}
	for name, do := range map[string]func(t *testing.T, w *world){
		"PROP-13 creating twice": func(t *testing.T, w *world) {
			one(t, both(func(int) error {
				_, err := w.Create(t.Context(), engine.Queue, "new", engine.Config{}, "test")
				return err
			}), engine.ErrExists)
		},
		"PROP-13 deleting twice": func(t *testing.T, w *world) {
			one(t, both(func(int) error { return w.Delete(t.Context(), "q", broker.Unconfirmed, "test") }), engine.ErrNotFound)
		},
		"PROP-13 two updates": func(t *testing.T, w *world) {
			configs := [2]engine.Config{{UserMetadata: "a", MaxDeliveryCount: 1}, {UserMetadata: "b", LockDuration: time.Minute}}
			if errs := both(func(i int) error { _, err := w.Update(t.Context(), "q", configs[i], "test"); return err }); errors.Join(errs[:]...) != nil {
				t.Errorf("got %v", errs)
			}
			if err := w.Read(t.Context(), func(r broker.Reader) error {
				s, err := r.State("q")
				if !s.Config.Equal(configs[0]) && !s.Config.Equal(configs[1]) {
					t.Errorf("the config is a mixture: %+v", s.Config)
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", engine.Config{})
				do(t, w)
			})
		})
	}
}

// A receiver that waits at an entity that is deleted gets an error.
func TestReceiveEndedByDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		done := make(chan error)
		go func() {
			_, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Wait: time.Hour})
			done <- err
		}()
		synctest.Wait()
		if err := w.Delete(t.Context(), "q", broker.Unconfirmed, "test"); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("got %v", err)
		}
	})
}

// Locks, renewals and times of last use are committed softly. Every other change needs a hard
// commit.
func TestHardCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		hard := func() (n int) {
			for _, b := range w.store.batches() {
				if b.Hard {
					n++
				}
			}
			return n
		}
		expect := func(what string, more int) {
			t.Helper()
			if got := hard(); got != more {
				t.Fatalf("%s: %d hard commits so far, want %d", what, got, more)
			}
		}
		expect("create", 1)
		w.send("q", "a", "b", "c", "d")
		expect("send", 2)
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Max: 3})
		expect("peek-lock", 2)
		if _, err := w.RenewLock(t.Context(), got[0].Token(), "", "test"); err != nil {
			t.Fatal(err)
		}
		expect("renew", 2)
		for i, o := range []engine.Outcome{engine.Complete, engine.Abandon, engine.Defer} {
			if errs, err := w.Settle(t.Context(), engine.Settlement{Token: got[i].Token(), Outcome: o}); err != nil || errs[0] != nil {
				t.Fatal(err, errs)
			}
			expect(o.String(), 3+i)
		}
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Mode: engine.ReceiveAndDelete})
		expect("receive and delete", 6)
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		before := len(w.store.batches())
		time.Sleep(time.Second)
		synctest.Wait()
		all := w.store.batches()
		if len(all) != before+1 || all[before].Hard {
			t.Fatalf("want one soft commit, of the lock alone, after half a second: %d commits", len(all)-before)
		}
	})
}

// A full store makes the namespace read-only: no acknowledged operation is lost, no refused one
// takes effect, and the namespace recovers.
func TestReadOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{DefaultMessageTimeToLive: time.Hour, DeadLetteringOnMessageExpiration: true})
		w.send("q", "a", "b")
		w.store.breaks(fmt.Errorf("%w: the disk is full", engine.ErrUnwritable), false)
		_, err := w.Send(t.Context(), "q", []broker.Outgoing{{Body: []byte("c")}}, "test")
		if !errors.Is(err, engine.ErrBusy) || !strings.Contains(err.Error(), "the disk is full") {
			t.Fatalf("got %v", err)
		}
		if got := w.Health().ReadOnly; !strings.Contains(got, "the disk is full") {
			t.Fatalf("health is %q", got)
		}
		if c := w.Counts("q"); c.Active != 2 {
			t.Fatalf("while read-only, reading returned %+v", c)
		}
		time.Sleep(2 * time.Hour) // messages that expire meanwhile wait
		if c := w.Counts("q"); c.DeadLetter != 0 {
			t.Fatalf("%+v", c)
		}
		w.store.breaks(nil, false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if h := w.Health(); h != (broker.Health{}) {
			t.Fatalf("health is %+v", h)
		}
		if c := w.Counts("q"); c.DeadLetter != 2 {
			t.Fatalf("%+v", c)
		}
		w.send("q", "d")
		if w.store.opens != 1 {
			t.Fatalf("opened %d times", w.store.opens)
		}
	})
}

// If a commit has an unknown outcome, the caller gets an error. Afterwards the namespace has the
// state of the store, whether or not the commit was applied.
func TestUnknownOutcome(t *testing.T) {
	for name, applied := range map[string]bool{"MSG-8 applied": true, "MSG-8 not applied": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := start(t, broker.Options{})
				w.CreateQueue("q", engine.Config{})
				w.send("q", "a")
				w.store.breaks(errors.New("the cable was pulled"), applied)
				_, err := w.Send(t.Context(), "q", []broker.Outgoing{{Body: []byte("b")}}, "test")
				if !errors.Is(err, engine.ErrBusy) {
					t.Fatalf("got %v", err)
				}
				w.store.breaks(nil, false)
				want := int64(1)
				if applied {
					want = 2
				}
				synctest.Wait()
				if c := w.Counts("q"); c.Active != want {
					t.Fatalf("%+v", c)
				}
				w.send("q", "c")
			})
		})
	}
}

// A broker whose store belongs to another server rejects all operations and does not open the
// store again.
func TestFenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		w.store.breaks(fmt.Errorf("commit: %w", engine.ErrFenced), false)
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("got %v", err)
		}
		<-w.Done()
		if err := w.Close(); !errors.Is(err, engine.ErrFenced) || w.store.opens != 1 {
			t.Fatalf("got %v after %d opens", err, w.store.opens)
		}
		w.CloseFails = true
	})
}

// IDLE-2, IDLE-8: a queue with AutoDeleteOnIdle exists as long as a receiver waits at it. After the
// receiver has gone, the queue is deleted on time.
func TestIdleDeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("reply", engine.Config{AutoDeleteOnIdle: 5 * time.Minute})
		if got := w.ReceiveMessages(broker.ReceiveRequest{Path: "reply", Wait: 20 * time.Minute}); len(got) != 0 {
			t.Fatal("received a message from an empty queue")
		}
		time.Sleep(5*time.Minute - time.Millisecond)
		w.Counts("reply") // fails if the queue was deleted; reading counts is not a use
		time.Sleep(time.Millisecond)
		synctest.Wait()
		err := w.Read(t.Context(), func(r broker.Reader) error { _, err := r.State("reply"); return err })
		if !errors.Is(err, engine.ErrNotFound) {
			t.Fatalf("got %v", err)
		}
	})
}

func TestAgreed(t *testing.T) {
	for name, tc := range map[string]struct {
		agreed broker.ConfirmedCount
		have   int64
		ok     bool
	}{
		"unasked":        {broker.Unconfirmed, math.MaxInt64, true},
		"fewer":          {10, 0, true},
		"a tenth more":   {10, 11, true},
		"beyond a tenth": {10, 12, false},
		"none":           {0, 0, true},
		"one of none":    {0, 1, false},
		"all there can":  {math.MaxInt64, math.MaxInt64, true},
		"far too many":   {math.MaxInt64 / 2, math.MaxInt64, false},
	} {
		if err := tc.agreed.Check(tc.have); (err == nil) != tc.ok || err != nil && !errors.Is(err, engine.ErrChanged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// OPS-7: a purge removes the messages that existed when it began, in several turns. It is refused
// if there are many more messages than the caller has confirmed.
func TestPurge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{Limits: roomy()})
		w.CreateQueue("q", engine.Config{})
		many := make([]string, 9000)
		for i := range many {
			many[i] = "x"
		}
		w.send("q", many...)
		w.ReceiveMessages(broker.ReceiveRequest{Path: "q"})
		if _, err := w.Purge(t.Context(), "q", []engine.Class{engine.ClassActive}, 8000, "test"); !errors.Is(err, engine.ErrChanged) {
			t.Fatalf("got %v", err)
		}
		pg, err := w.Purge(t.Context(), "q", []engine.Class{engine.ClassActive}, 8999, "test")
		if err != nil || pg.Removed != 8999 || pg.Skipped != 1 {
			t.Fatalf("%+v, %v", pg, err)
		}
		if c := w.Counts("q"); c.Locked != 1 || c.MessageCount() != 1 {
			t.Fatalf("%+v", c)
		}
	})
}

func roomy() *engine.Limits {
	l := engine.DefaultLimits()
	l.BatchSize = 1 << 30
	return &l
}

// When many messages expire at once, senders still get answers meanwhile, and all messages are
// moved or dropped in the end.
func TestStormDoesNotStarveSenders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{Limits: roomy()})
		w.CreateQueue("storm", engine.Config{DefaultMessageTimeToLive: time.Minute, DeadLetteringOnMessageExpiration: true})
		w.CreateQueue("calm", engine.Config{})
		many := make([]string, 20_000)
		w.send("storm", many...)
		time.Sleep(time.Minute)
		w.send("calm", "a")
		synctest.Wait()
		if c := w.Counts("storm"); c.DeadLetter != int64(len(many)) {
			t.Fatalf("%+v", c)
		}
	})
}

func TestClosedBrokerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		done := make(chan error)
		go func() {
			_, err := w.Receive(t.Context(), broker.ReceiveRequest{Path: "q", Wait: time.Hour})
			done <- err
		}()
		synctest.Wait()
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if err := <-done; !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("got %v", err)
		}
		if _, err := w.Send(t.Context(), "q", []broker.Outgoing{{}}, ""); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("got %v", err)
		}
		if _, _, err := w.Events().After(t.Context(), w.Events().Last()); !errors.Is(err, engine.ErrClosed) {
			t.Fatalf("got %v", err)
		}
	})
}

// A body over 64 KiB is stored ahead of its message and read back whole. The body of a refused
// message is dropped.
func TestLargeBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, broker.Options{})
		w.CreateQueue("q", engine.Config{})
		large := strings.Repeat("0123456789", 20_000)
		out := []broker.Outgoing{{Reader: strings.NewReader(large)}}
		w.SendMessages("q", out...)
		got := w.ReceiveMessages(broker.ReceiveRequest{Path: "q", Mode: engine.ReceiveAndDelete})
		if len(got) != 1 || text(t, got[0]) != large {
			t.Fatalf("%d messages", len(got))
		}
		got[0].Body.Close()
		out = []broker.Outgoing{{Reader: strings.NewReader(large + large)}}
		if _, err := w.Send(t.Context(), "q", out, ""); !errors.Is(err, engine.ErrTooLarge) {
			t.Fatalf("got %v", err)
		}
		// One body is refused in its turn, after a good message, and one before its turn.
		wrong := engine.Content{MessageID: strings.Repeat("x", 129)}
		out = []broker.Outgoing{{Reader: strings.NewReader(large)}, {Reader: strings.NewReader(large), Content: wrong}}
		if _, err := w.Send(t.Context(), "q", out, ""); !errors.Is(err, engine.ErrArgument) {
			t.Fatalf("got %v", err)
		}
		gone, leave := context.WithCancel(t.Context())
		w.store.staged = leave
		out = []broker.Outgoing{{Reader: strings.NewReader(large)}}
		if _, err := w.Send(gone, "q", out, ""); !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v", err)
		}
		for range 3 { // bodies are dropped with later batches
			w.send("q", "small")
		}
		dropped := map[engine.Key]bool{}
		for _, b := range w.store.batches() {
			for _, c := range b.DropContents {
				dropped[c.Key] = c.HasBody
			}
		}
		if len(dropped) != 5 {
			t.Errorf("%d bodies were dropped; want the received message's and 4 of refused messages", len(dropped))
		}
	})
}
