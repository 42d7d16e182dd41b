package intake

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/web/access"
)

const (
	// MostFile is how many bytes a file on a shelf has. Larger ones are imported as
	// they come, by the API.
	MostFile = 256 << 20
	mostAll  = 1 << 30   // bytes of all files together
	mostOnes = 50        // files
	keptFor  = time.Hour // a file that nobody asks for
)

// A Shelf keeps files that browsers have sent, between the page that says what would
// become of their messages and the job that sends these. They are in the folder for
// temporary files, and are gone an hour after they were last asked for, and when the
// server ends. It is safe for concurrent use. Close it.
type Shelf struct {
	room *access.Room // for lines
	most int64        // bytes of all files together

	mu     sync.Mutex
	files  map[string]*File // by word, guarded by mu
	bytes  int64            // of all, also of those that are still coming, guarded by mu
	coming int              // files, guarded by mu
	closed bool             // guarded by mu
}

// NewShelf is an empty shelf.
func NewShelf() *Shelf {
	return &Shelf{room: access.NewRoom(), most: mostAll, files: map[string]*File{}}
}

// Close lets go of all files.
func (s *Shelf) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, f := range s.files {
		s.drop(f)
	}
}

// A File is one on a shelf.
type File struct {
	Word string // by which it is asked for
	Name string // as its sender calls it; may be empty
	Of   string // the namespace that it was sent to
	Size int64

	shelf *Shelf
	on    *os.File
	gone  *time.Timer

	until   time.Time // it goes then, unless it is asked for before, guarded by Shelf.mu
	held    int       // who reads it, guarded by Shelf.mu
	dropped bool      // it goes when nobody reads it any more, guarded by Shelf.mu
	lines   int64     // that a survey has found, guarded by Shelf.mu
}

func refuse(kind error, format string, args ...any) error {
	return &engine.Refusal{Kind: kind, Text: fmt.Sprintf(format, args...)}
}

// Put keeps what is read from in. The error is engine.ErrTooLarge for a file that is
// larger than MostFile, engine.ErrBusy where there is no room, or in's.
func (s *Shelf) Put(namespace, name string, in io.Reader) (f *File, err error) {
	if err := s.come(); err != nil {
		return nil, err
	}
	f = &File{Word: rand.Text(), Name: name, Of: namespace, shelf: s}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.coming--; err == nil && s.closed {
			err = refuse(engine.ErrClosed, "The server ends.")
		}
		if err != nil {
			s.bytes -= f.Size
			f.discard()
			f = nil
			return
		}
		s.files[f.Word] = f
		f.until = time.Now().Add(keptFor)
		f.gone = time.AfterFunc(keptFor, func() { s.expire(f) })
	}()
	f.on, err = os.CreateTemp("", "mayfly-import-")
	if err != nil {
		return nil, refuse(engine.ErrBusy, "There is no room for a file in the folder for temporary files: %v.", cause(err))
	}
	_ = os.Remove(f.on.Name()) //nolint:errcheck // where that works it needs no name any more
	return f, f.fill(in)
}

// cause is what an error of a file says without the path.
func cause(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// come makes room for one file more.
func (s *Shelf) come() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return refuse(engine.ErrClosed, "The server ends.")
	case len(s.files)+s.coming >= mostOnes:
		return refuse(engine.ErrBusy, "There are %d files that wait to be imported, and there is no room for more. Try again later.", mostOnes)
	}
	s.coming++
	return nil
}

// fill writes what is read from in, for which room is made first.
func (f *File) fill(in io.Reader) error {
	part := make([]byte, 64<<10)
	for {
		n, err := in.Read(part)
		if n > 0 {
			if err := f.grow(int64(n)); err != nil {
				return err
			}
			if _, err := f.on.Write(part[:n]); err != nil {
				return refuse(engine.ErrBusy, "There is no room for the file in the folder for temporary files: %v.", cause(err))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err //nolint:wrapcheck // it is the reader's own
		}
	}
}

func (f *File) grow(n int64) error {
	s := f.shelf
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Size+n > MostFile:
		return refuse(engine.ErrTooLarge, "The file has more than %d MiB. The command mayfly import takes one of any size.", MostFile>>20)
	case s.bytes+n > s.most:
		return refuse(engine.ErrBusy, "There are too many files that wait to be imported. Try again later.")
	}
	f.Size, s.bytes = f.Size+n, s.bytes+n
	return nil
}

// discard lets go of the file itself.
func (f *File) discard() {
	if f.on != nil {
		_ = f.on.Close()           //nolint:errcheck // what is in it is wanted by nobody
		_ = os.Remove(f.on.Name()) //nolint:errcheck // it may have gone already
	}
}

