package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/page/admin"
)

func tokenStories() []Story {
	return []Story{
		{Name: "tokens", Page: tokens()},
		{Name: "tokens-empty", Page: noTokens()},
		{Name: "tokens-new", Page: tokenAsked()},
		{Name: "tokens-refused", Page: tokenRefused()},
		{Name: "tokens-link", Page: linkAsked()},
		{Name: "tokens-made", Page: tokenMade()},
		{Name: "tokens-link-made", Page: linkMade()},
		{Name: "tokens-revoke", Page: tokenRevoked()},
		{Name: "tokens-revoke-link", Page: linkRevoked()},
	}
}

func tokenRows() []admin.TokenRow {
	rows := []admin.TokenRow{
		{ID: "gqlpfxkq3a", Name: "nightly import", Role: "operator", By: "ana", Made: now.Add(-40 * 24 * time.Hour), Until: now.Add(50 * 24 * time.Hour), Used: now.Add(-3 * time.Minute)},
		{ID: "h7xw2aqz4b", Name: "one of its workers", Role: "operator", Namespace: "shop", By: "ana", With: "nightly import", Made: now.Add(-time.Hour), Until: now.Add(50 * 24 * time.Hour)},
		{ID: "k2j4z6m5nc", Link: true, Name: "Monday's demo", Role: "viewer", Namespace: "shop", Page: home + "/queues?sort=expiry&dir=desc&q=orders", By: "ben", Made: now.Add(-time.Hour), Until: now.Add(7 * time.Hour), Used: now.Add(-time.Minute)},
		{ID: "m3n5b7v2cd", Name: hostileID, Role: "admin", By: "ana", State: admin.TokenExpired, Made: now.Add(-90 * 24 * time.Hour), Until: now.Add(-time.Hour), Used: now.Add(-2 * time.Hour)},
		{ID: "p4q6r2s3te", Name: "from before", Role: "admin", State: admin.TokenCreatorLostAccess, Made: now.Add(-100 * 24 * time.Hour)},
	}
	for i := range rows {
		rows[i].Now, rows[i].Revoke = now, "/tokens/"+rows[i].ID+"/revoke"
	}
	return rows
}

func tokens() admin.Tokens {
	s := namespaceShell("Tokens and links")
	s.Back = "/tokens"
	return admin.Tokens{Shell: s, All: true, New: "/tokens/new", NewLink: "/tokens/link", Rows: tokenRows()}
}

func noTokens() admin.Tokens {
	m := tokens()
	m.Rows, m.All, m.Open = nil, false, true
	return m
}

func tokenAsked() admin.TokenForm {
	s := namespaceShell("New token")
	s.Back = "/tokens/new"
	return admin.TokenForm{
		Shell: s, To: "/tokens/new", All: "/tokens", FormToken: "A-WORD", Typed: map[string]string{admin.TokenRole: "viewer"}, Roles: []string{"viewer", "operator"},
		Spaces: []string{"default", "shop"}, Spans: []admin.TokenLifetime{{Value: "2160h0m0s", Days: 90}, {Value: "24h0m0s", Days: 1}, {Value: "0s"}},
	}
}

func tokenRefused() admin.TokenForm {
	m := tokenAsked()
	m.Typed = map[string]string{admin.TokenRole: "operator", admin.TokenSpace: "shop", admin.ShareFor: "0s"}
	m.Errors = map[string]component.Text{admin.TokenName: component.ServerText("It needs a name.")}
	m.Refused = component.Notice{Tone: component.Critical, Title: "The server already has 1000 tokens and links, the maximum. Revoke one first."}
	return m
}

func linkAsked() admin.TokenForm {
	m := tokenAsked()
	m.Shell = namespaceShell("New read-only link")
	m.Link, m.To, m.Shell.Back, m.Roles, m.Local = true, "/tokens/link", "/tokens/link", nil, true
	m.Addresses = []string{"http://192.0.2.17:8080", "http://198.51.100.4:8080"}
	m.Spans = []admin.TokenLifetime{{Value: "8h0m0s", Hours: 8}, {Value: "24h0m0s", Days: 1}}
	return m
}

func tokenMade() admin.TokenCreated {
	const secret = "mft_gqlpfxkq3a_A_SECRET_OF_26_CHARACTERS_"
	return admin.TokenCreated{
		Shell: tokens().Shell.WithTitle("The token nightly import is made"), All: "/tokens", Row: tokenRows()[0],
		Secret: secret, Curl: "curl -H 'Authorization: Bearer " + secret + "' http://192.0.2.17:8080/api/v1/entities",
	}
}

func linkMade() admin.TokenCreated {
	return admin.TokenCreated{
		Shell: tokens().Shell.WithTitle("The link Monday's demo is made"), All: "/tokens", Row: tokenRows()[2],
		URL: "http://192.0.2.17:8080/l/mfl_k2j4z6m5nc_ONE", QR: component.QR{Size: 9, Path: "M4 4h1v1h-1z"}, Local: true,
	}
}

func tokenRevoked() admin.ConfirmRevokeToken {
	return admin.ConfirmRevokeToken{
		Shell: tokens().Shell.WithTitle("Revoke the token nightly import?"), Row: tokenRows()[0], Made: []string{"one of its workers", hostileID},
		To: tokenRows()[0].Revoke, All: "/tokens",
	}
}

func linkRevoked() admin.ConfirmRevokeToken {
	return admin.ConfirmRevokeToken{Shell: tokens().Shell.WithTitle("Revoke the link Monday's demo?"), Row: tokenRows()[2], To: tokenRows()[2].Revoke, All: "/tokens"}
}
