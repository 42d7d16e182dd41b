package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// For any message and frame size, the transfers carry the whole message, none is too
// large, all but the last are full, and only the first has the delivery's id and tag.
func TestSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		head, body, stream, tail := blob(t, "head"), blob(t, "body"), blob(t, "stream"), blob(t, "tail")
		s := Splitter{
			Transfer: Transfer{Handle: 3, DeliveryID: Some(uint32(300)), DeliveryTag: make([]byte, rapid.IntRange(0, 32).Draw(t, "tag")), MessageFormat: Some(uint32(0)), Settled: Some(true), State: anyTxn(t)},
			Channel:  7,
			MaxFrame: rapid.Uint32Range(0, 2000).Draw(t, "max"),
			Head:     head, Body: body, Tail: tail,
			Stream: iotest.HalfReader(bytes.NewReader(append(bytes.Clone(stream), "more"...))), StreamSize: int64(len(stream)),
		}
		most := int(max(s.MaxFrame, MinMaxFrameSize))
		want := join(head, body, stream, tail)
		var got []byte
		for i := 0; !s.Done(); i++ {
			if s.Remaining() != int64(len(want)-len(got)) {
				t.Fatalf("%d bytes are left, want %d", s.Remaining(), len(want)-len(got))
			}
			b, err := s.Next([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			b = b[len("before"):]
			r := Reader{From: bytes.NewReader(b), MaxFrame: uint32(most)}
			f, err := r.Frame()
			if err != nil || f.Channel != 7 || len(f.Body)+8 != len(b) {
				t.Fatalf("%+v %v", f, err)
			}
			var tr Transfer
			if err := tr.Decode(f.Body); err != nil {
				t.Fatal(err)
			}
			if f.Body[5] != 11 {
				t.Fatalf("transfer of %d fields", f.Body[5])
			}
			got = append(got, tr.Payload...)
			if tr.More != (len(got) < len(want)) || tr.More && len(b) != most || tr.Handle != 3 || tr.Settled != Some(true) {
				t.Fatalf("transfer %d, %d of %d bytes: %+v", i, len(b), most, tr)
			}
			if named := i == 0; tr.DeliveryID.IsSet() != named || (tr.DeliveryTag != nil) != named || tr.MessageFormat.IsSet() != named || tr.State != nil != named {
				t.Fatalf("transfer %d: %+v", i, tr)
			}
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("%d bytes arrive of %d", len(got), len(want))
		}
	})
}

func blob(t *rapid.T, name string) []byte {
	return bytes.Repeat([]byte(name), rapid.OneOf(rapid.Just(0), rapid.IntRange(0, 600)).Draw(t, name))
}

func anyTxn(t *rapid.T) State {
	return Transactional{TxnID: make([]byte, rapid.IntRange(0, 32).Draw(t, "txn"))}
}

func TestSplitFails(t *testing.T) {
	broken := errors.New("broken")
	for name, tc := range map[string]struct {
		from io.Reader
		want error
	}{
		"error":     {iotest.ErrReader(broken), broken},
		"too short": {bytes.NewReader([]byte("abc")), io.ErrUnexpectedEOF},
		"empty":     {bytes.NewReader(nil), io.ErrUnexpectedEOF},
	} {
		s := Splitter{Stream: tc.from, StreamSize: 10}
		if b, err := s.Next([]byte("before")); !errors.Is(err, tc.want) || string(b) != "before" || s.Done() {
			t.Errorf("%s: %q %v", name, b, err)
		}
	}
	s := Splitter{Transfer: Transfer{State: Transactional{TxnID: make([]byte, 600)}}, Body: []byte("a")}
	b, err := s.Next(nil)
	refused(t, err, CondFrameSizeTooSmall)
	if len(b) > 0 {
		t.Errorf("%q was written", b)
	}
}

func TestSplitIsOver(t *testing.T) {
	var s Splitter
	if _, err := s.Next(nil); err != nil || !s.Done() {
		t.Fatal(err, s.Done())
	}
	defer func() {
		if recover() == nil {
			t.Error("a transfer followed the last")
		}
	}()
	b, err := s.Next(nil)
	t.Errorf("% x %v", b, err)
}
