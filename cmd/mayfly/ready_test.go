package main

import (
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
