package mongo

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A fake is a server that speaks enough of MongoDB's protocol to give answers that no available
// server can be made to give. It answers each command with a function, and records the
// commands.
type fake struct {
	host    string
	hello   bson.D
	without string                                     // name of a command that it does not have
	reply   func(name string, command bson.Raw) bson.D // if nil, or if it returns nil, the answer is success

	turn sync.Mutex // held while reply runs, so that commands are handled one after another
	mu   sync.Mutex
	got  []bson.Raw // guarded by mu; all commands except hello, with their documents
}

// helloAlone returns the hello answer of a standalone server.
func helloAlone() bson.D {
	return bson.D{
		{Key: "ok", Value: 1}, {Key: "ismaster", Value: true}, {Key: "isWritablePrimary", Value: true}, {Key: "helloOk", Value: true},
		{Key: "minWireVersion", Value: int32(0)}, {Key: "maxWireVersion", Value: int32(21)},
		{Key: "maxBsonObjectSize", Value: int32(16 << 20)}, {Key: "maxMessageSizeBytes", Value: int32(48_000_000)},
		{Key: "maxWriteBatchSize", Value: int32(100_000)}, {Key: "logicalSessionTimeoutMinutes", Value: int32(30)},
	}
}

// helloPrimary returns the hello answer of the primary of a replica set whose only member is
// at host.
func helloPrimary(host string) bson.D {
	return append(helloAlone(),
		bson.E{Key: "setName", Value: "rs0"}, bson.E{Key: "setVersion", Value: int32(1)},
		bson.E{Key: "hosts", Value: bson.A{host}}, bson.E{Key: "primary", Value: host}, bson.E{Key: "me", Value: host})
}

// startFake starts a fake that listens until the test ends. Set its fields before a client
// connects.
func startFake(t *testing.T) *fake {
	t.Helper()
	l := listen(t)
	f := &fake{host: l.Addr().String(), hello: helloAlone()}
	serve(t, l, f.converse)
	return f
}

func (f *fake) url() string { return "mongodb://" + f.host + "/?serverSelectionTimeoutMS=10000" }

func (f *fake) open(t *testing.T) *database {
	t.Helper()
	return openURL(t, f.url())
}

// openURL opens a connection that is closed when the test ends.
func openURL(t *testing.T, url string) *database {
	t.Helper()
	d, _, err := connect(t.Context(), url, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	closeAfter(t, d)
	return d
}

// commands returns the commands with this name received so far.
func (f *fake) commands(name string) (found []bson.Raw) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.got {
		if nameOf(c) == name {
			found = append(found, c)
		}
	}
	return found
}

func nameOf(command bson.Raw) string { return command.Index(0).Key() }

func (f *fake) answer(command bson.Raw) bson.D {
	name := nameOf(command)
	if name == f.without {
		return bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: int32(59)}, {Key: "errmsg", Value: "no such command"}}
	}
	if strings.EqualFold(name, "hello") || strings.EqualFold(name, "ismaster") {
		return f.hello
	}
	f.mu.Lock()
	f.got = append(f.got, command)
	f.mu.Unlock()
	if a := f.byHand(name, command); a != nil {
		return a
	}
	switch name {
	case "find":
		return bson.D{{Key: "ok", Value: 1}, {Key: "cursor", Value: bson.D{
			{Key: "id", Value: int64(0)}, {Key: "ns", Value: "mayfly.c"}, {Key: "firstBatch", Value: bson.A{}}}}}
	case "insert", "delete":
		return bson.D{{Key: "ok", Value: 1}, {Key: "n", Value: int32(1)}}
	}
	return bson.D{{Key: "ok", Value: 1}}
}

func (f *fake) byHand(name string, command bson.Raw) bson.D {
	if f.reply == nil {
		return nil
	}
	f.turn.Lock()
	defer f.turn.Unlock()
	return f.reply(name, command)
}

// These are operation codes of the wire protocol.
const (
	opReply = 1
	opQuery = 2004 // of the first message on a connection
	opMsg   = 2013
)

func (f *fake) converse(c net.Conn) error {
	for {
		head := make([]byte, 16)
		if _, err := io.ReadFull(c, head); err != nil {
			return err
		}
		body := make([]byte, binary.LittleEndian.Uint32(head)-16)
		if _, err := io.ReadFull(c, body); err != nil {
			return err
		}
		request := binary.LittleEndian.Uint32(head[4:])
		var command bson.Raw
		var before []byte // the bytes before the document of the answer
		var code uint32
		switch binary.LittleEndian.Uint32(head[12:]) {
		case opQuery:
			end := 4 + slices.Index(body[4:], 0) + 1 + 8 // flags, collection, and two numbers
			command, code, before = body[end:], opReply, make([]byte, 20)
			before[16] = 1 // one document
		case opMsg:
			var err error
			if command, err = message(body); err != nil {
				return err
			}
			code, before = opMsg, make([]byte, 5)
		default:
			return fmt.Errorf("message of an unknown kind: %x", head)
		}
		doc, err := bson.Marshal(f.answer(command))
		if err != nil {
			return err
		}
		out := binary.LittleEndian.AppendUint32(nil, uint32(16+len(before)+len(doc)))
		for _, n := range []uint32{0, request, code} {
			out = binary.LittleEndian.AppendUint32(out, n)
		}
		if _, err := c.Write(slices.Concat(out, before, doc)); err != nil {
			return err
		}
	}
}

// message inserts the document sequences that follow a command into it.
func message(body []byte) (bson.Raw, error) {
	var command bson.D
	for at := 4; at < len(body); {
		kind := body[at]
		at++
		size := int(binary.LittleEndian.Uint32(body[at:]))
		section := body[at : at+size]
		at += size
		if kind == 0 {
			if err := bson.Unmarshal(section, &command); err != nil {
				return nil, err
			}
			continue
		}
		end := 4 + slices.Index(section[4:], 0)
		name, docs := string(section[4:end]), bson.A{}
		for rest := section[end+1:]; len(rest) > 0; {
			n := binary.LittleEndian.Uint32(rest)
			docs = append(docs, bson.Raw(rest[:n]))
			rest = rest[n:]
		}
		command = append(command, bson.E{Key: name, Value: docs})
	}
	return bson.Marshal(command)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serve calls converse for each connection until the test ends, and waits for the calls.
func serve(t *testing.T, l net.Listener, converse func(net.Conn) error) {
	t.Helper()
	var mu sync.Mutex
	conns := map[net.Conn]bool{}
	over := false
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			if over {
				c.Close()
				mu.Unlock()
				return
			}
			conns[c] = true
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				err := converse(c)
				var closed *net.OpError
				var record tls.RecordHeaderError
				if err != nil && !errors.Is(err, io.EOF) && !errors.As(err, &closed) && !errors.As(err, &record) {
					t.Logf("the fake server: %v", err)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		over = true
		for c := range conns {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}
