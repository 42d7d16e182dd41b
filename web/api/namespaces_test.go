package api

import (
	"fmt"
	"testing"

	"mayfly/engine/broker"
)

func TestNamespaces(t *testing.T) {
	w := start(t, broker.Options{})
	var n Namespace
	w.want(201, "POST", "/namespaces", `{"name":"Shop","profile":"premium"}`, &n)
	if n.Name != "shop" || n.State != "serving" || n.Profile != "premium" || n.Own || n.Temporary || n.Address != "/api/v1/n/shop" || n.Dashboard != "/n/shop" || n.CreatedAt.IsZero() || !n.ExpiresAt.IsZero() {
		t.Errorf("got %+v", n)
	}
	n = Namespace{}
	w.want(201, "POST", "/namespaces", `{"name":"demo","temporary":true,"expiresIn":"1h"}`, &n)
	if !n.Temporary || n.ExpiresAt.Sub(n.CreatedAt).Round(1e9) != 3600e9 {
		t.Errorf("got %+v", n)
	}
	var all Namespaces
	w.want(200, "GET", "/namespaces", "", &all)
	if len(all.Namespaces) != 3 || !all.Namespaces[0].Own || all.Namespaces[1].Name != "demo" || all.Namespaces[2].Name != "shop" || all.Limit != 3 {
		t.Errorf("got %+v", all)
	}
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{}`:                            {400, "Argument"},
		`{"name":"a.b"}`:                {400, "Argument"},
		`{"name":"shop"}`:               {409, "NamespaceAlreadyExists"},
		`{"name":"default"}`:            {409, "NamespaceAlreadyExists"},
		`{"name":"x","profile":"gold"}`: {400, "Argument"},
		`{"name":"x","expiresIn":"1h"}`: {400, "Argument"},
		`{"name":"x","temporary":true,"expiresIn":"now"}`: {400, "Argument"},
		`{"name":"x","temporary":true,"expiresIn":"0s"}`:  {400, "Argument"},
	} {
		var p Problem
		w.want(want.status, "POST", "/namespaces", body, &p)
		if p.Code != want.code {
			t.Errorf("%s: %+v", body, p)
		}
	}
	w.want(201, "POST", "/namespaces", `{"name":"third"}`, nil)
	var p Problem
	w.want(403, "POST", "/namespaces", `{"name":"fourth"}`, &p)
	if p.Code != "QuotaExceeded" {
		t.Errorf("the fourth: %+v", p)
	}
	w.want(200, "PATCH", "/namespaces/Shop", `{"profile":"emulator"}`, &n)
	if n.Name != "shop" || n.State != "serving" || n.Profile != "emulator" {
		t.Errorf("got %+v", n)
	}
	w.want(400, "PATCH", "/namespaces/shop", `{}`, nil)
	w.want(400, "PATCH", "/namespaces/shop", `{"profile":"gold"}`, nil)
	w.want(400, "PATCH", "/namespaces/demo", `{"profile":"premium"}`, nil)
	w.want(400, "PATCH", "/namespaces/default", `{"profile":"premium"}`, nil)
	w.want(404, "PATCH", "/namespaces/none", `{"profile":"premium"}`, nil)
	w.want(400, "DELETE", "/namespaces/shop", "", nil)
	w.want(400, "DELETE", "/namespaces/shop?confirm=demo", "", nil)
	w.want(200, "GET", "/namespaces/SHOP", "", nil)
	var gone RemovedNamespace
	w.want(200, "DELETE", "/namespaces/Shop?confirm=SHOP", "", &gone)
	if gone.Name != "shop" || gone.MovedTo != "aside" {
		t.Errorf("the removed namespace is %+v", gone)
	}
	w.want(404, "GET", "/namespaces/shop", "", &p)
	if p.Code != "NamespaceNotFound" {
		t.Errorf("got %+v", p)
	}
	w.want(404, "DELETE", "/namespaces/shop?confirm=shop", "", nil)
	own, _, err := w.namespaces.Broker("default")
	if err != nil {
		t.Fatal(err)
	}
	audited := ""
	for _, e := range own.Events().Recent(100) {
		if e.Audit {
			audited += fmt.Sprint(e.Kind, " ", e.Reason, " by ", e.Actor[:4], ", ")
		}
	}
	if want := "namespace-created shop by API , namespace-created demo by API , namespace-created third by API , namespace-changed shop (emulator) by API , namespace-removed shop by API , "; audited != want {
		t.Errorf("the audit events are %q; want %q", audited, want)
	}
	w.want(400, "DELETE", "/namespaces/default?confirm=default", "", &p)
	if p.Code != "InvalidOperation" {
		t.Errorf("got %+v", p)
	}
}
