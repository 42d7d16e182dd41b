package route_test

import (
	"testing"

	"mayfly/engine"
	"mayfly/web/dashboard/pages"
)

func TestShown(t *testing.T) {
	sub := engine.SubscriptionPath("prices", "eu")
	for path, want := range map[engine.Path]string{
		"orders": "orders", engine.Path("orders").DeadLetter(): "orders/$DLQ", sub: "prices/eu", sub.DeadLetter(): "prices/eu/$DLQ",
		engine.Path("orders").Transfer(): "orders/$Transfer/$DLQ", sub.Transfer(): "prices/eu/$Transfer/$DLQ",
	} {
		if got := pages.DisplayPath(path); got != want {
			t.Errorf("%s is shown as %s", path, got)
		}
	}
}
