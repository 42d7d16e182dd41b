package mongo_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"mayfly/storage/mongo"
	"mayfly/storage/mongo/mongotest"
)

func catalogueAt(t *testing.T, url string) *mongo.Catalogue {
	t.Helper()
	c := &mongo.Catalogue{URL: url}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Servers that request the secret at the same time, even for the first time, get the same
// secret, and it does not change.
func TestSecretIsOne(t *testing.T) {
	url := mongotest.URL(t)
	secrets := make(chan [32]byte, 8)
	for range 8 {
		c := catalogueAt(t, url)
		go func() {
			s, err := c.Secret(t.Context())
			if err != nil {
				t.Error(err)
			}
			secrets <- s
		}()
	}
	first := <-secrets
	for range 7 {
		if s := <-secrets; s != first {
			t.Error("two servers got different secrets")
		}
	}
	if first == [32]byte{} {
		t.Error("the secret is zero")
	}
	if others, err := catalogueAt(t, url).Heartbeat(t.Context(), "A", 0); err != nil || len(others) != 0 {
		t.Errorf("the secret is listed as a server: %v, %v", others, err)
	}
}

// A server sees the others, and how many namespaces each owns, until they have been silent for
// a while or deregister.
func TestServersMeet(t *testing.T) {
	url := mongotest.URL(t)
	a, b, c := catalogueAt(t, url), catalogueAt(t, url), catalogueAt(t, url)
	meet := func(server *mongo.Catalogue, name string, owns int) string {
		t.Helper()
		others, err := server.Heartbeat(t.Context(), name, owns)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(slices.Sorted(maps.Keys(others)), " ")
	}
	if got := meet(a, "A", 3); got != "" {
		t.Errorf("the first meets %s", got)
	}
	if got := meet(b, "B", 1); got != "A" {
		t.Errorf("the second meets %s", got)
	}
	if others, err := c.Heartbeat(t.Context(), "C", 0); err != nil || others["A"] != 3 || others["B"] != 1 {
		t.Errorf("they own %v, %v", others, err)
	}
	if err := c.Deregister(t.Context(), "C"); err != nil {
		t.Fatal(err)
	}
	for round := range 6 { // B sends no more heartbeats
		want := "B"
		if round >= 4 {
			want = ""
		}
		if got := meet(a, "A", 3); got != want {
			t.Errorf("round %d: A sees %q, want %q", round, got, want)
		}
	}
	if got := meet(b, "B", 1); got != "A" {
		t.Errorf("it meets %s again", got)
	}
	if got := meet(a, "A", 3); got != "B" {
		t.Errorf("after another heartbeat of B, A sees %q", got)
	}
}

// Open does not take a namespace until Claim returns true, even one that the process released
// itself.
func TestClaimIsAsked(t *testing.T) {
	url := mongotest.URL(t)
	var asked []time.Duration
	claim := func(free time.Duration, gone string) bool {
		if gone != "" {
			t.Errorf("%q is gone", gone)
		}
		asked = append(asked, free)
		return len(asked)%3 == 0
	}
	for range 2 {
		asked = nil
		s, err := mongo.Open(t.Context(), url, mongo.Options{Lease: 500 * time.Millisecond, Process: "me", Claim: claim, Standby: nil})
		if err != nil {
			t.Fatal(err)
		}
		if len(asked) != 3 || asked[0] != 0 || asked[2] <= asked[1] {
			t.Errorf("asked %v", asked)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := mongo.Open(ctx, url, mongo.Options{Lease: 500 * time.Millisecond, Claim: func(time.Duration, string) bool { return false }}); err == nil {
		t.Error("Open took a namespace that Claim refused")
	}
}
