package story

import (
	"time"

	"mayfly/views/component"
	"mayfly/views/layout"
	"mayfly/views/page/admin"
)

func shareStories() []Story {
	return []Story{
		{Name: "share", Page: shareAsked()},
		{Name: "share-refused", Page: shareRefused()},
		{Name: "share-on", Page: shareOn()},
		{Name: "share-local", Page: shareLocal()},
		{Name: "share-unknown", Page: shareUnknown()},
		{Name: "share-over", Page: shareOver()},
	}
}

func shareAsked() admin.Share {
	s := shell("Show it to others", layout.Section(""), "/share")
	s.Live = layout.Live{}
	return admin.Share{
		Shell: s, To: home + "/share", Stop: home + "/share/stop", Cancel: home, Name: "Ana",
		Addresses: []string{"http://192.0.2.17:8080", "http://198.51.100.4:8080"},
		Spans:     []admin.LinkLifetime{{Value: "1h0m0s", Hours: 1}, {Value: "4h0m0s", Hours: 4}},
	}
}

func shareRefused() admin.Share {
	m := shareAsked()
	m.Addresses, m.Local, m.For = []string{"http://127.0.0.1:8080"}, true, "1h0m0s"
	m.Refused = component.Notice{Tone: component.Critical, Title: "There are as many presentations already as there may be."}
	return m
}

func shareOn() admin.Share {
	m := shareAsked()
	m.Active, m.URL, m.Until, m.Followers, m.Key, m.TalkName = true, "http://192.0.2.17:8080/l/mfl_one", now.Add(4*time.Hour), 3, "key", "Ana"
	m.QR = component.QR{Size: 9, Path: "M4 4h1v1h-1z"}
	m.Shell.Namespaces = []layout.NamespaceLink{{Name: "shop", Href: home, Here: true}, {Name: "till", Href: "/n/till", Unserved: true, Elsewhere: true}}
	return m
}

func shareLocal() admin.Share {
	m := shareOn()
	m.URL, m.Local = "http://127.0.0.1:8080/l/mfl_one", true
	m.Shell.Namespaces = nil
	return m
}

func shareUnknown() admin.Share {
	m := shareAsked()
	m.Active, m.Until, m.Followers = true, now.Add(4*time.Hour), 3
	return m
}

func shareOver() admin.Share {
	m := shareAsked()
	m.Ended = true
	return m
}
