package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"mayfly/cmd/mayfly/cli"
	"mayfly/cmd/mayfly/server"
)

// damagedInBrowser opens the pages about damaged messages on a store with two of them, and
// moves them aside: first one, then the rest.
func damagedInBrowser(t *testing.T, browser context.Context) {
	file := filepath.Join(t.TempDir(), "shop.db")
	before := Start(t, server.Config{Store: "sqlite:" + file})
	CreateQueue(t, before.Ready, "orders")
	for _, subject := range []string{"sound-one", "spoilt-one", "spoilt-two"} {
		if _, complaint, code := RunCommand(t, "", "send", "orders", "hello", "--subject", subject, "--server", before.Dashboard); code != cli.ExitOK {
			t.Fatal(complaint)
		}
	}
	if err := before.Stop(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(file)
	if err != nil || bytes.Count(raw, []byte("spoilt-")) < 2 {
		t.Fatalf("the messages are not in the file: %v", err)
	}
	if err := os.WriteFile(file, bytes.ReplaceAll(raw, []byte("spoilt-"), []byte("sp0ilt-")), 0o600); err != nil {
		t.Fatal(err)
	}

	v := visitTo(t, browser, Start(t, server.Config{Store: "sqlite:" + file}))
	v.visit("/n/default/q/orders")
	v.want(isLive)
	v.look("damaged-queue")
	v.inThemes("a queue with damaged messages", `document`)
	v.click(`[data-slot=damaged] a`)
	v.want(`location.pathname === "/n/default/damaged" && document.querySelectorAll("[data-list=rows] > tr").length === 2`)
	v.want(isLive)
	v.look("damaged")
	v.inThemes("damaged messages", `document`)
	v.hears("damaged messages")
	v.tabbedPage("damaged messages")

	v.asks(`[data-list=rows] > tr:first-child .keys a`)
	v.inThemes("moving one aside", `document.querySelector(".guard")`)
	v.tabbed("moving one aside", ".guard")
	v.press("\x1b")
	v.want(`!document.querySelector(".guard")`)
	v.asks(`[data-list=rows] > tr:first-child .keys a`)
	v.do(chromedp.Click(chromedp.CSS(`.guard [type=submit]`)))
	v.want(`document.querySelectorAll("[data-list=rows] > tr").length === 1`)

	v.visit("/n/default/damaged/move-aside")
	v.look("damaged-move-all")
	v.inThemes("moving all aside", `document`)
	v.hears("moving all aside")
	v.fill("confirm", "default")
	v.click(`form.asking [type=submit]`)
	v.want(`location.pathname === "/n/default/damaged" && document.querySelectorAll("[data-list=rows] > tr").length === 0`)
	v.look("damaged-none")
	v.inThemes("nothing damaged", `document`)
	v.visit("/n/default/q/orders")
	v.equal(`!!document.querySelector("[data-slot=damaged] a")`, false)
}
