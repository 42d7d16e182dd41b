package exchange

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/job"
	"mayfly/web/auth/origin"
)

const (
	// MaxFile is how many bytes an uploaded file may have. Larger files are imported through
	// the API, as they arrive.
	MaxFile   = 256 << 20
	maxTotal  = 1 << 30   // bytes of all files together
	maxFiles  = 50        // files
	uploadTTL = time.Hour // how long a file is kept that is not used
)

// An Uploads keeps uploaded files from the dry run until the job that sends their messages. They
// are in the folder for temporary files, and are removed an hour after their last use or when the
// server ends. It is safe for concurrent use. Call Close when done.
type Uploads struct {
	bodyBudget *origin.BodyBudget // for lines
	maxBytes   int64              // bytes of all files together

	mu        sync.Mutex
	files     map[string]*File // by ID, guarded by mu
	bytes     int64            // of all files, including those still being uploaded, guarded by mu
	uploading int              // files, guarded by mu
	closed    bool             // guarded by mu
}

// NewUploads returns an Uploads without files.
func NewUploads() *Uploads {
	return &Uploads{bodyBudget: origin.NewBodyBudget(), maxBytes: maxTotal, files: map[string]*File{}}
}

// Close removes all files.
func (s *Uploads) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, f := range s.files {
		s.drop(f)
	}
}

// A File is an uploaded file.
type File struct {
	ID        string // identifies it in requests
	Name      string // the name given by the browser; may be empty
	Namespace string // the namespace it was uploaded to
	Size      int64

	uploads *Uploads
	disk    *os.File
	timer   *time.Timer

	expires time.Time // it is removed then unless it is used before, guarded by Uploads.mu
	readers int       // readers, guarded by Uploads.mu
	dropped bool      // removed from the uploads; discarded when its last reader ends, guarded by Uploads.mu
	lines   int64     // found by the latest dry run, guarded by Uploads.mu
}

// Put stores the contents of in. The error is engine.ErrTooLarge for a file larger than MaxFile,
// engine.ErrBusy if the Uploads is full, engine.ErrClosed if it is closed, or in's.
func (s *Uploads) Put(namespace, name string, in io.Reader) (f *File, err error) {
	if err := s.reserve(); err != nil {
		return nil, err
	}
	f = &File{ID: rand.Text(), Name: name, Namespace: namespace, uploads: s}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.uploading--; err == nil && s.closed {
			err = engine.Refuse(engine.ErrClosed, "The server is shutting down.")
		}
		if err != nil {
			s.bytes -= f.Size
			f.discard()
			f = nil
			return
		}
		s.files[f.ID] = f
		f.expires = time.Now().Add(uploadTTL)
		f.timer = time.AfterFunc(uploadTTL, func() { s.expire(f) })
	}()
	f.disk, err = os.CreateTemp("", "mayfly-import-")
	if err != nil {
		return nil, engine.Refuse(engine.ErrBusy, "The folder for temporary files cannot take another file: %v.", withoutPath(err))
	}
	_ = os.Remove(f.disk.Name()) //nolint:errcheck // where this works the open file needs no name any more
	return f, f.fill(in)
}

// withoutPath returns an error about a file without the file's path.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}

// reserve reserves a place for one more file.
func (s *Uploads) reserve() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return engine.Refuse(engine.ErrClosed, "The server is shutting down.")
	case len(s.files)+s.uploading >= maxFiles:
		return engine.Refuse(engine.ErrBusy, "%d files are already waiting to be imported, the maximum. Try again later.", maxFiles)
	}
	s.uploading++
	return nil
}

