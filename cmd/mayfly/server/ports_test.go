package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseListen(t *testing.T) {
	got, err := parseListen([]string{"Shop=amqp:127.0.0.1:5673", " till=https:[::1]:0"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]NamespacePort{{"shop", "amqp", "127.0.0.1:5673"}, {"till", "https", "[::1]:0"}}, got); d != "" {
		t.Error(d)
	}
}
