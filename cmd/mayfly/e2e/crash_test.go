package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine/longtest"
	"mayfly/storage/mongo/mongotest"
	"mayfly/web/api"
)

// The crash test kills the whole program at random moments while writers work with it, and
// compares its state after each restart with everything that was acknowledged. Each writer has
// its own queue and sends one request at a time, so that only its last operation can be in
// doubt: it may have happened as a whole or not at all.

// TestCrash kills the program repeatedly while clients work with it on a SQLite file, and checks
// each time that acknowledged operations survived.
func TestCrash(t *testing.T) {
	rounds := 1
	switch long, ci := longtest.Enabled(t), os.Getenv("CI") != ""; {
	case long && ci:
		rounds = 50
	case long:
		rounds = 6
	}
	crash(t, "sqlite:"+filepath.Join(t.TempDir(), "crash.db"), rounds)
}

// TestCrashOnMongoDB is TestCrash on a database, where the next process first waits until the lease
// of the killed one expires.
func TestCrashOnMongoDB(t *testing.T) {
	longtest.Require(t, "rounds of kill -9 on MongoDB")
	rounds := 3
	if os.Getenv("CI") != "" {
		rounds = 12
	}
	crash(t, mongotest.URL(t), rounds)
}

// crashLease is the lease of the servers: short, because each restart waits for it, but long enough
// to be renewed on a busy machine.
const crashLease = 2 * time.Second

func crash(t *testing.T, store string, rounds int) {
	const writers = 4
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	all := make([]*writer, writers)
	for i := range all {
		all[i] = &writer{t: t, queue: fmt.Sprintf("q%d", i), random: rand.New(rand.NewPCG(seed, uint64(i)+2)), nextSeq: 1}
	}
	operations := 0
	for round := range rounds {
		if random.IntN(4) == 0 { // kills the server while it starts and loads
			p := spawn(t, store, crashLease)
			time.AfterFunc(time.Duration(random.IntN(300))*time.Millisecond, func() { p.signal(os.Kill) })
			p.killed()
		}
		p := spawn(t, store, crashLease)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		r, err := p.next(ctx, server.StateReady)
		cancel()
		if err != nil {
			t.Fatalf("round %d: the program did not start again: %v", round, err)
		}
		var busy sync.WaitGroup
		acknowledged := make(chan struct{})
		for _, w := range all {
			w.acknowledged = acknowledged
			busy.Go(func() { w.round(r.Dashboard + "/api/v1") })
		}
		go func() { // ends when the server has ended
			busy.Wait()
			close(acknowledged)
		}()
		// The server is killed after a number of operations, not after a time, because a slow
		// machine takes longer for the same number.
		kill := sync.OnceFunc(func() { p.signal(os.Kill) })
		stuck := time.AfterFunc(2*time.Minute, kill)
		left := 1 + random.IntN(4*writers)
		for range acknowledged {
			if left--; left == 0 {
				time.AfterFunc(time.Duration(random.IntN(100))*time.Millisecond, kill)
			}
		}
		stuck.Stop()
		kill()
		p.killed()
		if t.Failed() {
			t.Fatalf("round %d", round)
		}
	}
	for _, w := range all {
		operations += w.done
	}
	t.Logf("%d rounds, %d acknowledged operations compared", rounds, operations)
	if operations < rounds*writers {
		t.Errorf("only %d operations were acknowledged in %d rounds", operations, rounds)
	}
}

// kept is a message that the writer expects in the queue.
type kept struct {
	id       string
	seq      int64
	size     int64
	failures uint32
	dead     bool
	enqueued time.Time // as first seen
	expires  time.Time // as first seen
}

// A writer works with a queue and knows its expected content.
type writer struct {
	t       *testing.T
	queue   string
	random  *rand.Rand
	exists  bool
	nextSeq int64
	have    []kept // in the order of sequence numbers
	doubt   func() // updates have as if the last operation had happened; nil if that was acknowledged
	lost    bool   // there was no response to take
	serial  int
	done    int
	base    string

	acknowledged chan<- struct{} // receives one value per acknowledgement
}

var errGone = errors.New("the server is gone")

// round compares the queue with the expected messages, and then works until the server dies.
func (w *writer) round(base string) {
	w.base = base
	if err := w.compare(); err != nil {
		if !errors.Is(err, errGone) {
			w.t.Errorf("%s: %v", w.queue, err)
		}
		return
	}
	for !w.t.Failed() {
		if err := w.step(); err != nil {
			if !errors.Is(err, errGone) {
				w.t.Errorf("%s: %v", w.queue, err)
			}
			return
		}
		w.done++
		w.doubt = nil
		w.acknowledged <- struct{}{}
	}
}

