package sas

import (
	"errors"
	"strings"
	"testing"
	"time"

	"mayfly/engine"
)

// ours are the names of the server's own namespace, shop, on a server with the host name h.
var ours = Names{Namespace: "shop", Own: true, IsServer: func(host string) bool { return host == "h" }}

var now = time.Unix(1_800_000_000, 0)

func rule(name string, rights engine.Rights, keys ...string) engine.AccessRule {
	r := engine.AccessRule{Name: name, Rights: rights, PrimaryKey: keys[0]}
	if len(keys) > 1 {
		r.SecondaryKey = keys[1]
	}
	return r
}

func token(t *testing.T, resource, name, key string, expires time.Time) Credential {
	t.Helper()
	parsed, err := Parse(Sign(resource, name, key, expires))
	if err != nil {
		t.Fatal(err)
	}
	return TokenCredential(parsed, ours)
}

func TestRights(t *testing.T) {
	rules := Rules{
		Entity:    []engine.AccessRule{rule("ci", engine.SendRight, "e1", "e2"), rule("both", engine.SendRight, "same")},
		Namespace: []engine.AccessRule{rule("root", engine.ManageRight, "n1", "n2"), rule("ci", engine.ListenRight, "n3"), rule("both", engine.ListenRight, "same"), rule("empty", engine.ManageRight, "")},
	}
	later := now.Add(time.Hour)
	for name, tc := range map[string]struct {
		claim Credential
		path  string
		want  string
		err   error
	}{
		"the first key":                   {token(t, "sb://h/q", "root", "n1", later), "q", "Manage", nil},
		"the second key":                  {token(t, "sb://h/q", "root", "n2", later), "q", "Manage", nil},
		"the name in another case":        {token(t, "sb://h/q", "ROOT", "n2", later), "q", "Manage", nil},
		"the entity's rule":               {token(t, "sb://h/q", "ci", "e1", later), "q", "Send", nil},
		"the entity's, second key":        {token(t, "sb://h/q", "ci", "e2", later), "q", "Send", nil},
		"the namespace's of that name":    {token(t, "sb://h/q", "ci", "n3", later), "q", "Listen", nil},
		"both of one key":                 {token(t, "sb://h/q", "both", "same", later), "q", "Listen,Send", nil},
		"for the whole namespace":         {token(t, "sb://h", "root", "n1", later), "q", "Manage", nil},
		"below":                           {token(t, "http://h/q?api-version=1", "root", "n1", later), "q/$deadletterqueue", "Manage", nil},
		"another's key":                   {token(t, "sb://h/q", "root", "e1", later), "q", "", ErrSignature},
		"an unknown rule":                 {token(t, "sb://h/q", "nobody", "n1", later), "q", "", ErrSignature},
		"an empty key":                    {token(t, "sb://h/q", "empty", "", later), "q", "", ErrSignature},
		"another entity":                  {token(t, "sb://h/q2", "root", "n1", later), "q", "", ErrAudience},
		"above":                           {token(t, "sb://h/t/subscriptions/s", "root", "n1", later), "t", "", ErrAudience},
		"a second before the end":         {token(t, "sb://h/q", "root", "n1", now.Add(time.Second)), "q", "Manage", nil},
		"at the end":                      {token(t, "sb://h/q", "root", "n1", now), "q", "", ErrExpired},
		"a key itself":                    {KeyCredential("root", "n2"), "any", "Manage", nil},
		"a wrong key itself":              {KeyCredential("root", "n"), "any", "", ErrSignature},
		"no key itself, of a rule's none": {KeyCredential("empty", ""), "any", "", ErrSignature},
		"nothing":                         {Credential{}, "q", "", ErrMissing},
	} {
		got, err := tc.claim.Rights(tc.path, rules, now)
		if got.String() != tc.want || !errors.Is(err, tc.err) || err != nil && !IsRefused(err) {
			t.Errorf("%s: %s, %v; want %s, %v", name, got, err, tc.want, tc.err)
		}
	}
	_, err := token(t, "sb://h/q", "root", "n1", now.Add(-time.Second)).Rights("q", rules, now)
	if want := "ExpiredToken: The token is expired. Expiration time:2027-01-15T07:59:59.000Z"; err == nil || !strings.HasPrefix(err.Error(), want) { // sdk-demands 44
		t.Errorf("expired: %v; want %s", err, want)
	}
	if at := token(t, "sb://h/q", "root", "n1", later).Expires(); !at.Equal(later) || !KeyCredential("a", "b").Expires().IsZero() {
		t.Errorf("the token expires at %v", at)
	}
}

// TestLacking checks the text of the error for a missing right, which SDKs match (sdk-demands 43).
func TestLacking(t *testing.T) {
	if err := MissingRight(engine.SendRight); err.Error() != "Unauthorized access. 'Send' claim(s) are required to perform this operation." || !IsRefused(err) {
		t.Error(err)
	}
}

func TestShown(t *testing.T) {
	for header, want := range map[string]error{"": ErrMissing, " ": ErrMissing, "Bearer x": ErrMalformed, Sign("sb://h", "n", "k", now): nil} {
		if _, err := ParseHeader(header, ours); !errors.Is(err, want) {
			t.Errorf("%q: %v", header, err)
		}
	}
}
