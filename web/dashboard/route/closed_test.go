package route_test

import (
	"strings"
	"testing"

	"mayfly/engine"
)

func TestNobodyIsAskedToSendInVain(t *testing.T) {
	isConfined(t, func(w *world) {
		w.create(engine.Queue, "open", engine.Config{})
		w.create(engine.Queue, "sessions", engine.Config{RequiresSession: true})
		w.create(engine.Queue, "off", engine.Config{Status: engine.StatusSendDisabled})
		w.create(engine.Topic, "prices", engine.Config{Status: engine.StatusSendDisabled})
		w.create(engine.Subscription, "prices/Subscriptions/eu", engine.Config{})
		for url, closed := range map[string]bool{
			"/n/default/q/open": false, "/n/default/q/sessions": false, "/n/default/q/off": true, "/n/default/t/prices/s/eu": true,
		} {
			text := w.read(url).Find("[data-slot=empty]").Text()
			if refused := strings.Contains(text, "sends are refused"); refused != closed || closed && strings.Contains(text, "Send") {
				t.Errorf("%s: got %q", url, text)
			}
		}
	})
}
