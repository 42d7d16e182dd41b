package show

import (
	"testing"

	"mayfly/engine"
	"mayfly/views/locale"
)

// TestEveryEventHasALook keeps lines of the ticker from being empty.
func TestEveryEventHasALook(t *testing.T) {
	for k := engine.EventSent; k <= engine.EventNamespaceRemoved; k++ {
		l := eventLooks[k]
		if l.icon == "" || l.tone == "" || l.says == "" {
			t.Errorf("%v: %+v", k, l)
		}
		if says := locale.N(t.Context(), l.says, 2, nil); says == "" || says == l.says {
			t.Errorf("%v has no words: %q", k, says)
		}
	}
}
