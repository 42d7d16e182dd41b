package amqp_test

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/web/amqp"
)

var update = flag.Bool("update", false, "write what the server answers into testdata")

// TestDotNet sends what .NET's SDK sends, byte by byte, and compares every byte of the
// answers: the SDK reads status codes as ints, conditions as symbols and fields by their
// position. In testdata/dotnet a line that begins with > is sent. One with < is an
// expected frame, in which . stands for any digit, for random values. Time is that of the
// bubble.
func TestDotNet(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "dotnet", "*.hex"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".hex"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(string(text), "\n")
			synctest.Test(t, func(t *testing.T) { play(t, lines) })
			if *update {
				if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// play runs lines. With the update flag it writes the received frames into them.
func play(t *testing.T, lines []string) {
	w := newWorld(t, amqp.Options{}, broker.Options{})
	w.b.CreateQueue("q", engine.Config{})
	w.b.CreateQueue("qs", engine.Config{RequiresSession: true})
	client, server := net.Pipe()
	defer client.Close()
	go w.s.ServeConn(server, "") // the world waits for it
	about := ""
	for i, line := range lines {
		verb, text, _ := strings.Cut(line, " ")
		switch verb {
		case "#":
			about = text
		case ">":
			b, err := hex.DecodeString(text)
			if err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
			if _, err := client.Write(b); err != nil {
				t.Fatalf("line %d: %v", i+1, err)
			}
		case "<":
			b, err := readFrame(client)
			if err != nil {
				t.Fatalf("line %d, %s: %v", i+1, about, err)
			}
			got := hex.EncodeToString(b)
			if *update {
				lines[i] = "< " + masked(got, text)
			} else if masked(got, text) != text {
				t.Errorf("line %d, %s\n got %s\nwant %s", i+1, about, got, text)
			}
		}
	}
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("after the last frame: %v", err)
	}
}

// masked returns got with a dot wherever want has one.
func masked(got, want string) string {
	if len(got) != len(want) {
		return got
	}
	out := []byte(got)
	for i := range out {
		if want[i] == '.' {
			out[i] = '.'
		}
	}
	return string(out)
}

// readFrame reads a protocol header or a frame.
func readFrame(r io.Reader) ([]byte, error) {
	b := make([]byte, 8)
	if _, err := io.ReadFull(r, b); err != nil || string(b[:4]) == "AMQP" {
		return b, err
	}
	b = append(b, make([]byte, max(8, binary.BigEndian.Uint32(b))-8)...)
	_, err := io.ReadFull(r, b[8:])
	return b, err
}