func (w *writer) step() error {
	switch n := w.random.IntN(20); {
	case !w.exists:
		return w.create()
	case n < 8:
		return w.send()
	case n < 15:
		return w.receive()
	case n < 18:
		return w.take()
	case n == 18 && w.random.IntN(4) == 0:
		return w.remove()
	default:
		return w.compare()
	}
}

// call sends a request, and fails the test if the status of the response is not want.
func (w *writer) call(method, path string, in, out any, want int) error {
	raw, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return errors.Join(errGone, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return errors.Join(errGone, err)
	}
	if res.StatusCode != want {
		return &unexpected{method + " " + path, res.StatusCode, string(body)}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s %s: %w: %d bytes, %q, %v", method, path, err, len(body), body[:min(len(body), 200)], res.Header)
	}
	return nil
}

type unexpected struct {
	what   string
	status int
	body   string
}

func (u *unexpected) Error() string {
	return fmt.Sprintf("%s: status %d: %s", u.what, u.status, u.body)
}

func (w *writer) create() error {
	w.doubt = func() { w.exists, w.have, w.nextSeq = true, nil, 1 }
	in := map[string]any{"kind": "queue", "path": w.queue, "properties": map[string]any{
		"LockDuration": "PT5M", "MaxDeliveryCount": 3, "DefaultMessageTimeToLive": "P1D",
	}}
	if err := w.call(http.MethodPost, "/entities", in, nil, http.StatusCreated); err != nil {
		return err
	}
	w.doubt()
	return nil
}

func (w *writer) remove() error {
	w.doubt = func() { w.exists, w.have = false, nil }
	if err := w.call(http.MethodDelete, "/entities/"+w.queue, nil, nil, http.StatusNoContent); err != nil {
		return err
	}
	w.doubt()
	return nil
}

// send sends a batch, sometimes a single large message, whose body is stored
// ahead of its batch.
func (w *writer) send() error {
	n, size := 1+w.random.IntN(20), 10+w.random.IntN(2000)
	if w.random.IntN(6) == 0 {
		n, size = 1, 100_000+w.random.IntN(50_000)
	}
	batch := make([]api.Outgoing, n)
	for i := range batch {
		w.serial++
		body := strings.Repeat("x", size)
		batch[i] = api.Outgoing{MessageID: fmt.Sprintf("%s-%d", w.queue, w.serial), Body: &body}
	}
	w.doubt = func() {
		for _, m := range batch {
			w.have = append(w.have, kept{id: m.MessageID, seq: w.nextSeq, size: int64(size)})
			w.nextSeq++
		}
	}
	var sent api.Sent
	if err := w.call(http.MethodPost, "/send/"+w.queue, batch, &sent, http.StatusCreated); err != nil {
		return err
	}
	for i, s := range sent.SequenceNumbers {
		if s != w.nextSeq+int64(i) {
			return fmt.Errorf("message %d of the batch got number %d, want %d", i, s, w.nextSeq+int64(i))
		}
	}
	w.doubt()
	return nil
}

// receive locks some messages and settles each in some way.
func (w *writer) receive() error {
	w.doubt = nil // the receive can only have locked messages
	var got api.Messages
	if err := w.call(http.MethodPost, "/receive/"+w.queue, api.Receive{Limit: new(1 + w.random.IntN(6))}, &got, http.StatusOK); err != nil {
		return err
	}
	for _, m := range got.Messages {
		i := w.find(m.MessageID)
		if i < 0 || w.have[i].dead {
			return fmt.Errorf("received %s, which should not exist", m.MessageID)
		}
		if k := w.have[i]; m.SequenceNumber != k.seq || m.DeliveryCount != k.failures || m.Size != k.size {
			return fmt.Errorf("received %s as number %d, %d failures, %d bytes; want %+v", m.MessageID, m.SequenceNumber, m.DeliveryCount, m.Size, k)
		}
		outcome := [...]string{"complete", "complete", "abandon", "dead-letter", "release"}[w.random.IntN(5)]
		w.doubt = func() { w.settled(m.MessageID, outcome) }
		if err := w.call(http.MethodPost, "/settle", api.Settle{LockToken: m.LockToken, Outcome: outcome}, nil, http.StatusNoContent); err != nil {
			return err
		}
		w.doubt()
		w.doubt = nil
	}
	return nil
}

