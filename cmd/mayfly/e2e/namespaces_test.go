package e2e

import (
	"net/url"
	"strings"
	"testing"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

func TestNamespacesOnTheCommandLine(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	says := func(in string, code int, want string, args ...string) {
		t.Helper()
		out, complaint, got := RunCommand(t, in, append(args, "--server", s.Dashboard)...)
		if got != code || !strings.Contains(out+complaint, want) {
			t.Errorf("%q: %d %q %q; want %d %q", args, got, out, complaint, code, want)
		}
	}
	says("", 0, "Created the namespace shop: serving.", "namespaces", "create", "Shop", "--profile", "premium")
	says("", 4, "The namespace 'shop' already exists. Choose another name.", "namespaces", "create", "shop")
	says("", 0, "Created the namespace demo: serving, temporary.", "namespaces", "create", "demo", "--temporary", "--expires-in", "1h")
	says("", 0, "Sent 1 message to orders", "send", "orders", "hello", "--create", "--namespace", "shop")
	says("", 0, "hello", "peek", "orders", "--namespace", "SHOP")
	says("", 3, "", "peek", "orders")
	says("", 3, "The namespace 'till' does not exist.", "peek", "orders", "--namespace", "till")
	says("", 0, "default\ndemo\nshop\n", "namespaces", "list", "--names")
	says("", 0, `"name":"shop"`, "namespaces", "--json")
	says("", 0, "premium", "namespaces")
	says("", 0, strings.Replace(s.ConnectionString, "localhost", "shop.localhost", 1), "namespaces")
	says("", 0, s.ConnectionString, "namespaces")
	says("", 4, "a namespace in memory", "namespaces", "update", "shop", "--profile", "standard")
	says("no\n", 1, "", "namespaces", "delete", "shop")
	says("", 0, "shop", "namespaces", "--names")
	says("shop\n", 0, "Deleted the namespace shop.", "namespaces", "delete", "shop")
	says("", 3, "", "namespaces", "delete", "shop", "--yes")
	says("", 4, "", "namespaces", "delete", "default", "--yes")
}

// TestSafeModeOfNamespaces checks that with --safe-mode namespaces can be created and used, but
// none can be deleted, by any API, and destructive requests within a namespace are refused.
func TestSafeModeOfNamespaces(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:", SafeMode: true})
	s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"shop"}`)
	s.MustRequest(t, 201, "POST", s.API+"/n/shop/send/orders?create=queue", "", `{"body":"x"}`)
	s.MustRequest(t, 403, "DELETE", s.API+"/namespaces/shop?confirm=shop", "", "")
	s.MustRequest(t, 403, "DELETE", s.API+"/n/shop/namespaces/shop?confirm=shop", "", "")
	s.MustRequest(t, 403, "DELETE", s.API+"/n/shop/entities/orders", "", "")
	s.MustRequest(t, 403, "POST", s.API+"/n/shop/purge/orders", "", `{"states":["active"]}`)
	if text := s.MustRequest(t, 200, "GET", s.API+"/n/shop/health", "", ""); !strings.Contains(text, `"safeMode":true`) {
		t.Errorf("the health response does not report Safe mode: %s", text)
	}
	for _, page := range []string{"/namespaces", "/namespaces/shop/remove", "/n/shop/q/orders"} {
		if text := s.MustRequest(t, 200, "GET", s.Dashboard+page, "", ""); !strings.Contains(text, "Safe mode is on") {
			t.Errorf("%s does not show that Safe mode is on", page)
		}
	}
	for _, args := range [][]string{{"namespaces", "delete", "shop", "--yes"}, {"purge", "orders", "--yes", "--namespace", "shop"}, {"entities", "delete", "orders", "--yes", "--namespace", "shop"}} {
		if out, complaint, code := RunCommand(t, "", append(args, "--server", s.Dashboard)...); code != 4 || !strings.Contains(complaint, "Safe mode") {
			t.Errorf("%q: %d %q %q", args, code, out, complaint)
		}
	}
	if got, want := s.Namespaces(t), "default serving standard 0;shop serving standard 1;"; got != want {
		t.Errorf("got %s; want %s", got, want)
	}
}

// TestNamespacesCreateDefined checks that the API, the command and the page create a namespace with
// the entities and rules of a file, and create none if the file has an error.
func TestNamespacesCreateDefined(t *testing.T) {
	s := Start(t, server.Config{Store: "memory:"})
	dir := t.TempDir()
	file := WriteFile(t, dir, "Config.json", `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders"}],"Topics":[{"Name":"t","Subscriptions":[{"Name":"s"}]}]}]}}`)
	out, complaint, code := RunCommand(t, "", "namespaces", "create", "shop", "--config", file, "--server", s.Dashboard)
	if code != 0 || out != "Created the namespace shop: serving.\n" {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	s.MustRequest(t, 200, "GET", s.API+"/n/shop/entities/t/Subscriptions/s", "", "")
	bad := `{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"orders","Properties":{"ForwardTo":"nowhere"}}]}]}}`
	if _, complaint, code := RunCommand(t, bad, "namespaces", "create", "till", "--config", "-", "--server", s.Dashboard); code == 0 || !strings.Contains(complaint, "nowhere") {
		t.Errorf("%d %q", code, complaint)
	}
	if _, complaint, code := RunCommand(t, "{", "namespaces", "create", "till", "--config", "-", "--server", s.Dashboard); code == 0 || !strings.Contains(complaint, "not JSON") {
		t.Errorf("%d %q", code, complaint)
	}
	text := s.MustRequest(t, 400, "POST", s.API+"/namespaces", "", `{"name":"till","definitions":`+bad+`}`)
	if !strings.Contains(text, "nowhere") {
		t.Errorf("the API returned %s", text)
	}

	jar := &CookieJar{}
	_, page := jar.Get(t, s.Dashboard+"/namespaces")
	_, form, ok := strings.Cut(page, `name="csrf" value="`)
	if !ok {
		t.Fatalf("there is no form in %.3000s", page)
	}
	token, _, _ := strings.Cut(form, `"`)
	code, page = jar.Post(t, s.Dashboard+"/namespaces", url.Values{"csrf": {token}, "name": {"till"}, "config": {bad}})
	if code != 422 || !strings.Contains(page, "nowhere&#39;") && !strings.Contains(page, "nowhere") || !strings.Contains(page, "ForwardTo") {
		t.Errorf("the page returned %d %.300s", code, page)
	}
	s.MustRequest(t, 404, "GET", s.API+"/namespaces/till", "", "")
	code, _ = jar.Post(t, s.Dashboard+"/namespaces", url.Values{"csrf": {token}, "name": {"till"}, "config": {strings.ReplaceAll(bad, "nowhere", "orders2")}, "stay": {"1h"}})
	if code != 422 {
		t.Errorf("the page returned %d", code)
	}
	code, _ = jar.Post(t, s.Dashboard+"/namespaces", url.Values{"csrf": {token}, "name": {"till"}, "config": {`{"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"a"}]}]}}`}, "stay": {"1h"}})
	if code != 303 {
		t.Errorf("the page returned %d", code)
	}
	s.MustRequest(t, 200, "GET", s.API+"/n/till/entities/a", "", "")

	// Parts of a file without effect are reported everywhere.
	odd := `{"Logging":{"Level":"x"},"UserConfig":{"Namespaces":[{"Name":"n","Queues":[{"Name":"a","Properties":{"LokDuration":"PT1M"}}]}]}}`
	warned := func(source, said string) {
		t.Helper()
		for _, want := range []string{"Logging", "LokDuration", "LockDuration"} {
			if !strings.Contains(said, want) {
				t.Errorf("%s reports %s, without %s", source, said, want)
			}
		}
	}
	out, complaint, code = RunCommand(t, odd, "namespaces", "create", "odd1", "--config", "-", "--server", s.Dashboard)
	if warned("the command", complaint); code != cli.ExitOK || out != "Created the namespace odd1: serving.\n" || strings.Count(complaint, "warning: ") != 2 {
		t.Errorf("%d %q %q", code, out, complaint)
	}
	warned("the API", s.MustRequest(t, 201, "POST", s.API+"/namespaces", "", `{"name":"odd2","definitions":`+odd+`}`))
	jar = &CookieJar{}
	if code, _ = jar.Submit(t, s.Dashboard, "/namespaces", url.Values{"name": {"odd3"}, "config": {odd}}); code != 303 {
		t.Errorf("the page returned %d", code)
	}
	_, page = jar.Get(t, s.Dashboard+"/n/odd3")
	_, page, _ = strings.Cut(page, `class="notice"`)
	page, _, _ = strings.Cut(page, "</div></div>")
	if warned("the page", page); !strings.Contains(page, "2 parts have no effect") {
		t.Errorf("the page shows %s", page)
	}
}
