package sas

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestVectors checks that two tokens made by real clients are parsed, with their fields in any
// order, and have valid signatures with their own key only.
func TestVectors(t *testing.T) {
	for _, tc := range []struct{ sr, se, sig string }{
		{"sb%3A%2F%2Flocalhost%2Fq1", "1795257931", "c72aGXqnH2Oc0oMKgVQqWZd5brREll06i7upEQdp2jc%3D"},
		{"localhost%3A5300", "1795258248", "UceSiY2VWygf1HHmettpDJ2EjEsJBhDmggJ2GplIoLE%3D"},
	} {
		for _, text := range []string{
			"SharedAccessSignature sr=" + tc.sr + "&sig=" + tc.sig + "&se=" + tc.se + "&skn=RootManageSharedAccessKey",
			"SharedAccessSignature sig=" + tc.sig + "&se=" + tc.se + "&skn=RootManageSharedAccessKey&sr=" + tc.sr,
		} {
			token, err := Parse(text)
			if err != nil || !token.SignedWith("SAS_KEY_VALUE") || token.Rule() != "RootManageSharedAccessKey" {
				t.Errorf("%s: %+v, %v", text, token, err)
			}
			if token.SignedWith("SAS_KEY_VALUF") || token.SignedWith("") {
				t.Errorf("%s is accepted as signed with other keys", text)
			}
		}
	}
}

// audience returns the path for which t is valid in the namespace of ours, or "nothing".
func audience(t Token) string {
	path, ok := t.Audience(ours)
	if !ok {
		return "nothing"
	}
	return path
}

func TestSign(t *testing.T) {
	at := time.Unix(1795257931, 0)
	token, err := Parse(Sign("sb://localhost/q 1+ä", "a&b=c", "k&=%", at))
	if err != nil || !token.SignedWith("k&=%") || token.Rule() != "a&b=c" || audience(token) != "q 1+ä" || !token.Expires().Equal(at) {
		t.Errorf("got %+v, %q, %v", token, audience(token), err)
	}
	if token.Expired(at.Add(-time.Second)) || !token.Expired(at) {
		t.Error("the token expires at another time")
	}
}

func TestMalformed(t *testing.T) {
	const good = "SharedAccessSignature sr=a&sig=YQ%3D%3D&se=1&skn=n"
	if _, err := Parse(good); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "SharedAccessSignature", "SharedAccessSignature ", "Bearer x", "eyJhbGciOiJIUzI1NiJ9.e30.abc",
		strings.Replace(good, "sr=a&", "", 1), strings.Replace(good, "sr=a", "sr=", 1), strings.Replace(good, "sr=a", "sr=%zz", 1),
		strings.Replace(good, "se=1", "se=x", 1), strings.Replace(good, "se=1", "se=-1", 1), strings.Replace(good, "se=1", "se=99999999999999999999", 1),
		strings.Replace(good, "se=1", "se=+1", 1), strings.Replace(good, "se=1", "se= 1", 1), strings.Replace(good, "se=1", "se=1 ", 1), strings.Replace(good, "se=1", "se=1e9", 1), strings.Replace(good, "se=1", "se=0x1", 1),
		strings.Replace(good, "se=1", "se=1.0", 1), strings.Replace(good, "se=1", "se=1_0", 1), strings.Replace(good, "se=1", "se=%31", 1), strings.Replace(good, "se=1", "se=", 1), strings.Replace(good, "se=1", "se=١", 1),
		strings.Replace(good, "se=1", "se=9223372036854775808", 1), strings.Replace(good, "se=1", "se=00000000000000000001", 1),
		strings.Replace(good, "sig=YQ%3D%3D", "sig=*", 1), strings.Replace(good, "&skn=n", "", 1), strings.Replace(good, "skn=n", "skn=%", 1),
		good + "&se=2", good + "&x", good + strings.Repeat("&a=b", 5000),
	} {
		if _, err := Parse(text); !errors.Is(err, ErrMalformed) || !IsRefused(err) {
			t.Errorf("%.80q: %v", text, err)
		}
	}
}