// Drop lets go of a file, once nobody reads it any more.
func (s *Shelf) Drop(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[word]; f != nil {
		s.drop(f)
	}
}

// expire lets go of a file whose time is over: somebody may have asked for it since the
// timer fired.
func (s *Shelf) expire(f *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[f.Word] == f && !time.Now().Before(f.until) {
		s.drop(f)
	}
}

// drop is Drop; s.mu is held.
func (s *Shelf) drop(f *File) {
	delete(s.files, f.Word)
	f.gone.Stop()
	f.dropped = true
	f.release()
}

// release lets go of what was dropped; s.mu is held.
func (f *File) release() {
	if f.dropped && f.held == 0 {
		f.shelf.bytes -= f.Size
		f.discard()
	}
}

// hold has a file stay until free is called. The error is engine.ErrNotFound.
func (s *Shelf) hold(namespace, word string) (f *File, free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f = s.files[word]
	if f == nil || f.Of != namespace {
		return nil, nil, refuse(engine.ErrNotFound, "The file is not kept any more. Send it again.")
	}
	f.held++
	f.until = time.Now().Add(keptFor)
	f.gone.Reset(keptFor)
	return f, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.held--
		f.release()
	}), nil
}

// Survey says what would become of the messages of a file, and returns what is known
// of the file. The error is engine.ErrNotFound if it is not kept any more, else Take's.
func (s *Shelf) Survey(ctx context.Context, b *broker.Broker, word string, to engine.Path, how Remap) (Survey, *File, error) {
	f, free, err := s.hold(b.Name(), word)
	if err != nil {
		return Survey{}, nil, err
	}
	defer free()
	leave, err := s.room.Take(ctx, -1, LargestLine)
	if err != nil {
		return Survey{}, nil, err //nolint:wrapcheck // it says what it is about
	}
	defer leave()
	r := NewReader(b, s.room, io.NewSectionReader(f.on, 0, f.Size), job.Spot{}, how)
	defer r.Close()
	out, err := Take(ctx, b, r, to)
	if err == nil {
		s.mu.Lock()
		f.lines = out.Lines
		s.mu.Unlock()
	}
	return out, f, err
}

// Look is a file, and how many messages it has, with lines that are none, as the latest
// survey has counted them.
func (s *Shelf) Look(namespace, word string) (*File, int64, error) {
	f, free, err := s.hold(namespace, word)
	if err != nil {
		return nil, 0, err
	}
	defer free()
	s.mu.Lock()
	defer s.mu.Unlock()
	return f, f.lines, nil
}

// Feed has a file's messages sent by a job, which lets go of the file at its end.
func (s *Shelf) Feed(b *broker.Broker, word string, how Remap) job.Feed {
	return feed{s, b, word, how}
}

type feed struct {
	shelf *Shelf
	b     *broker.Broker
	word  string
	how   Remap
}

func (f feed) Close() { f.shelf.Drop(f.word) }

func (f feed) Next(ctx context.Context, from job.Spot) (all []job.Parcel, done func(), err error) {
	file, free, err := f.shelf.hold(f.b.Name(), f.word)
	if err != nil {
		return nil, nil, err
	}
	leave, err := f.shelf.room.Take(ctx, -1, LargestLine)
	if err != nil {
		free()
		return nil, nil, err //nolint:wrapcheck // it says what it is about
	}
	open := func(from job.Spot) *Reader {
		return NewReader(f.b, f.shelf.room, io.NewSectionReader(file.on, from.Offset, file.Size-from.Offset), from, f.how)
	}
	r := open(from)
	var large *Reader
	done = func() {
		r.Close()
		if large != nil {
			large.Close()
		}
		leave()
		free()
	}
	for size := int64(0); len(all) < AtOnce && size < BytesAtOnce; {
		before := r.At()
		item, err := r.Next(ctx)
		if item.Parts > 0 && err == nil {
			if !item.Over && len(all) > 0 {
				break // it comes alone, the next time
			}
			if err = r.Rest(); err == nil && !item.Over { // all of its lines are as they should be
				large = open(before)
				item, err = large.Next(ctx)
			}
		}
		bad, unreadable := errors.AsType[*LineError](err)
		switch {
		case errors.Is(err, io.EOF):
			return all, done, nil
		case unreadable:
			all = append(all, job.Parcel{Line: bad.Line, Next: r.At(), Why: text(bad.Err)})
		case err != nil:
			done()
			return nil, nil, err
		default:
			all = append(all, job.Parcel{Line: item.Line, Next: r.At(), Message: item.Message, Over: item.Over})
		}
		if size += item.Size; large != nil {
			break
		}
	}
	return all, done, nil
}

// text is what an error about a message says to people.
func text(err error) string {
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		return e.Text
	}
	return sentence(err.Error())
}
