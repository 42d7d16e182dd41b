package codec_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp/codec"
	"mayfly/web/amqp/wire"
)

// arrive sends an encoded message to an entity in pieces, as a link does. The last read of the body
// returns `breaks`, unless that is nil.
func (w world) arrive(to engine.Path, encoded []byte, breaks error) error {
	r, p := io.Pipe()
	s := &wire.Scanner{}
	began := make(chan struct{})
	s.Data = writer(func(b []byte) (int, error) {
		select {
		case <-began:
		default:
			close(began)
		}
		return p.Write(b)
	})
	go func() {
		var err error
		for rest := encoded; len(rest) > 0 && err == nil; {
			n := min(7000, len(rest))
			_, err = s.Write(rest[:n])
			rest = rest[n:]
		}
		p.CloseWithError(errors.Join(err, breaks))
	}()
	<-began
	out, err := codec.DecodeStream(s, r)
	if err != nil {
		r.CloseWithError(err)
		return err
	}
	_, err = w.Send(w.Context(), to, []broker.Outgoing{out}, "")
	r.CloseWithError(io.ErrClosedPipe)
	return err
}

type writer func(b []byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }

// A message that arrives in pieces is the same as one that arrives at once, large or
// small, in one section or several.
func TestBegin(t *testing.T) {
	big := strings.Repeat("0123456789", 9000) // more than is kept in memory while it arrives
	for name, body := range map[string][]string{
		"small": {"hello"}, "small in three": {"a", "", "b"}, "large": {big}, "large in three": {big, "x", big},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t)
			w.CreateQueue("q", engine.Config{})
			s := sender()
			s.Body = body
			if err := w.arrive("q", s.encode(), nil); err != nil {
				t.Fatal(err)
			}
			_, got := w.receive("q", engine.PeekLock)
			diff(t, owned(s).Message, owned(got).Message)
			diff(t, s.Properties, got.Properties)
			diff(t, s.Footer, got.Footer)
			if len(got.Body) != len(body) || strings.Join(got.Body, "|") != strings.Join(body, "|") {
				t.Errorf("the body has %d sections", len(got.Body))
			}
			r, _ := w.peek("q")
			if c := must[engine.Content](t)(r.Content.Content()); c.Preview != engine.Preview([]byte(strings.Join(body, ""))) {
				t.Errorf("the preview is %q", c.Preview)
			}
		})
	}
}

