package rest

import (
	"net/url"
	"strings"
	"testing"

	"mayfly/engine"
	"mayfly/engine/broker"
)

// TestTrailingSlashes checks that every operation on messages ignores slashes at the end of its
// address, as the management API does.
func TestTrailingSlashes(t *testing.T) {
	for name, slash := range map[string]string{"REST-2 none": "", "REST-2 one": "/", "REST-2 two": "//"} {
		t.Run(name, func(t *testing.T) {
			w := start(t, broker.Options{})
			w.create(engine.Queue, "a/q", "LockDuration", "1m")
			w.Want(201, "POST", "/a/q/messages"+slash, "one")
			w.Want(201, "POST", "//a%2Fq/Messages"+slash+"?timeout=1", "two")
			if a := w.Want(200, "DELETE", "/a/q/messages/head"+slash+"?timeout=1", ""); a.Body != "one" {
				t.Errorf("received %q", a.Body)
			}
			a := w.Want(201, "POST", "/a/q/messages/head"+slash+"?timeout=1", "")
			_, at, _ := strings.Cut(a.Header.Get("Location"), "/a/q/")
			w.Want(200, "POST", "/a/q/"+at+slash, "")
			w.Want(200, "PUT", "/a/q/"+at+slash, "")
			w.Want(404, "DELETE", "/a/q/"+at+slash, "") // the lock has ended
		})
	}
}

// Topics called …/Messages and …/Messages/Head can be managed like others, and messages
// can be sent to and received from the entities beside them.
func TestEntitiesCalledMessages(t *testing.T) {
	const (
		atom    = "application/atom+xml;type=entry;charset=utf-8"
		version = "?api-version=2021-05"
	)
	topic := `<entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml"><TopicDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"/></content></entry>`
	sub, rule := strings.ReplaceAll(topic, "TopicD", "SubscriptionD"), strings.ReplaceAll(topic, "TopicD", "RuleD")
	for _, name := range []string{"Messages", "Shop/Messages", "Shop/messages/head", "Shop/Messages/Messages", "a/Messages/Subscriptions-/x"} {
		for text, how := range map[string][]string{
			"REST-1 version":          {version, ""},
			"REST-1 content type":     {"", atom},
			"REST-1 version and type": {version, atom},
		} {
			t.Run(text+" "+name, func(t *testing.T) {
				w := start(t, broker.Options{})
				query, kind := how[0], how[1]
				for _, path := range []string{"/" + name, "/" + name + "/Subscriptions/s", "/" + name + "/Subscriptions/messages", "/" + name + "/Subscriptions/messages/Rules/r"} {
					body := topic
					if strings.Contains(path, "/Rules/") {
						body = rule
					} else if strings.Contains(path, "/Subscriptions/") {
						body = sub
					}
					w.Want(201, "PUT", path+query, body, "Content-Type", kind)
					w.Want(200, "GET", path, "") // because the entity exists
				}
				w.Want(201, "POST", "/"+name+"/messages"+query, "hello")
				if a := w.Want(200, "DELETE", "/"+name+"/subscriptions/s/messages/head?timeout=1", ""); a.Body != "hello" {
					t.Errorf("received %q", a.Body)
				}
				w.Want(200, "DELETE", "/"+name+"/Subscriptions/messages/Rules/r", "")
				w.Want(200, "DELETE", "/"+name+"/Subscriptions/s", "")
				w.Want(200, "DELETE", "/"+name, "")
				w.Want(404, "GET", "/"+name+version, "")
			})
		}
	}
	t.Run("REST-1 Atom without a body", func(t *testing.T) { // as azure-servicebus 0.50.3 for Python sends it
		w := start(t, broker.Options{})
		w.create(engine.Queue, "q")
		const version = "?api-version=2011-06-01"
		w.Want(201, "POST", "/q/messages"+version, "hello", "Content-Type", atom)
		for _, method := range []string{"PUT", "DELETE"} { // unlock, complete
			a := w.Want(201, "POST", "/q/messages/head"+version+"&timeout=1", "", "Content-Type", atom)
			at, err := url.Parse(a.Header.Get("Location"))
			if err != nil {
				t.Fatal(err)
			}
			w.Want(200, method, at.Path+version, "", "Content-Type", atom)
		}
		w.Want(201, "POST", "/q/messages", "bye")
		w.Want(404, "DELETE", "/q/messages/head?api-version=2021-05", "", "Content-Type", atom) // a missing entity
		if a := w.Want(200, "DELETE", "/q/messages/head"+version+"&timeout=1", "", "Content-Type", atom); a.Body != "bye" {
			t.Errorf("received %q", a.Body)
		}
	})
	t.Run("REST-1 a queue beside it", func(t *testing.T) { // an address of messages, unless the request has an api-version
		w := start(t, broker.Options{})
		w.create(engine.Queue, "q")
		w.create(engine.Queue, "q/messages/head")
		w.Want(201, "POST", "/q/messages", "hello")
		w.Want(200, "DELETE", "/q/messages/head?timeout=1", "")
		w.Want(204, "DELETE", "/q/messages/head?timeout=0", "")
		w.Want(200, "DELETE", "/q/messages/head"+version, "")
		w.Want(204, "DELETE", "/q/messages/head?timeout=0&api-version=2013-10", "") // the entity is deleted, so this is an address of messages again
		w.Want(405, "GET", "/q/messages", "")
	})
}