// fill writes the contents of in to the file, reserving the bytes before each write.
func (f *File) fill(in io.Reader) error {
	part := make([]byte, 64<<10)
	for {
		n, err := in.Read(part)
		if n > 0 {
			if err := f.grow(int64(n)); err != nil {
				return err
			}
			if _, err := f.disk.Write(part[:n]); err != nil {
				return engine.Refuse(engine.ErrBusy, "The folder for temporary files cannot take the file: %v.", withoutPath(err))
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (f *File) grow(n int64) error {
	s := f.uploads
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case f.Size+n > MaxFile:
		return engine.Refuse(engine.ErrTooLarge, "The file has more than %d MiB. Import it with the command mayfly import, which takes files of any size.", MaxFile>>20)
	case s.bytes+n > s.maxBytes:
		return engine.Refuse(engine.ErrBusy, "Too many files are waiting to be imported. Try again later.")
	}
	f.Size, s.bytes = f.Size+n, s.bytes+n
	return nil
}

// discard closes and removes the file on disk.
func (f *File) discard() {
	if f.disk != nil {
		_ = f.disk.Close()           //nolint:errcheck // the contents are not needed
		_ = os.Remove(f.disk.Name()) //nolint:errcheck // it may have been removed already
	}
}

// Drop removes the file with the ID `word`, if there is one. Its content stays on disk until its last
// reader ends.
func (s *Uploads) Drop(word string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[word]; f != nil {
		s.drop(f)
	}
}

// expire removes a file whose time is over. It checks the time again, because the file may
// have been used since the timer fired.
func (s *Uploads) expire(f *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files[f.ID] == f && !time.Now().Before(f.expires) {
		s.drop(f)
	}
}

// drop removes f. The caller holds mu.
func (s *Uploads) drop(f *File) {
	delete(s.files, f.ID)
	f.timer.Stop()
	f.dropped = true
	f.release()
}

// release discards the file if it was dropped and has no readers. The caller holds the mu of its
// Uploads.
func (f *File) release() {
	if f.dropped && f.readers == 0 {
		f.uploads.bytes -= f.Size
		f.discard()
	}
}

// acquire returns the namespace's file with the ID `word` and restarts its hour. The file's content
// stays on disk at least until the caller calls `free`. The error is engine.ErrNotFound if the
// namespace has no such file.
func (s *Uploads) acquire(namespace, word string) (f *File, free func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f = s.files[word]
	if f == nil || f.Namespace != namespace {
		return nil, nil, engine.Refuse(engine.ErrNotFound, "The file was removed. Upload it again.")
	}
	f.readers++
	f.expires = time.Now().Add(uploadTTL)
	f.timer.Reset(uploadTTL)
	return f, sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.readers--
		f.release()
	}), nil
}

// DryRun makes a dry run of importing a file, and returns its result and the file. The error
// is engine.ErrNotFound if the file is not kept any more, or that of RunDry.
func (s *Uploads) DryRun(ctx context.Context, b *broker.Broker, word string, to engine.Path, how Remap) (DryRun, *File, error) {
	f, free, err := s.acquire(b.Name(), word)
	if err != nil {
		return DryRun{}, nil, err
	}
	defer free()
	r := NewReader(b, s.bodyBudget.NewShare(""), io.NewSectionReader(f.disk, 0, f.Size), job.FeedPosition{}, how)
	defer r.Close()
	out, err := RunDry(ctx, b, r, to)
	if err == nil {
		s.mu.Lock()
		f.lines = out.Lines
		s.mu.Unlock()
	}
	return out, f, err
}

// Find returns a file and its number of lines, unreadable ones included, as counted by the
// latest dry run.
func (s *Uploads) Find(namespace, word string) (*File, int64, error) {
	f, free, err := s.acquire(namespace, word)
	if err != nil {
		return nil, 0, err
	}
	defer free()
	s.mu.Lock()
	defer s.mu.Unlock()
	return f, f.lines, nil
}

// Feed returns the messages of a file for a job. The job drops the file at its end.
func (s *Uploads) Feed(b *broker.Broker, word string, how Remap) job.Feed {
	return feed{s, b, word, how}
}

type feed struct {
	uploads *Uploads
	b       *broker.Broker
	id      string
	remap   Remap
}

func (f feed) Close() { f.uploads.Drop(f.id) }

func (f feed) Next(ctx context.Context, from job.FeedPosition) (all []job.FeedMessage, done func(), err error) {
	file, free, err := f.uploads.acquire(f.b.Name(), f.id)
	if err != nil {
		return nil, nil, err
	}
	open := func(from job.FeedPosition) *Reader {
		return NewReader(f.b, f.uploads.bodyBudget.NewShare(""), io.NewSectionReader(file.disk, from.Offset, file.Size-from.Offset), from, f.remap)
	}
	r := open(from)
	var large *Reader
	done = func() {
		r.Close()
		if large != nil {
			large.Close()
		}
		free()
	}
	for size := int64(0); len(all) < BatchMessages && size < BatchBytes; {
		before := r.At()
		item, err := r.Next(ctx)
		if item.Parts > 0 && err == nil {
			if !item.Expired && len(all) > 0 {
				break // the next call returns it alone
			}
			if err = r.Rest(); err == nil && !item.Expired { // all of its lines are valid
				large = open(before)
				item, err = large.Next(ctx)
			}
		}
		bad, unreadable := errors.AsType[*LineError](err)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, engine.ErrBusy) && len(all) > 0: // the bytes already read go first
			return all, done, nil
		case unreadable:
			all = append(all, job.FeedMessage{Line: bad.Line, Next: r.At(), Reason: errorText(bad.Err)})
		case err != nil:
			done()
			return nil, nil, err
		default:
			all = append(all, job.FeedMessage{Line: item.Line, Next: r.At(), Message: item.Message, Expired: item.Expired})
		}
		if size += item.Size; large != nil {
			break
		}
	}
	return all, done, nil
}

// errorText returns the text of an error about a message for users.
func errorText(err error) string {
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		return e.Text
	}
	return sentence(err.Error())
}
