package codec_test

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"mayfly/engine"
	"mayfly/web/amqp/codec"
)

// TestBatchIsBounded checks that DecodeBatch refuses a batch with too many messages before it
// allocates anything for them, because even an empty message takes memory.
func TestBatchIsBounded(t *testing.T) {
	empty := []byte{0, 0x53, 0x75, 0xa0, 0}
	for name, tc := range map[string]struct {
		messages int
		kind     error
		most     uint64 // bytes
	}{
		"too many":         {200_000, engine.ErrTooLarge, 1 << 20},
		"as many as it is": {32 << 10, nil, 40 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			raw := bytes.Repeat(empty, tc.messages)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := codec.DecodeBatch(raw)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > tc.most {
				t.Errorf("it allocates %d bytes; want at most %d", n, tc.most)
			}
			if tc.kind != nil && !errors.Is(err, tc.kind) {
				t.Errorf("got %v", err)
			}
		})
	}
}
