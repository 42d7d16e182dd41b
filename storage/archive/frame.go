package archive

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
	"strconv"
	"strings"
)

// firstLine is the beginning of a file's first line, before the version.
const firstLine = "Mayfly backup "

// version is the version of the format.
const version = 1

// The kinds of frames. The numbers are stored in files.
const (
	frameHeader = iota + 1
	frameRecord
	frameBody
	frameEvent
	frameTrailer
)

const (
	// maxFrameBytes is the maximum length of a frame: far more than any record has.
	maxFrameBytes = 64 << 20
	// bodyFrameBytes is the length of the frames of a body, except the last one.
	bodyFrameBytes = 256 << 10
	// step is the size of buffers in bytes, and the most that a reader first allocates for a
	// frame, whose length may be damaged.
	step = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant of the standard library

// ErrDamaged is wrapped by errors about a damaged file.
var ErrDamaged = errors.New("the backup is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// A frameWriter writes the frames of a backup.
type frameWriter struct {
	out io.Writer // also writes to sum
	sum hash.Hash
	buf *bufio.Writer
	z   *gzip.Writer
	one []byte
}

func newFrameWriter(w io.Writer) (*frameWriter, error) {
	f := &frameWriter{sum: sha256.New()}
	f.out = io.MultiWriter(w, f.sum)
	f.buf = bufio.NewWriterSize(f.out, step)
	if _, err := fmt.Fprintf(f.buf, "%s%d\n", firstLine, version); err != nil {
		return nil, err
	}
	var err error
	f.z, err = gzip.NewWriterLevel(f.buf, gzip.BestSpeed)
	return f, err
}

// put writes a frame. It calls add to append the frame's content to a buffer. The error is about a
// frame of more than maxFrameBytes, or from writing.
func (f *frameWriter) put(kind byte, add func([]byte) []byte) error {
	const head = 5
	f.one = add(append(f.one[:0], kind, 0, 0, 0, 0))
	n := len(f.one) - head
	if n > maxFrameBytes {
		return fmt.Errorf("the record has %d bytes; the maximum in a backup is %d", n, maxFrameBytes)
	}
	binary.BigEndian.PutUint32(f.one[1:head], uint32(n))
	f.one = binary.BigEndian.AppendUint32(f.one, crc32.Checksum(f.one, castagnoli))
	_, err := f.z.Write(f.one)
	return err
}

// end completes the compressed data and writes the checksum of the file.
func (f *frameWriter) end() error {
	if err := errors.Join(f.z.Close(), f.buf.Flush()); err != nil {
		return err
	}
	_, err := f.out.Write(f.sum.Sum(nil))
	return err
}

// A hashingReader hashes the bytes read from r. It is an io.ByteReader, so that gzip reads
// nothing beyond the end of its data.
type hashingReader struct {
	r        io.Reader
	sum      hash.Hash
	buf      []byte
	at, end  int // positions in buf: the next byte, and the end
	consumed int64
}

func (s *hashingReader) fill() error {
	s.hashConsumed()
	s.at, s.end = 0, 0
	for range 100 {
		n, err := s.r.Read(s.buf)
		if s.end = n; n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// hashConsumed adds the bytes read from buf to the sum, and removes them from buf.
func (s *hashingReader) hashConsumed() {
	s.sum.Write(s.buf[:s.at]) // it never fails, by its contract
	s.consumed += int64(s.at)
	copy(s.buf, s.buf[s.at:s.end])
	s.at, s.end = 0, s.end-s.at
}

func (s *hashingReader) ReadByte() (byte, error) {
	if s.at == s.end {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.at++
	return s.buf[s.at-1], nil
}

func (s *hashingReader) Read(p []byte) (int, error) {
	if s.at == s.end {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.buf[s.at:s.end])
	s.at += n
	return n, nil
}

// A frameReader reads the frames of a backup. It checks every length and checksum.
type frameReader struct {
	in  *hashingReader
	z   *gzip.Reader
	n   int64 // frames so far
	one []byte
}

// newFrameReader returns a reader of the frames of a backup. It reads the first line, and returns
// an error for a file that is not a backup or has a newer format.
func newFrameReader(r io.Reader) (*frameReader, error) {
	f := &frameReader{in: &hashingReader{r: r, sum: sha256.New(), buf: make([]byte, step)}}
	line := make([]byte, 0, 32)
	for len(line) < cap(line) && (len(line) == 0 || line[len(line)-1] != '\n') {
		b, err := f.in.ReadByte()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the backup: %w", err)
		}
		line = append(line, b)
	}
	number, ours := strings.CutPrefix(string(line), firstLine)
	number, whole := strings.CutSuffix(number, "\n")
	v, err := strconv.ParseUint(number, 10, 31)
	switch {
	case !ours || !whole || err != nil || v == 0:
		return nil, errors.New("the file is not a Mayfly backup")
	case v > version:
		return nil, fmt.Errorf("the backup was written by a newer Mayfly: it has format %d, and this version supports formats up to %d", v, version)
	}
	if f.z, err = gzip.NewReader(f.in); err != nil {
		return nil, f.fault(err)
	}
	f.z.Multistream(false)
	return f, nil
}

// fault converts an error from gzip or the file to one about the backup.
func (f *frameReader) fault(err error) error {
	corrupt := flate.CorruptInputError(0)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return damaged("the file ends early, after %d bytes", f.in.consumed+int64(f.in.at))
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return damaged("the data after frame %d cannot be decompressed", f.n)
	default:
		return fmt.Errorf("read the backup: %w", err)
	}
}

// next reads a frame; its bytes are valid until the next call.
func (f *frameReader) next() (kind byte, b []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(f.z, head[:]); err != nil {
		return 0, nil, f.fault(err)
	}
	f.n++
	n := int(binary.BigEndian.Uint32(head[1:]))
	if n > maxFrameBytes {
		return 0, nil, damaged("frame %d has an invalid length", f.n)
	}
	n += crc32.Size
	f.one = f.one[:0]
	for len(f.one) < n { // allocate at most twice the bytes that were read
		from := len(f.one)
		more := min(n-from, max(step, from))
		f.one = slices.Grow(f.one, more)[:from+more]
		if _, err := io.ReadFull(f.z, f.one[from:]); err != nil {
			return 0, nil, f.fault(err)
		}
	}
	b = f.one[:n-crc32.Size]
	if sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, b); sum != binary.BigEndian.Uint32(f.one[len(b):]) {
		return 0, nil, damaged("the checksum of frame %d does not match", f.n)
	}
	return head[0], b, nil
}

// end checks that only the SHA-256 of the file follows the last frame, and that it is right. It
// returns the sum.
func (f *frameReader) end() (sum [sha256.Size]byte, err error) {
	switch n, err := io.ReadFull(f.z, make([]byte, 1)); {
	case n > 0:
		return sum, damaged("there is data after the last frame")
	case !errors.Is(err, io.EOF):
		return sum, f.fault(err)
	}
	f.in.hashConsumed()
	f.in.sum.Sum(sum[:0])
	var written [sha256.Size]byte
	if _, err := io.ReadFull(f.in, written[:]); err != nil {
		return sum, f.fault(err)
	}
	if written != sum {
		return sum, damaged("the checksum of the file does not match")
	}
	switch _, err := f.in.ReadByte(); {
	case err == nil:
		return sum, damaged("there is data after the end")
	case !errors.Is(err, io.EOF):
		return sum, f.fault(err)
	}
	return sum, nil
}
