package route_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mayfly/engine"
	"mayfly/web/dashboard/pages"
	"mayfly/web/dashboard/route"
)

func TestParse(t *testing.T) {
	limits := engine.DefaultLimits()
	for raw, want := range map[string]pages.Address{
		"/n/default":                         {Kind: pages.Overview},
		"/n/default/queues?sort=dead&x=y":    {Kind: pages.Queues},
		"/n/default/queues/new":              {Kind: pages.Queues, Action: "new"},
		"/n/default/q/a%2Fb":                 {Kind: pages.Entity, EntityType: engine.Queue, Path: "a/b"},
		"/n/default/q/new":                   {Kind: pages.Entity, EntityType: engine.Queue, Path: "new"},
		"/n/default/t/s/s/s":                 {Kind: pages.Entity, EntityType: engine.Subscription, Path: "s/Subscriptions/s"},
		"/n/default/t/p/new":                 {Kind: pages.Entity, EntityType: engine.Topic, Path: "p", Action: "new"},
		"/n/default/t/p/s/eu/rules/add":      {Kind: pages.Entity, EntityType: engine.Subscription, Path: "p/Subscriptions/eu", Action: "rules/add"},
		"/n/default/t/p/s/eu/rules/new":      {Kind: pages.Entity, EntityType: engine.Subscription, Path: "p/Subscriptions/eu", Action: "rules/new"},
		"/n/default/t/p/s/eu/rules/edit":     {Kind: pages.Entity, EntityType: engine.Subscription, Path: "p/Subscriptions/eu", Action: "rules/edit"},
		"/n/default/t/p/s/eu/rules/try":      {Kind: pages.Entity, EntityType: engine.Subscription, Path: "p/Subscriptions/eu", Action: "rules/try"},
		"/n/default/lab?topic=p&from=7":      {Kind: pages.FilterLab},
		"/n/default/lab/new?key=1&key=2":     {Kind: pages.FilterLab, Action: "new"},
		"/n/default/q/a/bulk/dead-letter":    {Kind: pages.Entity, EntityType: engine.Queue, Path: "a", Action: "bulk/dead-letter"},
		"/n/default/m/1099511627777":         {Kind: pages.Message, Key: 1099511627777},
		"/n/default/m/7/resubmit-copy":       {Kind: pages.Message, Key: 7, Action: "resubmit-copy"},
		"/n/default/tombstones/7-42/restore": {Kind: pages.DeletedEntity, Epoch: 7, ID: 42, Action: "restore"},
	} {
		got, err := route.Routes().Parse(raw, limits)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		want.Namespace, got.Query = "default", nil
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", raw, d)
		}
	}
	for _, raw := range []string{
		"", "/", "/n", "/n/", "/x/default", "/n/default/", "/n/default//q", "/n/default/q", "/n/default/q/", "/n/default/q/a b%", "/n/default/q/%2Fa",
		"/n/default/q/a/b", "/n/default/q/a/s/b", "/n/default/t/a/s", "/n/default/t/a/s/b%2Fc", "/n/default/q/a%2FSubscriptions%2Fb",
		"/n/default/q/a%2F$DeadLetterQueue", "/n/default/m", "/n/default/m/0", "/n/default/m/-1", "/n/default/m/007", "/n/default/m/18446744073709551616",
		"/n/default/tombstones/1-1", "/n/default/tombstones/42/restore", "/n/default/tombstones/0-42/restore", "/n/default/tombstones/7-042/restore", "/n/default/tombstones/7-42-1/restore", "/n/default/activity/import", "/n/default/lab/old", "/n/default/lab/new/new", "/n/default/t/p/s/eu/rules", "/n/default/t/p/s/eu/rules/", "/n/default/expirations/new", "http://evil.example/n/default", "//evil.example/n/default", "n/default",
	} {
		if p, err := route.Routes().Parse(raw, limits); !errors.Is(err, pages.ErrPageNotFound) {
			t.Errorf("%q was parsed as %+v, %v", raw, p, err)
		}
	}
}

// FuzzParse: every address that is accepted yields a place whose address parses as the same
// place.
func FuzzParse(f *testing.F) {
	for _, url := range marketPages {
		f.Add(url)
	}
	f.Add("/n/d%2Ff/m/7/extend?by=1m&by=2m&lock=%00")
	f.Add("/n/default/tombstones/7-42/restore")
	f.Add("/n/default/activity/export?format=csv&scope=all&cursor=1-2-3")
	f.Add("/n/default/lab/new?key=1&key=1&key=x&topic=%00")
	f.Add("/n/default/t/a%2Fb/s/c/rules/try?rule=%24Default&from=7")
	f.Add("/n/%C3%A9/q/a~b.c?tab=dead-letter&reason=%22")
	for _, url := range []string{"/", "/n", "/docs/api", "/tokens/new", "/scenes/on/a%2Fb/next", "/scenes/on/x/y%2Fz", "/follow/a?x=1", "/namespaces/shop/remove", "/n/default/undo/%20"} {
		f.Add(url)
	}
	limits := engine.DefaultLimits()
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := route.Routes().ParseAny(raw, limits)
		if err != nil {
			if !errors.Is(err, pages.ErrPageNotFound) {
				t.Fatalf("%q: %v", raw, err)
			}
			return
		}
		again, err := route.Routes().ParseAny(p.String(), limits)
		if len(p.String()) > 4096 {
			return // escaping has made it longer than the limit
		}
		if err != nil {
			t.Fatalf("%q is %+v, whose address %q is refused: %v", raw, p, p.String(), err)
		}
		if d := cmp.Diff(p, again); d != "" {
			t.Errorf("%q (-first +again):\n%s", raw, d)
		}
	})
}
