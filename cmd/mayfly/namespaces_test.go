package main

import (
	"net/url"
	"strings"
	"testing"
)

func TestNamespacesOnTheCommandLine(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	says := func(in string, code int, want string, args ...string) {
		t.Helper()
		out, complaint, got := typed(t, in, append(args, "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
	}
	says("", 0, "Created the namespace shop: serving.", "namespaces", "create", "Shop", "--profile", "premium")
	says("", 4, "There is a namespace 'shop' already.", "namespaces", "create", "shop")
	says("", 0, "Created the namespace demo: serving, temporary.", "namespaces", "create", "demo", "--temporary", "--for", "1h")
	says("", 0, "Sent 1 message to orders", "send", "orders", "hello", "--create", "--ns", "shop")
	says("", 0, "hello", "peek", "orders", "--ns", "SHOP")
	says("", 3, "", "peek", "orders")
	says("", 3, "There is no namespace 'till'.", "peek", "orders", "--ns", "till")
	says("", 0, "default\ndemo\nshop\n", "namespaces", "list", "--names")
	says("", 0, `"name":"shop"`, "namespaces", "--json")
	says("", 0, "Premium", "namespaces")
	says("", 0, strings.Replace(s.ConnectionString, "localhost", "shop.localhost", 1), "namespaces")
	says("", 0, s.ConnectionString, "namespaces")
	says("", 4, "in memory alone", "namespaces", "update", "shop", "--profile", "standard")
	says("no\n", 1, "", "namespaces", "delete", "shop")
	says("", 0, "shop", "namespaces", "--names")
	says("shop\n", 0, "Removed the namespace shop.", "namespaces", "delete", "shop")
	says("", 3, "", "namespaces", "delete", "shop", "--yes")
	says("", 4, "", "namespaces", "delete", "default", "--yes")
}

// With --safe none is removed, by whichever way, and in none is anything done away
// with, whatever it is that is asked; the others can be made and used.
func TestSafeModeOfNamespaces(t *testing.T) {
	s := serving(t, Config{Store: "memory:", Safe: true})
	s.must(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	s.must(t, 201, "POST", s.API+"/n/shop/send/orders?create=queue", "", `{"body":"x"}`)
	s.must(t, 403, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	s.must(t, 403, "DELETE", s.API+"/n/shop/namespaces/shop?confirm=shop", "", "")
	s.must(t, 403, "DELETE", s.API+"/n/shop/entities/orders", "", "")
	s.must(t, 403, "POST", s.API+"/n/shop/purge/orders", "", `{"states":["active"]}`)
	if text := s.must(t, 200, "GET", s.API+"/n/shop/health", "", ""); !strings.Contains(text, `"safe":true`) {
		t.Errorf("it does not say that it is safe: %s", text)
	}
	for _, page := range []string{"/namespaces", "/namespaces/shop/remove", "/n/shop/q/orders"} {
		if text := s.must(t, 200, "GET", s.Dashboard+page, "", ""); !strings.Contains(text, "Safe mode is on") {
			t.Errorf("%s does not say that Safe mode is on", page)
		}
	}
	for _, args := range [][]string{{"namespaces", "delete", "shop", "--yes"}, {"purge", "orders", "--yes", "--ns", "shop"}, {"entities", "delete", "orders", "--yes", "--ns", "shop"}} {
		if out, complaint, code := typed(t, "", append(args, "--server", s.Dashboard)...); code != 4 || !strings.Contains(complaint, "Safe mode") {
			t.Errorf("%q: %d %q %q", args, code, out, complaint)
		}
	}
	if got, want := s.namespaces(t), "default serving Standard 0;shop serving Standard 1;"; got != want {
		t.Errorf("there is %s; want %s", got, want)
	}
}

// A namespace is made with the entities and rules of a file, by the API, the command
// and the page; or there is none.
func TestNamespacesCreateDefined(t *testing.T) {
	s := serving(t, Config{Store: "memory:"})
	dir := t.TempDir()
	file := wrote(t, dir, "Config.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders"}],"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"}]}]}]}}`)
	out, complaint, code := typed(t, "", "namespaces", "create", "shop", "--config", file, "--server", s.Dashboard)
	if code != 0 || out != "Created the namespace shop: serving.\n" {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	s.must(t, 200, "GET", s.API+"/n/shop/entities/t/Subscriptions/s", "", "")
	bad := `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders","Properties":{"ForwardTo":"nowhere"}}]}]}}`
	if _, complaint, code := typed(t, bad, "namespaces", "create", "till", "--config", "-", "--server", s.Dashboard); code == 0 || !strings.Contains(complaint, "nowhere") {
		t.Errorf("%d %q", code, complaint)
	}
	if _, complaint, code := typed(t, "{", "namespaces", "create", "till", "--config", "-", "--server", s.Dashboard); code == 0 || !strings.Contains(complaint, "not JSON") {
		t.Errorf("%d %q", code, complaint)
	}
	text := s.must(t, 400, "POST", s.API+"/namespaces", "", `{"name":"till","definitions":`+bad+`}`)
	if !strings.Contains(text, "nowhere") {
		t.Errorf("the API says %s", text)
	}

	jar := &cookies{}
	_, page := jar.get(t, s.Dashboard+"/namespaces")
	_, form, ok := strings.Cut(page, `name="csrf" value="`)
	if !ok {
		t.Fatalf("there is no form in %.3000s", page)
	}
	token, _, _ := strings.Cut(form, `"`)
	code, page = jar.post(t, s.Dashboard+"/namespaces", url.Values{"csrf": {token}, "name": {"till"}, "config": {bad}})
	if code != 422 || !strings.Contains(page, "nowhere&#39;") && !strings.Contains(page, "nowhere") || !strings.Contains(page, "ForwardTo") {
		t.Errorf("the page says %d %.300s", code, page)
	}
	s.must(t, 404, "GET", s.API+"/namespaces/till", "", "")
	code, _ = jar.post(t, s.Dashboard+"/namespaces", url.Values{"csrf": {token}, "name": {"till"}, "config": {strings.ReplaceAll(bad, "nowhere", "orders2")}, "stay": {"1h"}})
	if code != 422 {
		t.Errorf("the page says %d", code)
	}
	code, _ = jar.post(t, s.Dashboard+"/namespaces", url.Values{"csrf": {token}, "name": {"till"}, "config": {`{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"a"}]}]}}`}, "stay": {"1h"}})
	if code != 303 {
		t.Errorf("the page says %d", code)
	}
	s.must(t, 200, "GET", s.API+"/n/till/entities/a", "", "")
}
