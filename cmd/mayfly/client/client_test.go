package client

import "testing"

func TestClientFindsTheServersPort(t *testing.T) {
	t.Setenv("MAYFLY_SERVER", "")
	for variable, want := range map[string]string{
		"": "http://127.0.0.1:8080", "0.0.0.0:9000": "http://127.0.0.1:9000", "127.0.0.1:0": "http://127.0.0.1:8080", "nonsense": "http://127.0.0.1:8080",
	} {
		t.Setenv("MAYFLY_HTTP", variable)
		if got, err := (client{}).serverURL(); err != nil || got != want {
			t.Errorf("%q: got %s %v, want %s", variable, got, err, want)
		}
	}
}
