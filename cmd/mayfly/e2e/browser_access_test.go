package e2e

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/server"
	"mayfly/engine"
	"mayfly/web/auth/sas"
)

// accessInBrowser creates a rule and copies its connection string, which the Go SDK can use
// until the key is regenerated. Pages contain keys only on request.
func accessInBrowser(t *testing.T, browser context.Context) {
	own := engine.AccessRule{Name: "orders-audit", Rights: engine.ListenRight, PrimaryKey: "hush1", SecondaryKey: "hush2"}
	v := visitTo(t, browser, Start(t, server.Config{Store: "memory:", SAS: sas.Enforce, SASKeys: []engine.AccessRule{own}}))
	v.create("queue", "orders", `{}`)
	v.visit("/n/default")
	v.want(isLive)
	v.click(`nav.rail a[href$="/access"]`)
	v.want(`location.pathname === "/n/default/access" && document.querySelector(".lede").innerText.startsWith("Tokens are enforced.")`)
	v.want(isLive)
	const rules = `document.querySelectorAll("[data-list=rules] > tr")`
	v.want(rules + `.length === 2`)
	v.look("access")
	v.fill("name", "worker")
	v.do(chromedp.Click(chromedp.CSS(`input[value=Listen]`)), chromedp.Click(chromedp.CSS(`input[value=Send]`)))
	v.click(`form#new button[type=submit]`)
	v.want(rules + `.length === 3 && document.querySelector("[data-notice]").innerText.includes("Made the rule worker")`)
	v.want(`!document.documentElement.outerHTML.includes("hush")`)

	v.click(`tr[data-key=worker] button`)
	v.want(`document.querySelector("h1").innerText === "worker"`)
	copied := func(key string) string {
		t.Helper()
		text, ok := v.js(`document.querySelector('[data-secret="` + key + ` access.connection"] button').dataset.text`).(string)
		if !ok || !strings.Contains(text, ";SharedAccessKeyName=worker;SharedAccessKey=") {
			t.Fatalf("the %s connection string is %q", key, text)
		}
		return text
	}
	primary, secondary := copied("primary"), copied("secondary")
	v.look("access-keys")
	send := func(as string) error {
		t.Helper()
		client, err := azservicebus.NewClientFromConnectionString(as, &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: -1}})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close(context.WithoutCancel(t.Context()))
		sender, err := client.NewSender("orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		return sender.SendMessage(t.Context(), &azservicebus.Message{Body: []byte("hello")}, nil)
	}
	for _, as := range []string{primary, secondary} {
		if err := send(as); err != nil {
			t.Errorf("with a key from the page: %v", err)
		}
	}

	v.asks(`a[href*="key=primary"]`)
	v.want(`document.querySelector("h1").innerText === "A new primary key for worker?"`)
	v.look("access-renew")
	v.click(`form.asking button[type=submit]`)
	v.want(`location.pathname === "/n/default/access" && document.querySelector("[data-notice]").innerText.includes("worker has another primary key")`)
	err := send(primary)
	if refused, ok := errors.AsType[*azservicebus.Error](err); !ok || refused.Code != azservicebus.CodeUnauthorizedAccess {
		t.Errorf("with the former key: %v", err)
	}
	if err := send(secondary); err != nil {
		t.Errorf("with the other key: %v", err)
	}

	v.asks(`tr[data-key=worker] a[href*="remove"]`)
	v.want(`document.querySelector("h1").innerText === "Remove the rule worker?"`)
	v.click(`form.asking button[type=submit]`)
	v.want(rules + `.length === 2`)
	if err := send(secondary); err == nil {
		t.Error("the keys of a deleted rule are accepted")
	}

	v.visit("/n/default/q/orders?tab=settings")
	v.click(`a[href*="access?entity=orders"]`)
	v.want(`document.querySelector("h1").innerText === "Access to orders"`)
	v.look("access-entity")
	v.fill("name", "shop")
	v.do(chromedp.Click(chromedp.CSS(`input[value=Send]`)))
	v.click(`form#new button[type=submit]`)
	v.want(rules + `.length === 1`)
	v.visit("/n/default/access")
	v.want(`document.querySelector("[data-slot=owners]").innerText.includes("shop")`)
	v.look("access-owners")
	v.visit("/n/default/q/orders?tab=settings")
	v.want(`document.querySelector("[aria-labelledby=h-access]").innerText.includes("shop")`)
	v.look("access-settings")
}
