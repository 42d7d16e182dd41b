package activity

import (
	"testing"

	"mayfly/engine"
	"mayfly/views/locale"
)

// TestEveryEventHasALook checks that no line of the ticker is empty.
func TestEveryEventHasALook(t *testing.T) {
	for k := engine.EventSent; k <= engine.EventNamespaceRemoved; k++ {
		l := eventStyles[k]
		if l.Icon == "" || l.Tone == "" || l.textID == "" {
			t.Errorf("%v: %+v", k, l)
		}
		if says := locale.N(t.Context(), l.textID, 2, nil); says == "" || says == l.textID {
			t.Errorf("%v has no text: %q", k, says)
		}
	}
}
