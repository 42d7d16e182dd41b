package storetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"mayfly/engine"
)

// A Disk limits the total size of the files in one folder. A driver's test calls Grow before a
// file of the store becomes longer.
type Disk struct {
	Path string // of the store, in the folder

	index string // the suffix of a file that does not count
	room  atomic.Int64
}

// NewDisk returns an empty disk with more room than a test needs. A file whose name ends
// in index does not count, unless index is empty.
func NewDisk(t *testing.T, index string) *Disk {
	t.Helper()
	d := &Disk{Path: filepath.Join(t.TempDir(), "store"), index: index}
	d.MakeRoom()
	return d
}

// Grow returns ENOSPC if there is no room for n more bytes.
func (d *Disk) Grow(n int64) error {
	if used, err := d.used(); err != nil || used+n > d.room.Load() {
		return errors.Join(err, &fs.PathError{Op: "write", Path: d.Path, Err: syscall.ENOSPC})
	}
	return nil
}

// MakeRoom leaves more room on the disk than a test needs.
func (d *Disk) MakeRoom() { d.room.Store(1 << 40) }

// LeaveNoRoom makes the disk full: no file can become longer.
func (d *Disk) LeaveNoRoom(t *testing.T) {
	t.Helper()
	used, err := d.used()
	if err != nil {
		t.Fatal(err)
	}
	d.room.Store(used)
}

// used returns how many bytes the files take.
func (d *Disk) used() (n int64, err error) {
	all, err := os.ReadDir(filepath.Dir(d.Path))
	for _, f := range all {
		info, err := f.Info()
		if err == nil && (d.index == "" || !strings.HasSuffix(f.Name(), d.index)) { // otherwise the file was deleted meanwhile
			n += info.Size()
		}
	}
	return n, err
}

// FillWithBatches leaves 12 MiB of room and sends batches until the store has refused two
// because the disk is full. It returns how many batches, numbered from 0, were acknowledged.
func (d *Disk) FillWithBatches(t *testing.T, s engine.Store) (batches int) {
	t.Helper()
	d.room.Store(12 << 20)
	for refused := 0; batches < 1000; {
		err := s.Commit(t.Context(), SendBatch(batches))
		switch {
		case err == nil:
			batches, refused = batches+1, 0
			continue
		case refused == 1:
			return batches
		}
		checkFullError(t, fmt.Sprint("batch ", batches), err)
		refused++ // the store may find room once, which it had reserved
	}
	t.Fatal("the disk does not become full")
	return 0
}

// messagesPerBatch is the number of messages in a batch of SendBatch.
const messagesPerBatch = 100

// SendBatch returns a batch of 100 messages in the queue 7, of 100 kB together. Each number
// gives different messages.
func SendBatch(number int) *engine.Batch {
	b := &engine.Batch{Hard: true, Now: engine.Instant(number + 1), Entities: []engine.Entity{{ID: 7, Kind: engine.Queue, Path: "q"}}}
	for i := range messagesPerBatch {
		k := engine.Key(1 + messagesPerBatch*number + i)
		b.Messages, b.Written = append(b.Messages, engine.Message{Key: k, Content: k, Subqueue: 7, Seq: engine.Seq(k)}), append(b.Written, "")
		b.Contents = append(b.Contents, engine.StoredContent{Key: k, Content: engine.Content{MessageID: fmt.Sprint(k), BodySize: 1000}.Pack()})
		b.Bodies = append(b.Bodies, engine.Body{Key: k, Bytes: []byte(strings.Repeat(fmt.Sprintf("%-10d", k), 100))})
	}
	return b
}

// ReceiveBatch returns a batch that locks the first message of SendBatch, as when it is received.
func ReceiveBatch(number int) *engine.Batch {
	m := SendBatch(number).Messages[0]
	m.LockedUntil, m.Nonce = engine.Instant(2e6), 1
	return &engine.Batch{Now: engine.Instant(1e6 + number), Messages: []engine.Message{m}, Written: []engine.Packed{""}}
}

// DeleteBatch returns a batch that deletes the messages of SendBatch.
func DeleteBatch(number int) *engine.Batch {
	b := &engine.Batch{Hard: true, Now: engine.Instant(1e6 + number)}
	for _, m := range SendBatch(number).Messages {
		b.DropMessages = append(b.DropMessages, m.Key)
		b.DropContents = append(b.DropContents, engine.DroppedContent{Key: m.Content, HasBody: true})
	}
	return b
}

// CheckBatches checks that a store has the messages of these batches, as they were sent, locked or
// not, and no others.
func CheckBatches(t *testing.T, s engine.Store, batches ...int) {
	t.Helper()
	got, err := readMessages(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	for k, m := range got.messages {
		m.LockedUntil, m.Nonce = 0, 0
		got.messages[k] = m
	}
	want := storedMessages{map[engine.Key]engine.Message{}, map[engine.Key]engine.Packed{}, map[engine.Key][]byte{}, nil}
	for _, n := range batches {
		b := SendBatch(n)
		for i, m := range b.Messages {
			want.messages[m.Key], want.packed[m.Key], want.bodies[m.Key] = m, b.Contents[i].Content, b.Bodies[i].Bytes
		}
	}
	if d := differs(want, got); d != "" || len(got.messages) != len(want.messages) || len(got.bodies) != len(want.bodies) {
		t.Fatalf("%d messages and %d bodies, %d damaged; want %d: %.500s", len(got.messages), len(got.bodies), len(got.damaged), len(want.messages), d)
	}
}

// intRange returns the numbers from `from` to end-1.
func intRange(from, end int) (numbers []int) {
	for n := from; n < end; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// CheckDiskFull checks that a store refuses messages, and reports that the disk is full.
func CheckDiskFull(t *testing.T, s engine.Store) {
	t.Helper()
	checkFullError(t, "a send", s.Commit(t.Context(), SendBatch(5000)))
	if err := s.Stage(t.Context(), 900000, strings.NewReader(strings.Repeat("x", 1<<20))); !errors.Is(err, engine.ErrUnwritable) {
		t.Errorf("Stage: %v; want ErrUnwritable", err)
	}
}

// checkFullError checks that err is a refusal that names the full disk as the reason.
func checkFullError(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, engine.ErrUnwritable) || !strings.Contains(err.Error(), "the disk is full") {
		t.Fatalf("%s: %v; want ErrUnwritable and that the disk is full", what, err)
	}
}

// acceptsDrops reports whether a store accepts only operations that free space.
func acceptsDrops(t *testing.T, s engine.Store) bool {
	t.Helper()
	r, ok := s.(engine.DropAccepter)
	if !ok {
		t.Fatal("the store is no engine.DropAccepter")
	}
	return r.AcceptsDrops()
}