func (w *writer) settled(id, outcome string) {
	i := w.find(id)
	switch k := &w.have[i]; outcome {
	case "complete":
		w.have = append(w.have[:i:i], w.have[i+1:]...)
	case "abandon":
		k.failures++
		k.dead = k.failures == 3
	case "dead-letter":
		k.dead = true
	}
}

// take receives and deletes one message. If the response is lost, it is unknown which message
// was deleted, so the next comparison finds out.
func (w *writer) take() error {
	w.lost = true
	var got api.Messages
	if err := w.call(http.MethodPost, "/receive/"+w.queue, api.Receive{Mode: "receive-and-delete"}, &got, http.StatusOK); err != nil {
		return err
	}
	for _, m := range got.Messages {
		i := w.find(m.MessageID)
		if i < 0 || w.have[i].dead {
			return fmt.Errorf("took %s, which should not exist", m.MessageID)
		}
		w.have = append(w.have[:i:i], w.have[i+1:]...)
	}
	w.lost = false
	return nil
}

// found is the actual content of the queue.
type found struct {
	exists bool
	have   []kept
	counts api.Counts
}

// look reads the whole queue and its dead-letter queue.
func (w *writer) look() (f found, err error) {
	var e api.Entity
	err = w.call(http.MethodGet, "/entities/"+w.queue, nil, &e, http.StatusOK)
	if u, ok := errors.AsType[*unexpected](err); ok && u.status == http.StatusNotFound {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	f.exists, f.counts = true, e.Counts
	for _, place := range []string{"", "/$DeadLetterQueue"} {
		for from := int64(1); ; {
			var page api.Messages
			if err := w.call(http.MethodGet, fmt.Sprintf("/peek/%s%s?limit=200&from=%d", w.queue, place, from), nil, &page, http.StatusOK); err != nil {
				return f, err
			}
			for _, m := range page.Messages {
				k := kept{id: m.MessageID, seq: m.SequenceNumber, size: m.Size, failures: m.DeliveryCount, dead: place != "", enqueued: m.EnqueuedTime}
				if m.ExpiresAt != nil {
					k.expires = *m.ExpiresAt
				}
				f.have = append(f.have, k)
				from = m.SequenceNumber + 1
			}
			if len(page.Messages) == 0 {
				break
			}
		}
	}
	slices.SortFunc(f.have, func(a, b kept) int { return cmp.Compare(a.seq, b.seq) })
	return f, nil
}

// compare compares the queue with the acknowledged operations. If the last operation was never
// acknowledged, it may have happened or not.
func (w *writer) compare() error {
	f, err := w.look()
	if err != nil {
		return err
	}
	without := w.differs(f)
	if without != nil && w.doubt != nil {
		w.doubt()
		if with := w.differs(f); with != nil {
			return fmt.Errorf("without the operation in doubt: %w; with it: %w", without, with)
		}
		without = nil
	}
	w.doubt, w.lost = nil, false
	if without == nil && f.exists {
		w.have = f.have // keeps the times that were seen first
	}
	return without
}

func (w *writer) differs(f found) error {
	if f.exists != w.exists {
		return fmt.Errorf("the queue exists: %t, want %t", f.exists, w.exists)
	}
	want := w.have
	if w.lost && len(f.have) == len(want)-1 { // one message that was not dead-lettered may be gone
		for i, k := range want {
			if i == len(f.have) || f.have[i].id != k.id {
				if k.dead {
					break
				}
				want = append(want[:i:i], want[i+1:]...)
				break
			}
		}
	}
	if len(f.have) != len(want) {
		return fmt.Errorf("got %d messages, want %d", len(f.have), len(want))
	}
	dead := int64(0)
	for i, k := range want {
		is := f.have[i]
		if k.enqueued.IsZero() {
			k.enqueued, k.expires = is.enqueued, is.enqueued.Add(24*time.Hour)
		}
		if k.dead { // dead letters do not expire
			k.expires = time.Time{}
		}
		if is != k {
			return fmt.Errorf("found %+v, want %+v", is, k)
		}
		if k.dead {
			dead++
		}
	}
	if c := f.counts; c.DeadLetter != dead || c.Active+c.Locked != int64(len(want))-dead {
		return fmt.Errorf("the counts are %+v for %d messages, %d of them dead", c, len(want), dead)
	}
	return nil
}

func (w *writer) find(id string) int {
	for i, k := range w.have {
		if k.id == id {
			return i
		}
	}
	return -1
}