// TestPathOf checks that all the audiences with which clients name an entity give its
// path.
func TestPathOf(t *testing.T) {
	for audience, want := range map[string]string{
		"sb://localhost/q1": "q1", "amqp://localhost/Q1/": "q1", "amqps://ns.servicebus.windows.net:5671/q1": "q1",
		"sb://localhost/": "", "sb://localhost": "", "localhost:5300": "", "localhost:5300/q1": "q1", "": "",
		"sb://localhost/q1/$management": "q1", "sb://h/t/Subscriptions/S/$Management": "t/subscriptions/s",
		"sb://h/$management": "$management", "sb://h/q/$DeadLetterQueue": "q/$deadletterqueue",
		"sb://h/q/$Transfer/$DeadLetterQueue":              "q/$transfer/$deadletterqueue",
		"http://localhost:5300/q1?api-version=2021-05":     "q1",
		"https://localhost:5300/t/subscriptions/s/rules/r": "t/subscriptions/s/rules/r",
		"wss://h:443/$servicebus/websocket":                "",
		"wss://h:443/$servicebus/websocket/q1":             "q1",
		"wss://h/$servicebus/websocketed":                  "$servicebus/websocketed",
		"sb://h/a%2Fb":                                     "a/b", "sb://h//q": "q", "sb://h/100%": "100%",
	} {
		if got := PathOf(audience); got != want {
			t.Errorf("%s is %q; want %q", audience, got, want)
		}
	}
}

func TestCovers(t *testing.T) {
	for _, tc := range []struct {
		audience, path string
		want           bool
	}{
		{"", "", true}, {"", "q", true}, {"q", "q", true}, {"q", "q/$deadletterqueue", true}, {"q", "q/messages/head", true},
		{"q", "", false}, {"q", "q1", false}, {"q1", "q", false}, {"t", "t/subscriptions/s", true}, {"t/subscriptions/s", "t", false},
	} {
		if got := Covers(tc.audience, tc.path); got != tc.want {
			t.Errorf("%q covers %q: %t", tc.audience, tc.path, got)
		}
	}
}

func TestIs(t *testing.T) {
	for text, want := range map[string]bool{
		"SharedAccessSignature sr=x": true, "sharedaccesssignature sr=x": true, "SharedAccessSignatures": false, "SharedAccessSignature": false, "eyJ0": false, "": false,
	} {
		if LooksLikeToken(text) != want {
			t.Errorf("%q: %t", text, !want)
		}
	}
}

// FuzzParse checks that any text is refused or parsed, and that a parsed token has the
// same fields after it is written again.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"SharedAccessSignature sr=sb%3A%2F%2Flocalhost%2Fq1&sig=c72aGXqnH2Oc0oMKgVQqWZd5brREll06i7upEQdp2jc%3D&se=1795257931&skn=RootManageSharedAccessKey",
		"SharedAccessSignature sig=UceSiY2VWygf1HHmettpDJ2EjEsJBhDmggJ2GplIoLE%3D&se=1795258248&skn=n&sr=localhost%3A5300", "SharedAccessSignature &&==", "", "%",
	} {
		f.Add(seed, "key")
	}
	f.Fuzz(func(t *testing.T, text, key string) {
		token, err := Parse(text)
		if err != nil {
			if !errors.Is(err, ErrMalformed) || token.name != "" {
				t.Errorf("%v with %+v", err, token)
			}
		} else if token.SignedWith("") || token.Expired(time.Unix(token.expiresAt-1, 0)) || !token.Expired(time.Unix(token.expiresAt, 0)) ||
			token.name == "" || strings.Trim(token.expiry, "0123456789") != "" {
			t.Errorf("%+v", token)
		}
		if p := PathOf(text); p != strings.Trim(p, "/") || p != strings.ToLower(p) {
			t.Errorf("the path of %q is %q", text, p)
		}
		again, err := Parse(Sign("sb://h/"+text, "n"+text, key, time.Unix(1, 0)))
		if len(text)+len(key) < 1000 && (err != nil || again.SignedWith(key) != (key != "") || again.name != "n"+text) {
			t.Errorf("signed again: %+v, %v", again, err)
		}
	})
}
