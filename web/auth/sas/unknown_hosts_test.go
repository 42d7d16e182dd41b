package sas_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"mayfly/web/auth/sas"
)

// A host that names no namespace is logged once, and refused if Refuse is set.
func TestUnnamed(t *testing.T) {
	own := func(host string) bool { return host == "broker.example" }
	for _, tc := range []struct {
		hosts []string
		known bool
	}{
		{[]string{""}, true},
		{[]string{"localhost:5672"}, true},
		{[]string{"127.0.0.1"}, true},
		{[]string{"[::1]:5671"}, true},
		{[]string{"192.0.2.1"}, true},
		{[]string{"Broker.Example:5671"}, true},
		{[]string{"other.servicebus.windows.net", "broker.example"}, true},
		{[]string{"Other.servicebus.windows.net:5671", ""}, false},
		{[]string{"servicebus"}, false},
	} {
		for _, refuse := range []bool{false, true} {
			var log bytes.Buffer
			u := &sas.UnknownHosts{Refuse: refuse, IsServer: own, Logger: slog.New(slog.NewTextHandler(&log, nil))}
			for range 3 {
				if got := u.Refuses(tc.hosts...); got != (refuse && !tc.known) {
					t.Errorf("%q, refuse %t: refused %t", tc.hosts, refuse, got)
				}
			}
			if lines := strings.Count(log.String(), "host="); (lines == 1) == tc.known || lines > 1 {
				t.Errorf("%q has %d lines: %s", tc.hosts, lines, &log)
			}
		}
	}
	if (*sas.UnknownHosts)(nil).Refuses("other.example") {
		t.Error("a nil UnknownHosts refuses a host")
	}
}

// At most a hundred unknown hosts are remembered and logged, however many different ones clients
// make up.
func TestUnnamedIsBounded(t *testing.T) {
	var log bytes.Buffer
	u := &sas.UnknownHosts{Logger: slog.New(slog.NewTextHandler(&log, nil))}
	for i := range 1000 {
		u.Refuses(fmt.Sprintf("host%d.example", i))
	}
	if lines := strings.Count(log.String(), "\n"); lines != 100 {
		t.Errorf("got %d lines", lines)
	}
}
