package server

import (
	"net"
	"strings"
	"testing"
)

func TestReadyNamesAddresses(t *testing.T) {
	var out strings.Builder
	r := Ready{Dashboard: "http://127.0.0.1:8080", Admin: "http://127.0.0.1:5300", AMQP: "127.0.0.1:5672", Curl: "curl", Data: "there"}
	if err := r.print(&out, false); err != nil {
		t.Fatal(err)
	}
	const want = "\n  Dashboard    http://127.0.0.1:8080\n  Service Bus  http://127.0.0.1:5300\n  AMQP         127.0.0.1:5672\n  Send         curl\n  Data         there\n"
	if !strings.Contains(out.String(), want) {
		t.Errorf("got %q", out.String())
	}
}

func TestConnectionString(t *testing.T) {
	for at, want := range map[string]string{
		"127.0.0.1:5672": "sb://localhost;", "127.0.0.1:5673": "sb://localhost:5673;", "0.0.0.0:5672": "sb://localhost;", "[::]:1": "sb://localhost:1;",
		"10.1.2.3:5672": "sb://10.1.2.3;", "10.1.2.3:5673": "sb://10.1.2.3:5673;", "[fd00::1]:5672": "sb://[fd00::1];", "[fd00::1]:1": "sb://[fd00::1]:1;",
	} {
		a, err := net.ResolveTCPAddr("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		if got := connectionString("localhost", a, defaultAMQPPort); !strings.HasPrefix(got, "Endpoint="+want) || !strings.HasSuffix(got, ";UseDevelopmentEmulator=true;") {
			t.Errorf("%s: got %s", at, got)
		}
	}
}