func TestBeginBreaksOff(t *testing.T) {
	w := start(t)
	w.CreateQueue("q", engine.Config{})
	big := variant(func(s *spoken) { s.Body = []string{strings.Repeat("x", 100_000)} }).encode()
	gone := errors.New("the link is gone")
	if err := w.arrive("q", big, gone); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	for name, encoded := range map[string][]byte{"within data": big[:90_000], "before the footer's end": append(big, 0x00, 0x53)} {
		if err := w.arrive("q", encoded, nil); err == nil {
			t.Errorf("%s: an incomplete message was accepted", name)
		} else if e, _ := codec.AMQPError(err); e.Condition != wire.CondDecodeError {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := w.arrive("q", append(variant(func(s *spoken) { s.Body = []string{"x"} }).encode(), 0x00, 0x53, 0x78, 0xc1, 4, 2, 0x53, 1, 0x40), nil); err == nil {
		t.Error("a footer with a number for a key was accepted")
	}
	if rows := must[[]engine.Row](t)(w.Peek(w.Context(), "q", 1, 9, "")); len(rows) != 0 {
		t.Errorf("MSG-8: got %d messages", len(rows))
	}
	if _, err := codec.DecodeStream(&wire.Scanner{}, nil); !errors.Is(err, engine.ErrArgument) {
		t.Errorf("before any bytes have arrived: %v", err)
	}
}

// A body is encoded the same from memory and as a stream.
func TestStream(t *testing.T) {
	for name, s := range map[string]spoken{
		"one": plain, "several": sender(), "none": variant(func(s *spoken) { s.Kind, s.Body = wire.NoBody, nil }),
		"sequences": variant(func(s *spoken) { s.Kind, s.Body = wire.SequenceBody, []string{"\x45", "\xc0\x02\x01\x40", "\x45"} }),
		"a value":   variant(func(s *spoken) { s.Kind, s.Body = wire.ValueBody, []string{"\x40"} }),
		"long":      variant(func(s *spoken) { s.Body = []string{strings.Repeat("x", 300), strings.Repeat("y", 255)} }),
	} {
		t.Run(name, func(t *testing.T) {
			packed, body := submit(t, must[broker.Outgoing](t)(codec.DecodeMessage(s.encode())))
			d := stored(packed)
			var e codec.Envelope
			must[[]byte](t)(e.EncodeDelivery([]byte("before"), &d))
			streamed := must[[]byte](t)(io.ReadAll(e.EncodeStream(bytes.NewReader(body))))
			if !bytes.Equal(streamed, e.EncodeBody(body)) || int64(len(streamed)) != e.BodySize() {
				t.Errorf("%d bytes of %d: %q", len(streamed), e.BodySize(), streamed)
			}
			whole := append(append(bytes.Clone(e.Head), streamed...), e.Tail...)
			if !bytes.Equal(whole, e.AppendMessage(nil, body)) || int64(len(whole)) != e.Size() {
				t.Errorf("%q", whole)
			}
			diff(t, s.Body, hear(t, whole).Body)
			e.OmitBody()
			short := hear(t, e.AppendMessage(nil, nil))
			if short.Kind != wire.NoBody || e.BodySize() != 0 || int64(len(e.AppendMessage(nil, nil))) != e.Size() {
				t.Errorf("without its body the message has %v", short.Body)
			}
			diff(t, s.Footer, short.Footer)
		})
	}
}

// A stored message whose body was replaced is encoded with one data section, whatever sections the
// original body had.
func TestOtherBody(t *testing.T) {
	none := variant(func(s *spoken) { s.Kind, s.Body = wire.NoBody, nil })
	for name, was := range map[string]broker.Outgoing{
		"several": must[broker.Outgoing](t)(codec.DecodeMessage(sender().encode())), "none": must[broker.Outgoing](t)(codec.DecodeMessage(none.encode())),
		"a size that is none": {Content: engine.Content{Wire: "\x0e\x0b\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"}},
	} {
		for _, body := range []string{"", "on", "other and longer than it was"} {
			was.Body = []byte(body)
			packed, stays := submit(t, was)
			d := stored(packed)
			var e codec.Envelope
			must[[]byte](t)(e.EncodeDelivery(nil, &d))
			if got := hear(t, e.AppendMessage(nil, stays)); strings.Join(got.Body, "") != body {
				t.Errorf("%s: %q was returned as %q", name, body, got.Body)
			}
		}
	}
}

// An Envelope that is used for several messages in turn encodes each like a new Envelope.
func TestEnvelopeAgain(t *testing.T) {
	var e codec.Envelope
	var buffer []byte
	for _, s := range []spoken{sender(), plain, variant(func(s *spoken) { s.Kind, s.Body = wire.NoBody, nil }), sender()} {
		packed, body := submit(t, must[broker.Outgoing](t)(codec.DecodeMessage(s.encode())))
		d := stored(packed)
		var fresh codec.Envelope
		must[[]byte](t)(fresh.EncodeDelivery(nil, &d))
		buffer = must[[]byte](t)(e.EncodeDelivery(buffer[:0], &d))
		if !bytes.Equal(e.AppendMessage(nil, body), fresh.AppendMessage(nil, body)) {
			t.Errorf("the reused envelope encodes %q", e.AppendMessage(nil, body))
		}
	}
}

// A content that this package has not written is an error, and nothing is appended.
func TestCorrupt(t *testing.T) {
	for name, packed := range map[string]engine.Packed{
		"content": "\x01", "extras": engine.Content{Wire: "\x01"}.Pack(), "an id": engine.Content{Wire: "\x09\x01\xff"}.Pack(),
		"annotations": engine.Content{Wire: "\x0b\x01\xff"}.Pack(), "of the delivery": engine.Content{Wire: "\x0c\x01\xff"}.Pack(),
		"sizes": engine.Content{Wire: "\x0e\x01\xff"}.Pack(),
	} {
		t.Run(name, func(t *testing.T) {
			d := stored(packed)
			var e codec.Envelope
			if b, err := e.EncodeDelivery([]byte("b"), &d); err == nil || string(b) != "b" {
				t.Errorf("%q, %v", b, err)
			} else if !codec.IsInternal(err) {
				t.Errorf("%v is not an internal error", err)
			}
		})
	}
	d := stored(engine.Content{Wire: "\xf0\x02ab\x02\x01\x07"}.Pack()) // a field of a later version is skipped
	var e codec.Envelope
	must[[]byte](t)(e.EncodeDelivery(nil, &d))
	if got := hear(t, e.AppendMessage(nil, nil)); got.Header.Priority != wire.Some(uint8(7)) {
		t.Errorf("%+v", got.Header)
	}
}

func TestAMQPError(t *testing.T) {
	for err, want := range map[error]struct {
		cond   string
		status int32
	}{
		engine.ErrNotFound: {"amqp:not-found", 404}, engine.ErrMessageNotFound: {"com.microsoft:message-not-found", 404},
		engine.ErrLockLost: {"com.microsoft:message-lock-lost", 410}, engine.ErrSessionLockLost: {"com.microsoft:session-lock-lost", 410},
		engine.ErrSessionLocked: {"com.microsoft:session-cannot-be-locked", 410}, engine.ErrExists: {"com.microsoft:entity-already-exists", 409},
		engine.ErrDisabled: {"com.microsoft:entity-disabled", 400}, engine.ErrTooLarge: {"amqp:link:message-size-exceeded", 403},
		engine.ErrNotAllowed: {"amqp:not-allowed", 400}, engine.ErrRolledBack: {"amqp:transaction:rollback", 400},
		engine.ErrQuota: {"amqp:resource-limit-exceeded", 403}, engine.ErrDuplicate: {"amqp:not-allowed", 400},
		engine.ErrArgument: {"com.microsoft:argument-error", 400}, engine.ErrOutOfRange: {"com.microsoft:argument-out-of-range", 400},
		engine.ErrNotImplemented: {"amqp:not-implemented", 501}, engine.ErrTimeout: {"com.microsoft:timeout", 408},
		engine.ErrBusy: {"com.microsoft:server-busy", 503}, engine.ErrClosed: {"com.microsoft:server-busy", 503},
		engine.ErrChanged: {"amqp:precondition-failed", 409}, engine.ErrTransaction: {"amqp:transaction:unknown-id", 400},
		context.DeadlineExceeded: {"com.microsoft:timeout", 408}, context.Canceled: {"com.microsoft:operation-cancelled", 503},
		io.ErrUnexpectedEOF: {"amqp:internal-error", 500},
	} {
		t.Run("§16 "+err.Error(), func(t *testing.T) {
			e, status := codec.AMQPError(err)
			if string(e.Condition) != want.cond || status != want.status || (e.Description == err.Error()) == codec.IsInternal(err) {
				t.Errorf("got %+v, %d", e, status)
			}
		})
	}
	e, status := codec.AMQPError(&wire.ProtocolError{Condition: wire.CondMessageSizeExceeded})
	if e.Condition != wire.CondMessageSizeExceeded || status != 403 {
		t.Errorf("%+v, %d", e, status)
	}
}
