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

// The first line of a file, but for the version.
const firstLine = "Mayfly backup "

// version is the version of the format.
const version = 1

// The kinds of frames. The numbers are stored.
const (
	frameHeader = iota + 1
	frameRecord
	frameBody
	frameEvent
	frameTrailer
)

const (
	// mostFrame is how many bytes a frame may have, far more than any record.
	mostFrame = 64 << 20
	// bodyFrame is how much of a body is in one frame.
	bodyFrame = 256 << 10
	// step is how much is allocated for bytes that are yet to come.
	step = 64 << 10
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli) //nolint:gochecknoglobals // a constant of the standard library, in effect

// ErrDamaged is wrapped by the errors about a file that is not as it was
// written.
var ErrDamaged = errors.New("the backup is damaged")

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
}

// A frameWriter writes a file.
type frameWriter struct {
	out io.Writer // what comes here is in sum
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

// put writes a frame with what add appends.
func (f *frameWriter) put(kind byte, add func([]byte) []byte) error {
	const head = 5
	f.one = add(append(f.one[:0], kind, 0, 0, 0, 0))
	n := len(f.one) - head
	if n > mostFrame {
		return fmt.Errorf("it has %d bytes, and a backup takes up to %d of one thing", n, mostFrame)
	}
	binary.BigEndian.PutUint32(f.one[1:head], uint32(n))
	f.one = binary.BigEndian.AppendUint32(f.one, crc32.Checksum(f.one, castagnoli))
	_, err := f.z.Write(f.one)
	return err
}

// end writes what comes behind the last frame.
func (f *frameWriter) end() error {
	if err := errors.Join(f.z.Close(), f.buf.Flush()); err != nil {
		return err
	}
	_, err := f.out.Write(f.sum.Sum(nil))
	return err
}

// A summed reader reads bytes one by one, as gzip wants it so that nothing is
// read beyond its end, and sums up those that were read.
type summed struct {
	r        io.Reader
	sum      hash.Hash
	buf      []byte
	at, end  int // of buf: the next byte, and those there are
	consumed int64
}

func (s *summed) fill() error {
	s.settle()
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

// settle takes into the sum what was read of buf, and forgets it.
func (s *summed) settle() {
	s.sum.Write(s.buf[:s.at]) // it never fails, by its contract
	s.consumed += int64(s.at)
	copy(s.buf, s.buf[s.at:s.end])
	s.at, s.end = 0, s.end-s.at
}

func (s *summed) ReadByte() (byte, error) {
	if s.at == s.end {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.at++
	return s.buf[s.at-1], nil
}

func (s *summed) Read(p []byte) (int, error) {
	if s.at == s.end {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, s.buf[s.at:s.end])
	s.at += n
	return n, nil
}

// A frameReader reads a file. It trusts nothing.
type frameReader struct {
	in  *summed
	z   *gzip.Reader
	n   int64 // frames so far
	one []byte
}

// newFrameReader reads the first line.
func newFrameReader(r io.Reader) (*frameReader, error) {
	f := &frameReader{in: &summed{r: r, sum: sha256.New(), buf: make([]byte, step)}}
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
		return nil, errors.New("it is not a Mayfly backup")
	case v > version:
		return nil, fmt.Errorf("it was written by a newer Mayfly: it has format %d, and this version knows formats up to %d", v, version)
	}
	if f.z, err = gzip.NewReader(f.in); err != nil {
		return nil, f.fault(err)
	}
	f.z.Multistream(false)
	return f, nil
}

// fault says what an error of reading means.
func (f *frameReader) fault(err error) error {
	corrupt := flate.CorruptInputError(0)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return damaged("it is cut off after %d bytes", f.in.consumed+int64(f.in.at))
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return damaged("what is behind frame %d cannot be unpacked", f.n)
	default:
		return fmt.Errorf("read the backup: %w", err)
	}
}

// next reads a frame; the bytes are good until the next one.
func (f *frameReader) next() (kind byte, b []byte, err error) {
	var head [5]byte
	if _, err := io.ReadFull(f.z, head[:]); err != nil {
		return 0, nil, f.fault(err)
	}
	f.n++
	n := int(binary.BigEndian.Uint32(head[1:]))
	if n > mostFrame {
		return 0, nil, damaged("frame %d has a length that none has", f.n)
	}
	n += crc32.Size
	f.one = f.one[:0]
	for len(f.one) < n { // no more is allocated than twice what has come
		from := len(f.one)
		more := min(n-from, max(step, from))
		f.one = slices.Grow(f.one, more)[:from+more]
		if _, err := io.ReadFull(f.z, f.one[from:]); err != nil {
			return 0, nil, f.fault(err)
		}
	}
	b = f.one[:n-crc32.Size]
	if sum := crc32.Update(crc32.Checksum(head[:], castagnoli), castagnoli, b); sum != binary.BigEndian.Uint32(f.one[len(b):]) {
		return 0, nil, damaged("the check sum of frame %d does not match", f.n)
	}
	return head[0], b, nil
}

// end makes sure that nothing follows the last frame but the sum, and that it
// is right.
func (f *frameReader) end() (sum [sha256.Size]byte, err error) {
	switch n, err := io.ReadFull(f.z, make([]byte, 1)); {
	case n > 0:
		return sum, damaged("something follows its last frame")
	case !errors.Is(err, io.EOF):
		return sum, f.fault(err)
	}
	f.in.settle()
	f.in.sum.Sum(sum[:0])
	var written [sha256.Size]byte
	if _, err := io.ReadFull(f.in, written[:]); err != nil {
		return sum, f.fault(err)
	}
	if written != sum {
		return sum, damaged("the check sum of the whole does not match")
	}
	switch _, err := f.in.ReadByte(); {
	case err == nil:
		return sum, damaged("something follows its end")
	case !errors.Is(err, io.EOF):
		return sum, f.fault(err)
	}
	return sum, nil
}
