package codec_test

import (
	"errors"
	"testing"

	"mayfly/engine"
	"mayfly/web/amqp/codec"
)

func TestAgain(t *testing.T) {
	sent, err := codec.DecodeMessage([]byte("\x00\x53\x70\xc0\x04\x02\x41\x50\x07\x00\x53\x73\xc0\x12\x01\x98abcdefghijklmnop\x00\x53\x77\xa1\x05hello"))
	if err != nil {
		t.Fatal(err)
	}
	if sent.Content.Wire == "" || sent.Content.Preview == "" {
		t.Fatalf("the message has no property that only AMQP has: %+v", sent.Content)
	}
	back := sent.Content
	back.Preview = ""
	if err := codec.ValidateStored(&back, sent.Body); err != nil || back.Preview != sent.Content.Preview {
		t.Errorf("the content of a message from AMQP is refused: %v, with the preview %q", err, back.Preview)
	}
	for name, tc := range map[string]struct {
		c    engine.Content
		body []byte
		ok   bool
	}{
		"nothing of AMQP":              {engine.Content{}, []byte("\xff"), true},
		"a value":                      {engine.Content{BodyKind: engine.ValueBody}, []byte("\x40"), true},
		"a value that is none":         {engine.Content{BodyKind: engine.ValueBody}, []byte("\xff\xff"), false},
		"a sequence that is none":      {engine.Content{BodyKind: engine.SequenceBody}, []byte("\xff"), false},
		"fields cut off":               {engine.Content{Wire: "\x09\x05a"}, nil, false},
		"an id that is none":           {engine.Content{Wire: "\x09\x01\xff"}, nil, false},
		"annotations that are none":    {engine.Content{Wire: "\x0b\x01\xff"}, nil, false},
		"a footer that is none":        {engine.Content{Wire: "\x0d\x01\xff"}, nil, false},
		"a value that is still coming": {engine.Content{BodyKind: engine.ValueBody}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			switch err := codec.ValidateStored(&tc.c, tc.body); {
			case tc.ok && err != nil:
				t.Error(err)
			case !tc.ok && !errors.Is(err, engine.ErrArgument):
				t.Errorf("got %v, want an argument's error", err)
			}
		})
	}
}
