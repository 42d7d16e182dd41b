package amqp_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine/broker"
	"mayfly/engine/value"
	"mayfly/web/amqp"
	"mayfly/web/amqp/wire"
)

// TestHandshakeOffences tries the errors that a client can make before its connection is
// open. Every offence closes the connection and is logged once.
func TestHandshakeOffences(t *testing.T) {
	header, sasl := wire.ProtocolAMQP.Append(nil), wire.ProtocolSASL.Append(nil)
	authenticates := func(choice wire.Init) []byte { return append(slices.Clone(sasl), on(0, &choice)...) }
	anonymous := authenticates(wire.Init{Mechanism: "ANONYMOUS"})
	opens := func(b []byte) []byte { return append(slices.Clone(header), b...) }
	open := func(o wire.Open) []byte {
		o.ContainerID = "x"
		return opens(on(0, &o))
	}
	long := func(n int) value.Properties {
		return value.Properties{{Name: "k", Value: value.OfString(strings.Repeat("v", n))}}
	}
	const began, opened = "AMQP 0 1.0.0", "open"
	for name, tc := range map[string]struct {
		says []byte
		want []string
		why  string // why the connection is opened nevertheless
	}{
		// Errors in protocol headers.
		"another version":         {says: []byte("AMQP\x00\x02\x00\x00"), want: []string{began}},
		"AMQP 0-9-1":              {says: []byte("AMQP\x00\x00\x09\x01"), want: []string{began}},
		"TLS of AMQP":             {says: wire.ProtocolTLS.Append(nil), want: []string{began}},
		"another version of SASL": {says: []byte("AMQP\x03\x02\x00\x00"), want: []string{began}},
		"SASL twice":              {says: append(slices.Clone(anonymous), sasl...), want: []string{"AMQP 3 1.0.0", "mechanisms", "outcome 0", began}},
		// Errors in SASL.
		"open for SASL":        {says: append(slices.Clone(sasl), on(0, &wire.Open{ContainerID: "x"})...), want: []string{"AMQP 3 1.0.0", "mechanisms"}},
		"response at first":    {says: append(slices.Clone(sasl), on(0, &wire.Response{Response: []byte("x")})...), want: []string{"AMQP 3 1.0.0", "mechanisms"}},
		"no SASL frame":        {says: append(slices.Clone(sasl), header...), want: []string{"AMQP 3 1.0.0", "mechanisms"}},
		"an unknown mechanism": {says: authenticates(wire.Init{Mechanism: "FOO"}), want: []string{"AMQP 3 1.0.0", "mechanisms", "outcome 1"}},
		"a large choice":       {says: authenticates(wire.Init{Mechanism: "PLAIN", InitialResponse: make([]byte, 600)}), want: []string{"AMQP 3 1.0.0", "mechanisms"}},
		"PLAIN without a key": {
			says: append(authenticates(wire.Init{Mechanism: "PLAIN", InitialResponse: []byte("\x00a\x00")}), open(wire.Open{})...), want: []string{"AMQP 3 1.0.0", "mechanisms", "outcome 0", began, opened},
			why: "a key is checked when something is done with it",
		},
		"PLAIN without its parts": {
			says: append(authenticates(wire.Init{Mechanism: "PLAIN"}), open(wire.Open{})...), want: []string{"AMQP 3 1.0.0", "mechanisms", "outcome 0", began, opened},
			why: "it is as anonymous, and tokens may come",
		},
		"no SASL": {says: open(wire.Open{}), want: []string{began, opened}, why: "the standard leaves SASL to the client, and tokens may come"},
		// Errors in the open.
		"begin before open":     {says: opens(on(0, &wire.Begin{})), want: []string{began, opened, "close amqp:illegal-state"}},
		"close before open":     {says: opens(on(0, &wire.Close{})), want: []string{began, opened, "close amqp:illegal-state"}},
		"SASL before open":      {says: opens(on(0, &wire.Init{Mechanism: "PLAIN"})), want: []string{began, opened, closeFraming}},
		"open on channel 9":     {says: opens(on(9, &wire.Open{ContainerID: "x"})), want: []string{began, opened, closeFraming}},
		"open without a name":   {says: opens(framed(0, "\x00\x53\x10\x45")), want: []string{began, opened, closeField}},
		"open that is cut":      {says: opens(framed(0, "\x00\x53\x10\xc0\x05\x01\xa1\x09a")), want: []string{began, opened, closeDecode}},
		"open that is unknown":  {says: opens(framed(0, "\x00\xb3\x00\x00\x01\x80"+strings.Repeat("\u0001", 384)+"\x45")), want: []string{began, opened, closeUnknown}},
		"open over 4096 bytes":  {says: open(wire.Open{Properties: long(4096)}), want: []string{began, opened, closeFraming}},
		"open of 600 bytes":     {says: open(wire.Open{Properties: long(600)}), want: []string{began, opened}, why: "512 bytes are few for the names of products and applications"},
		"a frame of no bytes":   {says: opens(make([]byte, 8)), want: []string{began, opened, closeFraming}},
		"max-frame-size of 100": {says: open(wire.Open{MaxFrameSize: wire.Some[uint32](100)}), want: []string{began, opened}, why: "512 bytes are what every client must take"},
		"heartbeat before open": {
			says: opens(append(wire.AppendHeartbeat(nil), on(0, &wire.Open{ContainerID: "x"})...)), want: []string{began, opened},
			why: "an empty frame says nothing but that the client is there",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w := newWorld(t, amqp.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, broker.Options{})
				nc, got := w.plug(), make(chan []string, 1)
				go func() { got <- everything(nc) }()
				go func() { _, _ = nc.Write(tc.says) }() //nolint:errcheck // the server may have closed it
				time.Sleep(time.Second)
				_ = nc.Close()
				if diff := cmp.Diff(tc.want, <-got); diff != "" {
					t.Error(diff)
				}
				synctest.Wait()
				inLog(t, log.String(), tc.why == "")
				if opens := tc.want[len(tc.want)-1] == opened; opens != (tc.why != "") {
					t.Errorf("allowed because %q, but the answer is %q", tc.why, tc.want)
				}
			})
		})
	}
}

// everything returns the server's frames until the connection ends, in short. It checks
// that no frame is larger than 512 bytes.
func everything(nc net.Conn) (out []string) {
	r := &wire.Reader{From: io.MultiReader(nc)}
	for {
		p, err := r.Protocol()
		if err != nil {
			return out
		}
		out = append(out, p.String())
		for left := 2; left > 0; {
			f, err := r.Frame()
			if err != nil {
				return out
			}
			d, err := wire.Decode(f)
			if err != nil {
				return append(out, err.Error())
			}
			switch d := d.(type) {
			case *wire.Open:
				out = append(out, "open")
			case *wire.Mechanisms:
				out = append(out, "mechanisms")
				left--
			case *wire.Outcome:
				out = append(out, fmt.Sprint("outcome ", d.Result))
				left--
			default:
				out = append(out, brief([]wire.Performative{d})...)
			}
		}
	}
}
