package exchange

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"mayfly/engine"
	"mayfly/engine/broker"
	"mayfly/engine/brokertest"
	"mayfly/engine/job"
	"mayfly/web/auth/origin"
)

const everything = 1 << 40 // bytes: more than any room has

func open(t *testing.T) *broker.Broker {
	t.Helper()
	return brokertest.Open(t, broker.Options{}).Broker
}

// unused reports whether all of the room is free.
func unused(budget *origin.BodyBudget) bool {
	a, b := budget.NewShare(""), budget.NewShare("") // each takes half of the room at most
	defer a.Release()
	defer b.Release()
	return a.TryGrow(everything) && b.TryGrow(everything)
}

// A Reader takes room for a line's bytes only as they arrive, and a message keeps that room until
// Release.
func TestReaderTakesBudgetAsDataArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := origin.NewBodyBudget()
		in, out := io.Pipe()
		r := NewReader(open(t), budget.NewShare(""), in, job.FeedPosition{}, Remap{})
		type next struct {
			item Item
			err  error
		}
		got := make(chan next)
		go func() {
			item, err := r.Next(t.Context())
			got <- next{item, err}
		}()
		write := func(text string) {
			t.Helper()
			if _, err := io.WriteString(out, text); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		write(`{"body":"`)
		if !unused(budget) {
			t.Error("the beginning of a line takes room")
		}
		write(strings.Repeat("x", 300_000))
		if unused(budget) {
			t.Error("an incomplete line takes no room")
		}
		write("\"}\n")
		if n := <-got; n.err != nil || len(n.item.Message.Body) != 300_000 {
			t.Fatalf("%d bytes, %v", len(n.item.Message.Body), n.err)
		}
		if unused(budget) {
			t.Error("an unsent message takes no room")
		}
		r.Release()
		if !unused(budget) {
			t.Error("a sent message takes room")
		}
		_ = out.Close()
	})
}

// All of a line's room is released, whatever the line contains.
func TestReaderReleasesItsBudget(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	part := `{"part":"` + base64.StdEncoding.EncodeToString([]byte(long)) + `"}` + "\n"
	for name, tc := range map[string]struct {
		lines string
		how   Remap
		wrong bool
	}{
		"a message":            {lines: `{"body":"` + long + `"}`},
		"many":                 {lines: strings.Repeat(`{"body":"x","properties":{"a":1}}`+"\n", 5_000)},
		"no JSON":              {lines: `{"body":"` + long, wrong: true},
		"not a message":        {lines: `{"timeToLive":"` + long + `"}`, wrong: true},
		"too long":             {lines: strings.Repeat("x", MaxLine+1), wrong: true},
		"expired":              {lines: strings.TrimSuffix(expiredLine, "}") + `,"body":"` + long + `"}`, how: Remap{TTL: "remaining"}},
		"parts":                {lines: `{"bodyParts":2}` + "\n" + part + part},
		"parts that are AMQP":  {lines: `{"bodyParts":2,"bodyKind":"value"}` + "\n" + part + part, wrong: true},
		"parts that are wrong": {lines: `{"bodyParts":2,"bodyKind":"value"}` + "\n" + part + `{"part":"!"}`, wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			budget := origin.NewBodyBudget()
			r := NewReader(open(t), budget.NewShare(""), strings.NewReader(tc.lines), job.FeedPosition{}, tc.how)
			var wrong error
			for {
				item, err := r.Next(t.Context())
				if errors.Is(err, io.EOF) {
					break
				}
				if _, ok := errors.AsType[*LineError](err); ok {
					wrong = err
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if item.Message.Reader != nil {
					if _, err := io.Copy(io.Discard, item.Message.Reader); err != nil {
						t.Fatal(err)
					}
				}
				r.Release()
			}
			if (wrong != nil) != tc.wrong {
				t.Errorf("a line was refused: %v", wrong)
			}
			if !unused(budget) {
				t.Error("room is still taken")
			}
		})
	}
}

const expiredLine = `{"timeToLive":"PT1H","system":{"key":"1","path":"q","sequenceNumber":1,"enqueuedSequenceNumber":1,"state":"active","enqueuedTime":"2020-01-01T00:00:00Z","expiresAt":"2020-01-01T01:00:00Z","deliveryCount":0,"size":0,"exportedAt":"2020-01-01T00:00:00Z"}}`

// TestReaderRelieves: when there is no room for the next message, the Reader calls Flush, which may
// release the messages read so far. A message that does not fit even then gets engine.ErrBusy.
func TestReaderRelieves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := origin.NewBodyBudget()
		for range 2 {
			half := budget.NewShare("")
			defer half.Release()
			if !half.TryGrow(everything) {
				t.Fatal("the budget is not free")
			}
		}
		r := NewReader(open(t), budget.NewShare(""), strings.NewReader(strings.Repeat(`{"body":"x"}`+"\n", 20_000)), job.FeedPosition{}, Remap{})
		turns := 0
		r.Flush = func(context.Context) error {
			turns++
			r.Release()
			return nil
		}
		n := 0
		for {
			if _, err := r.Next(t.Context()); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("after %d messages: %v", n, err)
			}
			n++
		}
		if n != 20_000 || turns < 2 {
			t.Errorf("%d messages in %d turns", n, turns)
		}
		r = NewReader(open(t), budget.NewShare(""), strings.NewReader(`{"body":"`+strings.Repeat("x", 100_000)+`"}`), job.FeedPosition{}, Remap{})
		if _, err := r.Next(t.Context()); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("a long line: %v", err)
		}
	})
}
